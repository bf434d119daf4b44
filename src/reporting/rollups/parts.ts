import { query, type Transaction } from '../../db/database.ts';
import type { Span } from './steps.ts';

/**
 * Keeps the other parties of some facts for `dim_contact`, except erased ones. An erasure that begins after this check
 * waits for the end of the transaction, and then deletes the row.
 */
export async function keepContacts(
  tx: Transaction,
  table: string,
  number: string,
  moment: string,
  { from, to }: Span,
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

/** A word that the specification doesn't know counts as unknown: it can be too long for an index. */
export const knownDirection = `case when c.direction in ('inbound', 'outbound') then c.direction else 'unknown' end`;

/** Who sent a text of ours, as in `fct_sms_message.sender_kind`. */
export function senderKind(message: string): string {
  const isOfLedger = `${message}.send_id is not null
    or exists (select from ops.sends o where o.line = ${message}.line and o.message_id = ${message}.message_id)`;
  return `case when ${isOfLedger} then 'automatic' when ${message}.sent_by is null then 'unknown' else 'user' end`;
}

/** Whether a text of ours reached nobody. `map` is the alias of its word in `reporting.delivery_status_map`. */
export function reachedNobody(message: string, map: string): string {
  return `reporting.delivery_class(${message}.direction, ${message}.is_blocked, ${message}.delivery_status, ${message}.delivery_error,
      ${map}.delivery_class) in ('blocked', 'failed')`;
}

/** Joins the class of a text's status word, for {@link reachedNobody}. */
export function deliveryMap(message: string, map: string): string {
  return `left join reporting.delivery_status_map ${map} on ${map}.word = lower(trim(${message}.delivery_status))`;
}

/** SQL: the schedule of a line: `schedule`, `time_zone`. One row. */
export const scheduleOf = (line: string) => `
  select s.schedule, s.time_zone from reporting.schedules s
  where s.schedule = coalesce((select l.schedule from reporting.schedule_lines l where l.line = ${line}), '')`;

/** SQL: whether the schedule `s` of a line is open at a moment, as in `reporting.is_open_at`. */
export const isOpenAt = (moment: string) => `exists (
  select from reporting.open_hours h where h.schedule = s.schedule
    and h.opens_at > ${moment} - interval '2 days' and h.opens_at <= ${moment} and ${moment} < h.closes_at)`;

/**
 * The columns of a roll-up, as its migration declares them. `changed_at` is no value: it says when the others changed.
 */
interface Columns {
  readonly keys: readonly string[];
  readonly values: readonly string[];
  readonly isDated: boolean;
}

const columnsOfTables = new Map<string, Columns>();

async function columnsOf(tx: Transaction, table: string): Promise<Columns> {
  const known = columnsOfTables.get(table);
  if (known) return known;
  const columns = await query<{ name: string; is_key: boolean }>(
    tx,
    `select a.attname as name, a.attnum = any(i.indkey) as is_key
     from pg_attribute a join pg_index i on i.indrelid = a.attrelid and i.indisprimary
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [`rollups.${table}`],
  );
  const names = (isKey: boolean) =>
    columns.flatMap(({ name, is_key }) => (is_key === isKey && name !== 'changed_at' ? [name] : []));
  const isDated = columns.some(({ name }) => name === 'changed_at');
  const found = { keys: names(true), values: names(false), isDated };
  columnsOfTables.set(table, found);
  return found;
}

interface Replacement {
  /** A table of the schema `rollups`. */
  readonly table: string;
  /** The rows `t` of the table that the fresh ones replace. */
  readonly scope: string;
  /** A query for the fresh rows, with all columns of the table but `changed_at`. */
  readonly fresh: string;
}

/**
 * Replaces a part of a rollup, but only writes what differs: most rows of a busy day don't change. They are compared
 * before the insert: a conflict would lock each row, which writes to it too.
 */
export async function replaceRows(
  tx: Transaction,
  { table, scope, fresh }: Replacement,
  parameters: readonly unknown[],
): Promise<void> {
  const { keys, values, isDated } = await columnsOf(tx, table);
  const key = keys.join(', ');
  const columns = [...keys, ...values].join(', ');
  const changes = values.map((value) => `${value} = excluded.${value}`);
  if (isDated) changes.push('changed_at = now()');
  await query(
    tx,
    // Forces a hashed lookup, whatever number of rows the planner expects.
    `with fresh as materialized (${fresh}),
       gone as (delete from rollups.${table} t where ${scope} and (${key}) not in (select ${key} from fresh))
     insert into rollups.${table} (${columns})
     select ${columns} from fresh except select ${columns} from rollups.${table} t where ${scope}
     on conflict (${key}) do update set ${changes.join(', ')}`,
    parameters,
  );
}
