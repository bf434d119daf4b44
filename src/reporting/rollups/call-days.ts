import { query, type Transaction } from '../../warehouse/database.ts';
import { countColumns, countExpressions, knownDirection } from './counts.ts';
import type { Day } from './day.ts';

/** Rebuilds one local day of the rollups by number, queue and huntgroup, and by user. */
export async function rebuildCallDay(tx: Transaction, day: Day): Promise<void> {
  await rebuildEndpoints(tx, day);
  await rebuildAgents(tx, day);
}

async function rebuildEndpoints(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from reporting.call_endpoint_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into reporting.call_endpoint_rollup (local_date, kind, endpoint, direction, ${countColumns})
     select $1::date, 'number', coalesce(c.account_number, ''), ${knownDirection}, ${countExpressions}
     from reporting.fct_call c
     where c.started_at >= $2 and c.started_at < $3 and not c.is_internal
     group by 3, 4`,
    [date, from, to],
  );
  // Legs and a search can name the same queue.
  await query(
    tx,
    `insert into reporting.call_endpoint_rollup (local_date, kind, endpoint, direction, ${countColumns})
     select $1::date, a.kind, a.endpoint, ${knownDirection}, ${countExpressions}
     from (
       select distinct call_id, kind, endpoint from reporting.fct_call_attribution
       where started_at >= $2 and started_at < $3 and kind in ('queue', 'huntgroup') and role = 'entered'
     ) a
       join reporting.fct_call c on c.call_id = a.call_id and c.started_at >= $2 and c.started_at < $3
     where not c.is_internal
     group by 2, 3, 4`,
    [date, from, to],
  );
}

async function rebuildAgents(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from reporting.call_agent_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into reporting.call_agent_rollup
       (local_date, user_id, direction, handled_count, rang_count, transferred_to_count, talk_seconds)
     select $1::date, user_id, direction, count(*) filter (where is_handled), count(*) filter (where is_rung and not is_handled),
       count(*) filter (where is_transferred), coalesce(sum(talk_seconds), 0)
     from (
       select a.call_id, a.user_id, ${knownDirection} as direction,
         bool_or(a.role in ('answered', 'placed')) as is_handled, bool_or(a.role = 'rang') as is_rung,
         bool_or(a.role = 'transferred_to') as is_transferred,
         sum(a.talk_seconds) filter (where a.role in ('answered', 'placed')) as talk_seconds
       from reporting.fct_call_attribution a
         join reporting.fct_call c on c.call_id = a.call_id and c.started_at >= $2 and c.started_at < $3
       where a.started_at >= $2 and a.started_at < $3 and a.user_id is not null
       group by 1, 2, 3
     ) touched
     group by 2, 3`,
    [date, from, to],
  );
}
