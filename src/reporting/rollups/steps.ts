import { type Database, inTransaction, query, type Transaction } from '../../db/database.ts';
import { takeLock } from '../../db/locks.ts';

/*
 * Rollups are computed in steps. A step is a transaction with one or a few statements, over at most one day and some
 * thousand facts. Steps of several processes run one at a time, so a step sees everything committed before it.
 */

/** A local day in `reporting.params.time_zone`, with its start and end. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly from: Date;
  readonly to: Date;
}

/** A part of a day that is computed in one step. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
  /** The local hours that it overlaps. */
  readonly hours: readonly number[];
  /** The facts in it. */
  readonly count: number;
}

/** Blocks all other steps until the transaction ends, and applies the settings of a step to it. */
export async function holdSteps(tx: Transaction): Promise<void> {
  // A day is sorted in memory. Waits for a lock as long as the server allows, or for half a minute.
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
 * Runs steps over at most `size` items each. If a fact makes a step fail, its items are tried in halves until only the
 * failing ones are left. Calls `onFault` for each of these. Throws any other error.
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

/** Errors that data can cause: a value out of range, a key that is too long, a damaged page. A full disk isn't one. */
const dataClasses = new Set(['21', '22', '23', '54', 'P0', 'XX']);

function isOfData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && dataClasses.has(String(error.code).slice(0, 2));
}

/** A query for the days of the dates in another query (column `day`), newest first. */
export function selectDays(dates: string): string {
  return `select day::text as date, reporting.day_start(day) as "from", reporting.day_start(day + 1) as "to"
    from (select distinct day from (${dates}) dates) days where day is not null order by day desc`;
}

/** Calls and texts: their tables, and the times that assign them to days. */
const facts = {
  calls: { table: 'warehouse.calls', moment: 'started_at' },
  texts: { table: 'warehouse.sms_messages', moment: 'sent_at' },
} as const;

/** The quarter hours of a day, with their facts. */
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

/** The local hours of sorted quarter hours. An hour that the clock repeats counts as one. */
export function hoursOf(quarters: readonly Span[]): Span[] {
  return joined(quarters, (last, next) => last.hours.at(-1) === next.hours[0]);
}

/** Merges adjacent spans, as long as they hold no more than `most` facts. */
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

/** Like {@link atMost}, but also splits spans that hold more. */
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
