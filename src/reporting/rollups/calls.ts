import { query, type Transaction } from '../../db/database.ts';
import { replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

const thresholds = [5, 10, 15, 20, 30, 45, 60, 120] as const;
const outcomes = ['answered', 'voicemail', 'abandoned', 'short_abandoned', 'missed', 'unknown'] as const;

/** What `call_rollup` counts in `reporting.fct_call c`. */
const callCounts: Readonly<Record<string, string>> = {
  call_count: 'count(*)',
  ...Object.fromEntries(outcomes.map((name) => [`${name}_count`, `count(*) filter (where c.outcome = '${name}')`])),
  menu_count: `count(*) filter (where c.outcome in ('abandoned', 'missed') and c.reached = 'menu')`,
  talk_seconds: `coalesce(sum(c.talk_seconds) filter (where c.outcome = 'answered'), 0)`,
  talk_count: `count(c.talk_seconds) filter (where c.outcome = 'answered')`,
  answer_wait_seconds: 'coalesce(sum(c.answer_wait_seconds), 0)',
  answer_wait_count: 'count(c.answer_wait_seconds)',
  ...Object.fromEntries(
    thresholds.map((seconds) => [`ans_le_${seconds}`, `count(*) filter (where c.answer_wait_seconds <= ${seconds})`]),
  ),
  transferred_count: 'count(*) filter (where c.transferred_count > 0)',
};

/** What `call_agent_rollup` counts: the calls that involved a user, each once. */
const agentCounts: Readonly<Record<string, string>> = {
  handled_count: 'count(*) filter (where is_answered or is_placed)',
  answered_count: 'count(*) filter (where is_answered)',
  placed_count: 'count(*) filter (where is_placed)',
  connected_count: `count(*) filter (where is_connected)`,
  placed_connected_count: `count(*) filter (where is_placed and status = 'answered')`,
  unconnected_count: `count(*) filter (where is_placed and status in ('missed', 'voicemail'))`,
  rang_count: 'count(*) filter (where is_rung and not is_answered and not is_placed)',
  talk_seconds: 'coalesce(sum(talk_seconds) filter (where is_connected), 0)',
  talk_count: 'count(talk_seconds) filter (where is_connected)',
};

function named(expressions: Readonly<Record<string, string>>): string {
  return Object.entries(expressions)
    .map(([name, expression]) => `${expression} as ${name}`)
    .join(', ');
}

/** Counts calls per local hour and number of the account. */
export async function rebuildCallHours(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_rollup',
      keys: ['local_date', 'account_number', 'local_hour', 'direction', 'is_business_hours'],
      values: Object.keys(callCounts),
      scope: 't.local_date = $1::date and t.local_hour = any($4::integer[])',
      fresh: `select $1::date as local_date, coalesce(c.account_number, '') as account_number, c.local_hour,
          case when c.is_internal then 'internal' when c.direction in ('inbound', 'outbound') then c.direction else 'unknown' end as direction,
          c.is_business_hours, ${named(callCounts)}
        from reporting.fct_call c
        where c.started_at >= $2 and c.started_at < $3
        group by 2, 3, 4, 5`,
    },
    [date, from, to, hours],
  );
}

/** Counts calls per local hour and user. */
export async function rebuildAgentHours(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_rollup',
      keys: ['local_date', 'user_id', 'direction', 'local_hour'],
      values: Object.keys(agentCounts),
      scope: 't.local_date = $1::date and t.local_hour = any($4::integer[])',
      fresh: `select $1::date as local_date, user_id, direction, local_hour, ${named(agentCounts)}
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
