import { type Database, query, sql, type Transaction } from '../db/database.ts';
import type { CallFilter, ClosedDay, FilteredCalls } from './filtered-search.ts';

/*
 * Figures of a closed day, as the service itself counts them by filtered searches and as they are held (ops.tie_outs, reporting.trust).
 * Calls that only one of both has are read again once. What differs is compared again each night for a week. The searches
 * go by the start of each call, so no call at the edge of a day differs; only the number of all calls may.
 */

/** Calls that a figure names, and that are read again for it. */
const maxCalls = 500;

const key = ({ date }: ClosedDay, { kind, name }: CallFilter) => sql`${date}::date, ${kind}::text, ${name}::text`;
/** Of a figure that names no calls, before it is compared again. */
const later = 'compared again the next night';
/** A reason that the owner wrote stays while the same differs. */
const renewed = sql`on conflict (local_date, kind, name) do update set theirs = excluded.theirs, ours = excluded.ours,
  call_ids = excluded.call_ids, unexplained_ids = excluded.unexplained_ids, compared_at = now(),
  explained = coalesce(excluded.explained, case when excluded.unexplained_ids = t.unexplained_ids
    and excluded.theirs - excluded.ours = t.theirs - t.ours and excluded.theirs <> excluded.ours and t.explained <> ${later} then t.explained end)`;

/** Which calls `c` are those of a figure, by what is held. */
function isOf({ kind, name }: CallFilter) {
  if (kind === 'status') return sql`c.direction || ' ' || c.status = ${name}`;
  const isAttributed =
    kind === 'user' ? sql`a.user_id = ${name}::bigint` : sql`a.kind = ${kind} and a.endpoint = ${name}`;
  return sql`(exists (select from warehouse.call_attributions a where a.call_id = c.call_id and ${isAttributed})
    or c.legs_fetched_at is null and ${isEndOf({ kind, name })})`;
}

/** Whether a queue, huntgroup or user is an end of a call `c`. */
export function isEndOf({ kind, name }: CallFilter) {
  if (kind !== 'user') {
    return sql`coalesce(c.called_type = ${kind} and left(coalesce(nullif(c.called_number, ''), c.called_name), 200) = ${name}, false)`;
  }
  return sql`exists (
    select from warehouse.user_endpoints e
    where e.user_id = ${name}::bigint and e.kind in ('extension', 'dial_extension', 'sip_line')
      and e.valid_from <= c.started_at and c.started_at < e.valid_to
      and (c.caller_type = 'user' and c.caller_number = e.endpoint or c.called_type = 'user' and c.called_number = e.endpoint))`;
}

/** Compares a figure with what is held, and records both. Resolves to the calls to read again: those that did not differ before. */
export async function tieOut(tx: Transaction, day: ClosedDay, listed: FilteredCalls): Promise<string[]> {
  const { from, to } = day;
  const rows = await query(
    tx,
    sql<{ call_id: string }>`with listed as materialized (
       select call_id from unnest(${listed.callIds}::text[]) l (call_id)
     ), ours as materialized (
       select c.call_id from warehouse.calls c
       where c.started_at >= to_timestamp(${from}) and c.started_at < to_timestamp(${to}) and c.deleted_at is null and ${isOf(listed)}
     ), different as (
       (select call_id from ours except select call_id from listed) union all (select call_id from listed except select call_id from ours)
     ), judged as materialized (
       select d.call_id, case
           when c.deleted_at is not null then 'deleted'
           when c.is_erased then 'with somebody who was erased'
           when exists (
             select from warehouse.field_changes f
             where f.entity = 'call' and f.entity_key = d.call_id and f.field = 'status' and f.observed_at >= to_timestamp(${to})
           ) then 'changed after the day closed'
           when not b.is_known then 'just read again'
         end as reason, not b.is_known as is_new
       from different d left join warehouse.calls c using (call_id) cross join lateral (
         select exists (select from ops.tie_outs where (local_date, kind, name) = (${key(day, listed)}) and d.call_id = any(call_ids)) as is_known
       ) b order by d.call_id limit ${maxCalls}
     ), written as (
       insert into ops.tie_outs as t (local_date, kind, name, theirs, ours, call_ids, unexplained_ids, explained)
       select ${key(day, listed)}, (select count(*) from listed), (select count(*) from ours),
         array(select call_id from judged), array(select call_id from judged where reason is null),
         (select case when bool_and(reason is not null) then string_agg(calls || ' ' || reason, ', ' order by reason) end
          from (select reason, count(*) as calls from judged group by reason) reasons)
       ${renewed}
     )
     select call_id from judged where is_new`,
  );
  return rows.map(({ call_id }) => call_id);
}

/**
 * Compares the number of all calls with the totals of the reports. It cannot name calls: those that differ by direction and status
 * do so here, and a search does not say whether its ends belong to it.
 */
export async function tieOutTotals(db: Database, day: ClosedDay, theirs: number): Promise<void> {
  const { date, from, to } = day;
  await query(
    db,
    sql`insert into ops.tie_outs as t (local_date, kind, name, theirs, ours, explained)
     select ${key(day, { kind: 'day', name: '' })}, ${theirs}::integer, ours, case
         when ours = ${theirs} then null
         when abs(${theirs} - ours - by_status) <= at_edges then 'as by direction and status, but for calls at the edges of the day'
         when not exists (select from ops.tie_outs where (local_date, kind, name) = (${key(day, { kind: 'day', name: '' })})) then ${later}
       end
     from (select
       (select coalesce(sum(call_count), 0)::integer from reporting.call_hourly where local_date = ${date}::date) as ours,
       (select coalesce(sum(theirs - ours), 0) from ops.tie_outs where local_date = ${date}::date and kind = 'status') as by_status,
       (select count(*) from warehouse.calls, unnest(array[${from}, ${to}]::bigint[]) edge
        where started_at between to_timestamp(edge - 1) and to_timestamp(edge + 1)) as at_edges) counted
     ${renewed}`,
  );
}

const isDifferent = sql`(theirs <> ours or call_ids <> '{}')`;

/** The figures of a day that differ. */
export function differingFigures(db: Database, { date }: ClosedDay): Promise<CallFilter[]> {
  return query(
    db,
    sql<CallFilter>`select kind, name from ops.tie_outs where local_date = ${date}::date and ${isDifferent}
     order by kind = 'status' desc, kind = 'day' desc, kind, name`,
  );
}

/** When the differing figures of a day `d` are compared again: each night, until it is `days` days ago. Null for never. */
export const nextComparison = (days: number) => sql`(
  select now() + interval '20 hours' from ops.tie_outs t
  where t.local_date = d.local_date and ${isDifferent} and d.local_date >= reporting.local_day(now()) - ${days}::integer limit 1)`;
