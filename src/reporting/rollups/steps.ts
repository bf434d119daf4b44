import { type Database, inTransaction, query, type Transaction } from '../../db/database.ts';
import { takeLock } from '../../db/locks.ts';

/*
 * Roll-ups are worked out in steps: a transaction each, with one statement or a few, over one day and some thousand facts at most.
 * Steps of several processes take turns, and whatever is committed before a step, the step sees.
 */

/** A local day, by `reporting.params.time_zone`, and where it begins and ends. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly from: Date;
  readonly to: Date;
}

/** A part of a day that is worked out at once. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
  /** The local hours that it has a part in. */
  readonly hours: readonly number[];
  /** Facts in it. */
  readonly count: number;
}

/** Holds all steps off for the rest of the transaction, which is planned as one of theirs. */
export async function holdSteps(tx: Transaction): Promise<void> {
  // A day is sorted in memory. A lock that somebody holds is waited for as long as the server says, or for half a minute.
  await query(
    tx,
    `select set_config('work_mem', '32MB', true),
       set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '30s'), true)`,
    [],
  );
  await takeLock(tx, 'rollups');
}

/** Runs a step. */
export function inStep<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await holdSteps(tx);
    return work(tx);
  });
}

/**
 * Runs steps over at most `size` items each. Where a fact makes a step fail, its items are tried in halves, until those are left
 * that fail by themselves: `onFault` is told of each. Any other error is thrown.
 */
export async function inSteps<Item>(
  db: Database,
  items: readonly Item[],
  size: number,
  work: (tx: Transaction, some: readonly Item[]) => Promise<unknown>,
  onFault: (error: Error, item: Item) => unknown,
): Promise<void> {
  for (let at = 0; at < items.length; at += size) {
    const some = items.slice(at, at + size);
    const [first] = some;
    try {
      await inStep(db, (tx) => work(tx, some));
    } catch (error) {
      if (!isOfData(error) || first === undefined) throw error;
      if (some.length === 1) await onFault(error, first);
      else await inSteps(db, some, Math.ceil(some.length / 2), work, onFault);
    }
  }
}

/** What the data itself can bring about: a value out of range, a key too long, a page that is broken. Not a lack of disk. */
const dataClasses = new Set(['21', '22', '23', '54', 'P0', 'XX']);

function isOfData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && dataClasses.has(String(error.code).slice(0, 2));
}

/** A query for the days, newest first, of another one for their dates, with the column `day`. */
export function selectDays(dates: string): string {
  return `select day::text as date, reporting.day_start(day) as "from", reporting.day_start(day + 1) as "to"
    from (select distinct day from (${dates}) dates) days where day is not null order by day desc`;
}

/** Calls and texts: their tables, and the moments by which they belong to days. */
const facts = {
  calls: { table: 'warehouse.calls', moment: 'started_at' },
  texts: { table: 'warehouse.sms_messages', moment: 'sent_at' },
} as const;

/** The quarters of an hour of a day, with their facts. */
export function quartersOf(db: Database, kind: keyof typeof facts, { from, to }: Day): Promise<Span[]> {
  const { table, moment } = facts[kind];
  return query(
    db,
    `select q.at as "from", q.at + interval '15 minutes' as "to", array[extract(hour from q.at at time zone p.time_zone)::integer] as hours,
       (select count(*)::integer from ${table} x where x.${moment} >= q.at and x.${moment} < q.at + interval '15 minutes') as count
     from reporting.params p
       cross join generate_series(ops.quarter_of($1), $2::timestamptz - interval '1 microsecond', interval '15 minutes') q (at)
     order by 1`,
    [from, to],
  );
}

/** The local hours of quarters that are sorted. An hour that the clock repeats is one. */
export function hoursOf(quarters: readonly Span[]): Span[] {
  return joined(quarters, (last, next) => last.hours.at(-1) === next.hours[0]);
}

/** Spans next to each other joined, as long as they hold no more than `most` facts. */
export function atMost(most: number, spans: readonly Span[]): Span[] {
  return joined(spans, (last, next) => last.count + next.count <= most);
}

function joined(spans: readonly Span[], isOne: (last: Span, next: Span) => boolean): Span[] {
  const whole: Span[] = [];
  for (const next of spans) {
    const last = whole.at(-1);
    if (last && Number(last.to) === Number(next.from) && isOne(last, next)) {
      const hours = [...new Set([...last.hours, ...next.hours])];
      whole[whole.length - 1] = { from: last.from, to: next.to, hours, count: last.count + next.count };
    } else whole.push(next);
  }
  return whole;
}

/** As {@link atMost}, and spans that hold more are split. */
export async function piecesOf(
  db: Database,
  kind: keyof typeof facts,
  most: number,
  spans: readonly Span[],
): Promise<Span[]> {
  const { table, moment } = facts[kind];
  const pieces: Span[] = [];
  for (const span of atMost(most, spans)) {
    const cuts =
      span.count <= most
        ? []
        : await query<{ at: Date }>(
            db,
            `select distinct at from (
               select x.${moment} as at, row_number() over (order by x.${moment}) as n from ${table} x
               where x.${moment} >= $1 and x.${moment} < $2
             ) numbered where n > 1 and n % $3::integer = 1 and at > $1 order by at`,
            [span.from, span.to, most],
          );
    const ends = [...cuts.map(({ at }) => at), span.to];
    let { from } = span;
    for (const to of ends) {
      pieces.push({ ...span, from, to });
      from = to;
    }
  }
  return pieces;
}
