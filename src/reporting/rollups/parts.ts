import { query, type Transaction } from '../../db/database.ts';

/** A local day, by `reporting.params.time_zone`, and where it begins and ends. */
export interface Day {
  /** `2026-11-01`. */
  readonly date: string;
  readonly from: Date;
  readonly to: Date;
}

export const quarterMs = 900_000;

/** The local days that moments lie in, oldest first. */
export async function daysOf(tx: Transaction, moments: readonly Date[]): Promise<Day[]> {
  if (moments.length === 0) return [];
  return query<Day>(tx, selectDays('select reporting.local_day(moment) as day from unnest($1::timestamptz[]) moment'), [
    moments,
  ]);
}

/** The local days of these dates, oldest first. */
export async function daysNamed(tx: Transaction, dates: readonly string[]): Promise<Day[]> {
  if (dates.length === 0) return [];
  return query<Day>(tx, selectDays('select unnest($1::date[]) as day'), [dates]);
}

/** A query for the days, oldest first, of another one for their dates, with the column `day`. */
export function selectDays(dates: string): string {
  return `select day::text as date, reporting.day_start(day) as "from", reporting.day_start(day + 1) as "to"
    from (select distinct day from (${dates}) dates) days order by day`;
}

/** Every quarter of an hour that a day has a part in. */
export function quartersOf({ from, to }: Day): Date[] {
  const quarters: Date[] = [];
  for (let at = quarterOf(from); at < Number(to); at += quarterMs) quarters.push(new Date(at));
  return quarters;
}

/** As `ops.quarter_of`, in Unix milliseconds. */
export function quarterOf(moment: Date): number {
  return Math.floor(Number(moment) / quarterMs) * quarterMs;
}

/** SQL condition: a moment lies in the quarter of an hour `q`. */
export function inQuarter(moment: string): string {
  return `${moment} >= q.bucket_at and ${moment} < q.bucket_at + interval '15 minutes'`;
}

/** What the data itself can bring about: a value out of range, a key too long, a page that is broken. Not a lack of disk. */
const dataClasses = new Set(['21', '22', '23', '54', 'P0', 'XX']);

/**
 * Does some work on items, all at once. Where a fact makes that fail, halves them until only those are left out that fail
 * by themselves; each is handed to `onFault`. Returns what the other work returned. Any other error is thrown.
 */
export async function inParts<Item, Result>(
  tx: Transaction,
  items: readonly Item[],
  work: (some: readonly Item[]) => Promise<Result>,
  onFault: (item: Item, error: Error) => void,
): Promise<Result[]> {
  const [first] = items;
  if (first === undefined) return [];
  await query(tx, 'savepoint part', []);
  try {
    const result = await work(items);
    await query(tx, 'release savepoint part', []);
    return [result];
  } catch (error) {
    if (!isOfData(error)) throw error;
    await query(tx, 'rollback to savepoint part', []);
    await query(tx, 'release savepoint part', []);
    if (items.length === 1) {
      onFault(first, error);
      return [];
    }
    const half = Math.ceil(items.length / 2);
    return [
      ...(await inParts(tx, items.slice(0, half), work, onFault)),
      ...(await inParts(tx, items.slice(half), work, onFault)),
    ];
  }
}

function isOfData(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && dataClasses.has(String(error.code).slice(0, 2));
}

/**
 * Keeps the other parties of one local day for `dim_contact`. Who was erased is left out: an erasure that begins after the
 * check waits for the end of the transaction, and then deletes the row.
 */
export async function keepContacts(
  tx: Transaction,
  table: string,
  number: string,
  moment: string,
  { from, to }: Day,
): Promise<void> {
  await query(tx, 'select ops.hold_erasures()', []);
  await query(
    tx,
    `with fresh as materialized (
       select distinct left(x.${number}, 100) as number from ${table} x
       where x.${moment} >= $1 and x.${moment} < $2 and x.${number} <> '' and x.deleted_at is null
         and not exists (select from rollups.contacts k where k.number = left(x.${number}, 100))
     )
     insert into rollups.contacts (number)
     select number from fresh where number not in (select ops.erased_among(array(select number from fresh)))
     on conflict do nothing`,
    [from, to],
  );
}

/** Who sent a text of ours, as `fct_sms_message.sender_kind` says it: rules may send with the login of a user. */
export function senderKind(message: string): string {
  const isOfLedger = `${message}.send_id is not null
    or exists (select from ops.sends o where o.line = ${message}.line and o.message_id = ${message}.message_id)`;
  return `case when ${isOfLedger} then 'automatic' when ${message}.sent_by is null then 'unknown' else 'user' end`;
}

/** Whether a text of ours reached nobody; `map` is the alias of its word in `reporting.delivery_status_map`. */
export function reachedNobody(message: string, map: string): string {
  return `reporting.delivery_class(${message}.direction, ${message}.is_blocked, ${message}.delivery_status, ${message}.delivery_error,
      ${map}.delivery_class) in ('blocked', 'failed')`;
}

/** Joins the class of a text's word, for {@link reachedNobody}. */
export function deliveryMap(message: string, map: string): string {
  return `left join reporting.delivery_status_map ${map} on ${map}.word = lower(trim(${message}.delivery_status))`;
}

interface Replacement {
  /** A table of the schema `reporting`. */
  readonly table: string;
  /** Its primary key; none of these is ever null. */
  readonly keys: readonly string[];
  readonly values: readonly string[];
  /** Which rows `t` of the table the fresh ones replace. */
  readonly scope: string;
  /** A query for the fresh rows, with columns of these names. */
  readonly fresh: string;
}

/** Replaces a part of a rollup and writes only what differs: most of a busy day's rows stay what they were. */
export async function replaceRows(
  tx: Transaction,
  replacement: Replacement,
  parameters: readonly unknown[],
): Promise<void> {
  const { fresh, gone, written } = replacementOf(replacement);
  await query(tx, `with ${fresh}, ${gone} ${written}`, parameters);
}

/**
 * The same, returning a value of the rows that are new, gone or different, as they were and as they are. One statement, so
 * that what differs is told from one state of the facts.
 */
export async function replaceAndTell<Value>(
  tx: Transaction,
  told: (row: string) => string,
  replacement: Replacement,
  parameters: readonly unknown[],
): Promise<Value[]> {
  const { fresh, gone, written, key, valuesOf } = replacementOf(replacement);
  const rows = await query<{ value: Value }>(
    tx,
    `with ${fresh}, before as (select * from rollups.${replacement.table} t where ${replacement.scope}), ${gone}, written as (${written})
     select distinct v.value from before b full join fresh f using (${key})
       cross join lateral (values (${told('b')}), (${told('f')})) v (value)
     where v.value is not null and (${valuesOf('b')}) is distinct from (${valuesOf('f')})`,
    parameters,
  );
  return rows.map(({ value }) => value);
}

/** The parts of the statement. */
function replacementOf({ table, keys, values, scope, fresh }: Replacement) {
  const key = keys.join(', ');
  const columns = [...keys, ...values].join(', ');
  const valuesOf = (row: string) => values.map((value) => `${row}.${value}`).join(', ');
  return {
    key,
    valuesOf,
    fresh: `fresh as materialized (${fresh})`,
    // A list that is looked up by hash, whatever the planner expects of the rows.
    gone: `gone as (delete from rollups.${table} t where ${scope} and (${key}) not in (select ${key} from fresh))`,
    written: `insert into rollups.${table} as t (${columns}) select ${columns} from fresh
      on conflict (${key}) do update set ${values.map((value) => `${value} = excluded.${value}`).join(', ')}
      where (${valuesOf('t')}) is distinct from (${valuesOf('excluded')})`,
  };
}
