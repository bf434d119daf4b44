import { query, type Transaction } from '../../db/database.ts';
import { type Day, inQuarter, keepContacts, replaceRows } from './parts.ts';

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
const countColumns = counted.join(', ');

/** What fills them, from `reporting.fct_call c`, by their names. */
const countExpressions = named(counts);

function named(expressions: Readonly<Record<string, string>>): string {
  return Object.entries(expressions)
    .map(([name, expression]) => `${expression} as ${name}`)
    .join(', ');
}

/** What fills them from a finer rollup. */
const sumExpressions = counted
  .map((name) => `${name === 'longest_wait_seconds' ? 'max' : 'sum'}(${name}) as ${name}`)
  .join(', ');

/** A word that the specification does not know counts as unknown: it can be longer than an index takes. */
const knownDirection = `case when c.direction in ('inbound', 'outbound') then c.direction else 'unknown' end`;

/** Rebuilds quarters of an hour of `rollups.call_interval_rollup`. */
export async function rebuildIntervals(tx: Transaction, quarters: readonly Date[]): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_interval_rollup',
      keys: ['bucket_at', 'direction', 'is_internal', 'is_business_hours'],
      values: ['local_date', 'local_hour', ...counted],
      scope: 't.bucket_at = any($1::timestamptz[])',
      fresh: `select q.bucket_at, ${knownDirection} as direction, c.is_internal, c.is_business_hours, min(c.local_date) as local_date,
          min(c.local_hour) as local_hour, ${countExpressions}
        from unnest($1::timestamptz[]) as q (bucket_at)
          join reporting.fct_call c on ${inQuarter('c.started_at')}
        group by 1, 2, 3, 4`,
    },
    [quarters],
  );
}

/**
 * Rebuilds the visits to queues and huntgroups of calls that began in quarters of an hour. The legs tell them: what follows
 * a leg to a queue, the telephones that only rang left out, is how that visit ended. Calls whose legs show no queue have one
 * visit for each queue that they are otherwise known to have entered, with the outcome and the wait of the call if it is one.
 */
export async function rebuildVisits(tx: Transaction, quarters: readonly Date[]): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'queue_visits',
      keys: ['call_id', 'visit_number'],
      values: [
        ...['bucket_at', 'started_at', 'local_date', 'local_hour', 'is_business_hours', 'direction', 'account_number'],
        ...['kind', 'endpoint', 'entered_at', 'outcome', 'wait_seconds', 'wait_basis', 'next_queue'],
      ],
      scope: 't.bucket_at = any($1::timestamptz[])',
      fresh: visits,
    },
    [quarters],
  );
}

// Each step carries the columns of the call along: the planner expects few calls, and would join them by comparing each with all.
const visits = `
  with calls as materialized (
    select c.call_id, q.bucket_at, c.started_at, c.local_date, c.local_hour, c.is_business_hours, ${knownDirection} as direction, c.account_number,
      c.outcome as call_outcome, c.wait_seconds as call_wait_seconds, c.wait_basis as call_wait_basis, c.ended_at as call_ended_at, c.leg_count,
      c.has_legs, c.called_type, left(coalesce(nullif(c.called_number, ''), c.called_name), 200) as called_endpoint
    from unnest($1::timestamptz[]) as q (bucket_at)
      join reporting.fct_call c on ${inQuarter('c.started_at')}
    where not c.is_internal
  ), steps as (
    select c.*, l.ordinal, l.started_at as leg_at, l.called_type as kind, l.endpoint, l.is_answered, l.talk_at,
      case
        when l.called_type in ('queue', 'huntgroup') and l.endpoint <> '' then 'overflowed'
        when l.called_type in ('user', 'external') then 'answered'
        when l.called_type = 'mailbox' then 'voicemail'
        when l.called_type is null then 'unknown'
        else 'left'
      end as step,
      max(l.ended_at) over (partition by c.call_id) as last_at
    from calls c
      cross join lateral (
        select x.ordinal, x.started_at, x.called_type, left(coalesce(nullif(x.called_number, ''), x.called_name), 200) as endpoint,
          coalesce(x.talk_seconds > 0, x.status ~* '^answer', false) as is_answered,
          x.started_at + (x.duration_seconds - x.talk_seconds) * interval '1 second' as talk_at,
          coalesce(x.ended_at, x.started_at + x.duration_seconds * interval '1 second') as ended_at
        from warehouse.call_legs x where x.call_id = c.call_id and x.deleted_at is null offset 0
      ) l
    where c.leg_count > 0
  ), paths as (
    select s.*, lead(s.step) over path as next_step, lead(s.leg_at) over path as next_at, lead(s.talk_at) over path as next_talk_at,
      lead(s.kind || ':' || s.endpoint) over path as next_queue,
      s.call_outcome = 'answered' and bool_or(s.step = 'answered') over path as was_answered
    from steps s
    where s.step <> 'answered' or s.is_answered
    window path as (partition by s.call_id order by s.ordinal)
  ), ended as (
    select p.*, coalesce(p.next_step, case when p.was_answered then 'missed' else p.call_outcome end) as outcome,
      extract(epoch from case
        when p.next_step = 'answered' then p.next_talk_at
        when p.next_step <> 'unknown' then p.next_at
        when p.next_step is null and (p.was_answered or p.call_outcome in ('abandoned', 'short_abandoned', 'missed'))
          then coalesce(p.call_ended_at, p.last_at)
      end - p.leg_at) as seconds
    from paths p where p.step = 'overflowed'
  ), told as materialized (
    select e.*, row_number() over (partition by e.call_id order by e.ordinal)::integer as visit_number,
      case when e.seconds between 0 and 2147483647 then e.seconds::integer end as wait_seconds
    from ended e
  ), untold as (
    select c.*, a.kind, a.endpoint, row_number() over (partition by c.call_id order by a.kind, a.endpoint)::integer as visit_number,
      count(*) over (partition by c.call_id) = 1 as is_only
    from calls c
      cross join lateral (
        select x.kind, x.endpoint from warehouse.call_attributions x
        where x.call_id = c.call_id and x.kind in ('queue', 'huntgroup') and x.role = 'entered'
        union
        select c.called_type, c.called_endpoint where not c.has_legs and c.called_type in ('queue', 'huntgroup') and c.called_endpoint <> ''
      ) a
    where c.call_id not in (select call_id from told)
  )
  select call_id, visit_number, bucket_at, started_at, local_date, local_hour, is_business_hours, direction, account_number, kind, endpoint,
    leg_at as entered_at, outcome, wait_seconds, case when wait_seconds is null then 'unknown' else 'legs' end as wait_basis,
    case when outcome = 'overflowed' then next_queue end as next_queue
  from told
  union all
  select call_id, visit_number, bucket_at, started_at, local_date, local_hour, is_business_hours, direction, account_number, kind, endpoint,
    null, case when is_only then call_outcome else 'unknown' end, case when is_only then call_wait_seconds end,
    case when is_only then call_wait_basis else 'unknown' end, null
  from untold`;

/** Adds the quarters of one local day up to hours. */
export async function rebuildHours(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from rollups.call_hour_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into rollups.call_hour_rollup (local_date, local_hour, direction, is_internal, is_business_hours, ${countColumns})
     select $1::date, local_hour, direction, is_internal, is_business_hours, ${sumExpressions}
     from rollups.call_interval_rollup where bucket_at >= $2 and bucket_at < $3 group by 2, 3, 4, 5`,
    [date, from, to],
  );
}

/** Rebuilds one local day of the rollups by number, queue and huntgroup, and by user. */
export async function rebuildCallDay(tx: Transaction, day: Day): Promise<void> {
  await rebuildNumberHours(tx, day);
  await rebuildEndpoints(tx, day);
  await keepEndpoints(tx, day);
  await keepContacts(tx, 'warehouse.calls', 'external_number', 'started_at', day);
  await rebuildAgents(tx, day);
}

/** Keeps the numbers, queues and huntgroups of one local day for the dimensions, with the names of the newest day. */
async function keepEndpoints(tx: Transaction, { date, from, to }: Day): Promise<void> {
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
     where r.local_date = $1 and r.endpoint <> ''
     group by r.kind, r.endpoint
     on conflict (kind, endpoint) do update
       set endpoint_name = coalesce(excluded.endpoint_name, t.endpoint_name), last_date = excluded.last_date
     where excluded.last_date >= t.last_date
       and (coalesce(excluded.endpoint_name, t.endpoint_name), excluded.last_date) is distinct from (t.endpoint_name, t.last_date)`,
    [date, from, to],
  );
}

async function rebuildNumberHours(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_number_hour_rollup',
      keys: ['local_date', 'endpoint', 'local_hour', 'direction', 'is_business_hours'],
      values: counted,
      scope: 't.local_date = $1::date',
      fresh: `select $1::date as local_date, coalesce(c.account_number, '') as endpoint, c.local_hour, ${knownDirection} as direction,
          c.is_business_hours, ${countExpressions}
        from reporting.fct_call c
        where c.started_at >= $2 and c.started_at < $3 and not c.is_internal
        group by 2, 3, 4, 5`,
    },
    [date, from, to],
  );
}

async function rebuildEndpoints(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_endpoint_rollup',
      keys: ['local_date', 'kind', 'endpoint', 'direction'],
      values: counted,
      scope: 't.local_date = $1::date',
      // Legs and a search can name the same queue.
      fresh: `select $1::date as local_date, 'number' as kind, endpoint, direction, ${sumExpressions}
        from rollups.call_number_hour_rollup where local_date = $1::date group by 3, 4
        union all
        select $1::date, a.kind, a.endpoint, ${knownDirection}, ${countExpressions}
        from (
          select distinct call_id, kind, endpoint from reporting.fct_call_attribution
          where started_at >= $2 and started_at < $3 and kind in ('queue', 'huntgroup') and role = 'entered'
        ) a
          join reporting.fct_call c on c.call_id = a.call_id
        where not c.is_internal
        group by 2, 3, 4`,
    },
    [date, from, to],
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

async function rebuildAgents(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_rollup',
      keys: ['local_date', 'user_id', 'direction', 'local_hour'],
      values: agentColumns,
      scope: 't.local_date = $1::date',
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
    [date, from, to],
  );
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

/** Adds the days of users up to the local month that a day, `2026-11-01`, lies in. */
export async function rebuildAgentMonth(tx: Transaction, date: string): Promise<void> {
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

/** Whether today's window of repeat callers began after the last rebuild, or one of these quarters of an hour lies in it. */
export async function areCallersStale(tx: Transaction, quarters: readonly Date[]): Promise<boolean> {
  const [row] = await query<{ is_stale: boolean }>(
    tx,
    `select callers_date is distinct from reporting.local_day(now())
       or exists (select from unnest($1::timestamptz[]) bucket_at where bucket_at >= reporting.day_start(reporting.local_day(now()) - 6)) as is_stale
     from ops.rollup_state`,
    [quarters],
  );
  return row?.is_stale ?? true;
}

/** Finds out again who called twice or more today and on the six local days before. */
export async function rebuildCallers(tx: Transaction): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'repeat_caller_rollup',
      keys: ['last_call_id'],
      values: ['inbound_count', 'answered_count', 'active_day_count', 'first_call_at', 'last_call_at'],
      scope: 'true',
      // Ids begin with the second of the call. Days are counted as bits, which takes no sort.
      fresh: `select max(c.call_id collate "C") as last_call_id, count(*) as inbound_count,
          count(*) filter (where c.status = 'answered') as answered_count,
          bit_count(bit_or(1 << greatest(0, p.today - (c.started_at at time zone p.time_zone)::date))::bit(8)) as active_day_count,
          min(c.started_at) as first_call_at, max(c.started_at) as last_call_at
        from (
          select time_zone, reporting.local_day(now()) as today, reporting.day_start(reporting.local_day(now()) - 6) as begins_at
          from reporting.params
        ) p
          join warehouse.calls c on c.started_at >= p.begins_at
        where c.direction = 'inbound' and c.is_internal is not true and c.external_number is not null and c.deleted_at is null
        group by c.external_number
        having count(*) >= 2`,
    },
    [],
  );
  await query(tx, 'update ops.rollup_state set callers_date = reporting.local_day(now())', []);
}
