import { type Database, query, type Transaction } from '../../db/database.ts';
import { knownDirection, replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

const thresholds = [5, 10, 15, 20, 30, 45, 60, 120] as const;

const counts: Readonly<Record<string, string>> = {
  call_count: 'count(*)',
  ...outcomes(['answered', 'voicemail', 'abandoned', 'short_abandoned', 'missed', 'unknown']),
  menu_count: `count(*) filter (where c.outcome in ('abandoned', 'missed') and c.reached = 'menu')`,
  talk_seconds: `coalesce(sum(c.talk_seconds) filter (where c.outcome = 'answered'), 0)`,
  talk_count: `count(c.talk_seconds) filter (where c.outcome = 'answered')`,
  duration_seconds: 'coalesce(sum(c.duration_seconds), 0)',
  answer_wait_seconds: 'coalesce(sum(c.answer_wait_seconds), 0)',
  answer_wait_count: 'count(c.answer_wait_seconds)',
  longest_wait_seconds: 'max(c.wait_seconds)',
  ...Object.fromEntries(
    thresholds.map((seconds) => [`ans_le_${seconds}`, `count(*) filter (where c.answer_wait_seconds <= ${seconds})`]),
  ),
  transferred_count: 'count(*) filter (where c.transferred_count > 0)',
  recorded_count: 'count(*) filter (where c.is_recorded)',
  called_back_count: `count(nullif(c.called_back_call_id, ''))`,
  repeated_count: 'count(*) filter (where c.repeated_count > 0)',
};

function outcomes(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [`${name}_count`, `count(*) filter (where c.outcome = '${name}')`]));
}

/** The columns that every rollup of calls counts, by `ops.add_call_counts`. */
const counted = Object.keys(counts);

/** What fills them, from `reporting.fct_call c`, by their names. */
const countExpressions = named(counts);

function named(expressions: Readonly<Record<string, string>>): string {
  return Object.entries(expressions)
    .map(([name, expression]) => `${expression} as ${name}`)
    .join(', ');
}

/** Counts the calls of a span by quarter of an hour. */
export async function rebuildIntervals(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_interval_rollup',
      keys: ['bucket_at', 'direction', 'is_internal', 'is_business_hours'],
      values: ['local_date', 'local_hour', ...counted],
      scope: 't.bucket_at >= $1 and t.bucket_at < $2',
      fresh: `select ops.quarter_of(c.started_at) as bucket_at, ${knownDirection} as direction, c.is_internal, c.is_business_hours,
          min(c.local_date) as local_date, min(c.local_hour) as local_hour, ${countExpressions}
        from reporting.fct_call c where c.started_at >= $1 and c.started_at < $2
        group by 1, 2, 3, 4`,
    },
    [from, to],
  );
}

/** Keeps the numbers, queues and huntgroups of one local day for the dimensions, with the names of the newest day. */
export async function keepEndpoints(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(
    tx,
    // Materialized: else the calls of the day are grouped again for each number.
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
     )
     insert into rollups.endpoints as t (kind, endpoint, endpoint_name, last_date)
     select r.kind, r.endpoint, min(n.endpoint_name), $1::date
     from rollups.call_endpoint_rollup r left join named n on n.kind = r.kind and n.endpoint = r.endpoint
     where r.kind in ('number', 'queue', 'huntgroup') and r.local_date = $1 and r.endpoint <> ''
     group by r.kind, r.endpoint
     on conflict (kind, endpoint) do update
       set endpoint_name = coalesce(excluded.endpoint_name, t.endpoint_name), last_date = excluded.last_date
     where excluded.last_date >= t.last_date
       and (coalesce(excluded.endpoint_name, t.endpoint_name), excluded.last_date) is distinct from (t.endpoint_name, t.last_date)`,
    [date, from, to],
  );
}

const endpoints = {
  table: 'call_endpoint_rollup',
  keys: ['kind', 'local_date', 'endpoint', 'local_hour', 'direction', 'is_business_hours'],
  values: counted,
};

/** Counts the external calls of local hours by number of the account. */
export async function rebuildNumbers(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      ...endpoints,
      scope: `t.kind = 'number' and t.local_date = $1::date and t.local_hour = any($4::integer[])`,
      fresh: `select 'number' as kind, $1::date as local_date, coalesce(c.account_number, '') as endpoint, c.local_hour,
          ${knownDirection} as direction, c.is_business_hours, ${countExpressions}
        from reporting.fct_call c
        where c.started_at >= $2 and c.started_at < $3 and not c.is_internal
        group by 3, 4, 5, 6`,
    },
    [date, from, to, hours],
  );
}

/** Counts the external calls of local hours by each queue and huntgroup that they entered. */
export async function rebuildGroups(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      ...endpoints,
      scope: `t.kind in ('queue', 'huntgroup') and t.local_date = $1::date and t.local_hour = any($4::integer[])`,
      // Legs and a search can name the same queue.
      fresh: `select a.kind, $1::date as local_date, a.endpoint, c.local_hour, ${knownDirection} as direction, c.is_business_hours,
          ${countExpressions}
        from (
          select distinct call_id, kind, endpoint from reporting.fct_call_attribution
          where started_at >= $2 and started_at < $3 and kind in ('queue', 'huntgroup') and role = 'entered'
        ) a
          join reporting.fct_call c on c.call_id = a.call_id
        where not c.is_internal
        group by 1, 3, 4, 5, 6`,
    },
    [date, from, to, hours],
  );
}

/** What the rollups by user count, over the calls that touched a user, each once. */
const agentCounts: Readonly<Record<string, string>> = {
  handled_count: 'count(*) filter (where is_answered or is_placed)',
  answered_count: 'count(*) filter (where is_answered)',
  placed_count: 'count(*) filter (where is_placed)',
  connected_count: `count(*) filter (where is_connected)`,
  placed_connected_count: `count(*) filter (where is_placed and status = 'answered')`,
  unconnected_count: `count(*) filter (where is_placed and status in ('missed', 'voicemail'))`,
  rang_count: 'count(*) filter (where is_rung and not is_answered and not is_placed)',
  transferred_to_count: 'count(*) filter (where is_transferred)',
  transferred_out_count: 'count(*) filter (where is_passed_on)',
  talk_seconds: 'coalesce(sum(talk_seconds) filter (where is_connected), 0)',
  talk_count: 'count(talk_seconds) filter (where is_connected)',
};
const agentColumns = Object.keys(agentCounts);
const agentExpressions = named(agentCounts);
const agentSums = agentColumns.map((name) => `sum(${name})::bigint as ${name}`).join(', ');

/** Counts the calls of local hours by user. */
export async function rebuildAgents(tx: Transaction, { date }: Day, { from, to, hours }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_rollup',
      keys: ['local_date', 'user_id', 'direction', 'local_hour'],
      values: agentColumns,
      scope: 't.local_date = $1::date and t.local_hour = any($4::integer[])',
      fresh: `select $1::date as local_date, user_id, direction, local_hour,
          ${agentExpressions}
        from (
          select *, is_answered or is_placed and status = 'answered' as is_connected
          from (
            select c.call_id, extract(hour from c.started_at at time zone p.time_zone)::integer as local_hour, c.user_id,
              case when c.is_internal then 'internal' else ${knownDirection} end as direction,
              coalesce(c.status, '') as status, bool_or(c.role = 'answered') as is_answered, bool_or(c.role = 'placed') as is_placed,
              bool_or(c.role = 'rang') as is_rung, bool_or(c.role = 'transferred_to') as is_transferred,
              bool_or(c.role = 'transferred_out') as is_passed_on,
              sum(c.talk_seconds) filter (where c.role in ('answered', 'placed')) as talk_seconds
            from reporting.fct_call_attribution c cross join reporting.params p
            where c.started_at >= $2 and c.started_at < $3 and c.user_id is not null
            group by 1, 2, 3, 4, 5
          ) each_role
        ) touched
        group by 2, 3, 4`,
    },
    [date, from, to, hours],
  );
}

/** Adds the hours of users up to a local day. */
export async function rebuildAgentDay(tx: Transaction, { date }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_day_rollup',
      keys: ['local_date', 'user_id', 'direction'],
      values: agentColumns,
      scope: 't.local_date = $1::date',
      fresh: `select $1::date as local_date, user_id, direction, ${agentSums}
        from rollups.call_agent_rollup where local_date = $1::date group by 2, 3`,
    },
    [date],
  );
}

/** Adds the days of users up to the local month that a day lies in. */
export async function rebuildAgentMonth(tx: Transaction, { date }: Day): Promise<void> {
  const month = `date_trunc('month', $1::date::timestamp)`;
  await replaceRows(
    tx,
    {
      table: 'call_agent_month_rollup',
      keys: ['month_start_date', 'user_id', 'direction'],
      values: agentColumns,
      scope: `t.month_start_date = ${month}::date`,
      fresh: `select ${month}::date as month_start_date, user_id, direction, ${agentSums}
        from rollups.call_agent_day_rollup
        where local_date >= ${month}::date and local_date < (${month} + interval '1 month')::date group by 2, 3`,
    },
    [date],
  );
}

/** Today and the six local days before. */
const callersFrom = '(select reporting.day_start(reporting.local_day(now()) - 6))';
const isCounted = `c.direction = 'inbound' and c.is_internal is not true and c.deleted_at is null`;

/** Finds out again who of the callers of a span called twice or more lately. Ends at once for a span of before. */
export async function rebuildCallers(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  const rows = await query<{ number: string }>(
    tx,
    `select distinct c.external_number as number from warehouse.calls c
     where c.started_at >= greatest($1, ${callersFrom}) and c.started_at < $2 and c.external_number is not null`,
    [from, to],
  );
  await replaceCallers(
    tx,
    rows.map(({ number }) => number),
    { from, to },
  );
}

/** Callers of whom calls are counted that have become too old, so that they are to be counted again. */
export async function agedCallers(db: Database): Promise<string[]> {
  await query(db, `delete from rollups.repeat_caller_rollup where last_call_at < ${callersFrom}`, []);
  const rows = await query<{ number: string }>(
    db,
    `select distinct c.external_number as number
     from rollups.repeat_caller_rollup r join warehouse.calls c on c.call_id = r.last_call_id
     where r.first_call_at < ${callersFrom} and c.external_number is not null`,
    [],
  );
  return rows.map(({ number }) => number);
}

/** Counts the calls of numbers again. The rows of calls of the span go too that no longer have their number. */
export async function replaceCallers(tx: Transaction, numbers: readonly string[], span?: Pick<Day, 'from' | 'to'>) {
  // Number by number: without statistics, the planner would compare each with all calls.
  const lately = `from unnest($1::text[]) k (number) cross join lateral (
      select x.* from warehouse.calls x where x.external_number = k.number and x.started_at >= ${callersFrom} offset 0) c`;
  await replaceRows(
    tx,
    {
      table: 'repeat_caller_rollup',
      keys: ['last_call_id'],
      values: ['inbound_count', 'answered_count', 'active_day_count', 'first_call_at', 'last_call_at'],
      scope: `(t.last_call_id in (select c.call_id ${lately}) or t.last_call_at >= $2 and t.last_call_at < $3)`,
      // Ids begin with the second of the call.
      fresh: `select max(c.call_id collate "C") as last_call_id, count(*) as inbound_count,
          count(*) filter (where c.status = 'answered') as answered_count,
          count(distinct reporting.local_day(c.started_at)) as active_day_count,
          min(c.started_at) as first_call_at, max(c.started_at) as last_call_at
        ${lately} where ${isCounted}
        group by k.number
        having count(*) >= 2`,
    },
    [numbers, span?.from ?? null, span?.to ?? null],
  );
}
