import type { Transaction } from '../../db/database.ts';
import { knownDirection, replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

/**
 * Rebuilds the visits to queues and huntgroups of calls that began in a span. The legs tell them: what follows
 * a leg to a queue, the telephones that only rang left out, is how that visit ended. Calls whose legs show no queue have one
 * visit for each queue that they are otherwise known to have entered, with the outcome and the wait of the call if it is one.
 */
export async function rebuildVisits(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'queue_visits',
      keys: ['call_id', 'visit_number'],
      values: [
        ...['started_at', 'local_date', 'local_hour', 'is_business_hours', 'direction', 'account_number'],
        ...['kind', 'endpoint', 'entered_at', 'outcome', 'wait_seconds', 'wait_basis', 'next_queue'],
      ],
      scope: 't.started_at >= $1 and t.started_at < $2',
      fresh: visits,
    },
    [from, to],
  );
}

// Each step carries the columns of the call along: the planner expects few calls, and would join them by comparing each with all.
const visits = `
  with calls as materialized (
    select c.call_id, c.started_at, c.local_date, c.local_hour, c.is_business_hours, ${knownDirection} as direction, c.account_number,
      c.outcome as call_outcome, c.wait_seconds as call_wait_seconds, c.wait_basis as call_wait_basis, c.ended_at as call_ended_at, c.leg_count,
      c.has_legs, c.called_type, left(coalesce(nullif(c.called_number, ''), c.called_name), 200) as called_endpoint
    from reporting.fct_call c
    where c.started_at >= $1 and c.started_at < $2 and not c.is_internal
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
  select call_id, visit_number, started_at, local_date, local_hour, is_business_hours, direction, account_number, kind, endpoint,
    leg_at as entered_at, outcome, wait_seconds, case when wait_seconds is null then 'unknown' else 'legs' end as wait_basis,
    case when outcome = 'overflowed' then next_queue end as next_queue
  from told
  union all
  select call_id, visit_number, started_at, local_date, local_hour, is_business_hours, direction, account_number, kind, endpoint,
    null, case when is_only then call_outcome else 'unknown' end, case when is_only then call_wait_seconds end,
    case when is_only then call_wait_basis else 'unknown' end, null
  from untold`;
