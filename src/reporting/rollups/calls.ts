import { query, type Transaction } from '../../db/database.ts';
import { knownDirection, replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

const thresholds = [5, 10, 15, 20, 30, 45, 60, 120];
const outcomes = ['answered', 'voicemail', 'abandoned', 'short_abandoned', 'missed', 'unknown'];

/** Counts calls per local hour and number of the account. */
export async function rebuildCallHours(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  const counts = outcomes.map((outcome) => `count(*) filter (where c.outcome = '${outcome}') as ${outcome}_count`);
  const inTime = thresholds.map((seconds) => `count(*) filter (where a.wait <= ${seconds}) as ans_le_${seconds}`);
  await replaceRows(
    tx,
    {
      table: 'call_rollup',
      scope: 't.local_date = $1::date and t.local_hour = any($4::integer[])',
      fresh: `select $1::date as local_date, coalesce(c.account_number, '') as account_number, c.local_hour,
          case when c.is_internal then 'internal' else ${knownDirection} end as direction, c.is_business_hours,
          count(*) as call_count, ${counts.join(', ')},
          count(*) filter (where c.outcome in ('abandoned', 'missed') and c.reached = 'menu') as menu_count,
          coalesce(sum(c.talk_seconds) filter (where c.outcome = 'answered'), 0) as talk_seconds,
          count(c.talk_seconds) filter (where c.outcome = 'answered') as talk_count,
          coalesce(sum(a.wait), 0) as answer_wait_seconds, count(a.wait) as answer_wait_count, ${inTime.join(', ')},
          count(*) filter (where c.transferred_count > 0) as transferred_count
        from reporting.fct_call c
          cross join lateral (select case when c.outcome = 'answered' and c.direction = 'inbound' then c.wait_seconds end) a (wait)
        where c.started_at >= $2 and c.started_at < $3
        group by 2, 3, 4, 5`,
    },
    [date, from, to, hours],
  );
}

/** Counts calls per local hour and user: each call that involved the user once. */
export async function rebuildAgentHours(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_rollup',
      scope: 't.local_date = $1::date and t.local_hour = any($4::integer[])',
      fresh: `select $1::date as local_date, user_id, direction, local_hour,
          count(*) filter (where is_answered or is_placed) as handled_count,
          count(*) filter (where is_answered) as answered_count, count(*) filter (where is_placed) as placed_count,
          count(*) filter (where is_connected) as connected_count,
          count(*) filter (where is_placed and status = 'answered') as placed_connected_count,
          count(*) filter (where is_placed and status in ('missed', 'voicemail')) as unconnected_count,
          count(*) filter (where is_rung and not is_answered and not is_placed) as rang_count,
          coalesce(sum(talk_seconds) filter (where is_connected), 0) as talk_seconds,
          count(talk_seconds) filter (where is_connected) as talk_count
        from (
          select *, is_answered or is_placed and status = 'answered' as is_connected
          from (
            select a.call_id, extract(hour from a.started_at at time zone p.time_zone)::integer as local_hour, a.user_key as user_id,
              a.direction, coalesce(a.status, '') as status, bool_or(a.role = 'answered') as is_answered,
              bool_or(a.role = 'placed') as is_placed, bool_or(a.role = 'rang') as is_rung,
              sum(a.talk_seconds) filter (where a.role in ('answered', 'placed')) as talk_seconds
            from reporting.fct_call_agent a cross join reporting.params p
            where a.started_at >= $2 and a.started_at < $3
            group by 1, 2, 3, 4, 5
          ) each_role
        ) touched
        group by 2, 3, 4`,
    },
    [date, from, to, hours],
  );
}

/**
 * Keeps the numbers, queues and huntgroups of one local day for the dimensions, with the names used on the newest day.
 */
export async function keepEndpoints(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(
    tx,
    // Materialized, or else Postgres groups the day's calls again for each number.
    `with newest as (
       select v.kind, v.endpoint, max(c.call_id collate "C") collate "default" as call_id
       from warehouse.calls c cross join lateral (values ('queue', c.queue), ('huntgroup', c.huntgroup)) v (kind, endpoint)
       where c.started_at >= $2 and c.started_at < $3 and c.deleted_at is null and v.endpoint is not null
       group by 1, 2
     ), named as materialized (
       select n.kind, n.endpoint, (
         select each.called_name from (
           select l.called_type, l.called_number, l.called_name from warehouse.call_legs l where l.call_id = n.call_id and l.deleted_at is null
           union all
           select c.called_type, c.called_number, c.called_name from warehouse.calls c where c.call_id = n.call_id
         ) each
         where each.called_type = n.kind and n.endpoint in (each.called_number, each.called_name) and each.called_name <> '' limit 1
       ) as endpoint_name
       from newest n
     ), touched as (
       select 'number' as kind, account_number as endpoint from rollups.call_rollup
       where local_date = $1 and direction <> 'internal' and account_number <> ''
       union
       select kind, endpoint from rollups.queue_visits where local_date = $1
       union
       select kind, endpoint from named
     )
     insert into rollups.endpoints as t (kind, endpoint, endpoint_name, last_date)
     select r.kind, r.endpoint, n.endpoint_name, $1::date
     from touched r left join named n on n.kind = r.kind and n.endpoint = r.endpoint
     -- Found here, not by the conflict, which would lock the row.
     where not exists (
       select from rollups.endpoints h where h.kind = r.kind and h.endpoint = r.endpoint
         and (h.last_date > $1 or h.last_date = $1 and coalesce(n.endpoint_name, h.endpoint_name) is not distinct from h.endpoint_name)
     )
     on conflict (kind, endpoint) do update
       set endpoint_name = coalesce(excluded.endpoint_name, t.endpoint_name), last_date = excluded.last_date`,
    [date, from, to],
  );
}
