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

interface Replacement {
  /** A table of the schema `reporting`. */
  readonly table: string;
  /** Its primary key; none of its columns is ever null. */
  readonly keys: readonly string[];
  readonly values: readonly string[];
  /** The rows `t` of the table that the fresh ones replace. */
  readonly scope: string;
  /** A query for the fresh rows, with columns of the same names. */
  readonly fresh: string;
}

/**
 * Replaces a part of a rollup, but only writes what differs: most rows of a busy day don't change. They are compared before the
 * insert: a conflict would lock each row, which writes to it too.
 */
export async function replaceRows(
  tx: Transaction,
  { table, keys, values, scope, fresh }: Replacement,
  parameters: readonly unknown[],
): Promise<void> {
  const key = keys.join(', ');
  const columns = [...keys, ...values].join(', ');
  await query(
    tx,
    // Forces a hashed lookup, whatever number of rows the planner expects.
    `with fresh as materialized (${fresh}),
       gone as (delete from rollups.${table} t where ${scope} and (${key}) not in (select ${key} from fresh))
     insert into rollups.${table} (${columns})
     select ${columns} from fresh except select ${columns} from rollups.${table} t where ${scope}
     on conflict (${key}) do update set ${values.map((value) => `${value} = excluded.${value}`).join(', ')}`,
    parameters,
  );
}
