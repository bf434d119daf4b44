import type { Transaction } from '../../../warehouse/database.ts';
import type { Day } from '../day.ts';
import { replaceRows } from '../replace.ts';
import { countExpressions, counted, knownDirection } from './counts.ts';

/** Rebuilds one local day of the rollups by number, queue and huntgroup, and by user. */
export async function rebuildCallDay(tx: Transaction, day: Day): Promise<void> {
  await rebuildEndpoints(tx, day);
  await rebuildAgents(tx, day);
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
      fresh: `select $1::date as local_date, 'number' as kind, coalesce(c.account_number, '') as endpoint,
          ${knownDirection} as direction, ${countExpressions}
        from reporting.fct_call c
        where c.started_at >= $2 and c.started_at < $3 and not c.is_internal
        group by 3, 4
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

async function rebuildAgents(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_rollup',
      keys: ['local_date', 'user_id', 'direction'],
      values: ['handled_count', 'rang_count', 'transferred_to_count', 'talk_seconds', 'talk_count'],
      scope: 't.local_date = $1::date',
      fresh: `select $1::date as local_date, user_id, direction, count(*) filter (where is_handled) as handled_count,
          count(*) filter (where is_rung and not is_handled) as rang_count,
          count(*) filter (where is_transferred) as transferred_to_count, coalesce(sum(talk_seconds), 0) as talk_seconds,
          count(talk_seconds) as talk_count
        from (
          select c.call_id, c.user_id, ${knownDirection} as direction,
            bool_or(c.role in ('answered', 'placed')) as is_handled, bool_or(c.role = 'rang') as is_rung,
            bool_or(c.role = 'transferred_to') as is_transferred,
            sum(c.talk_seconds) filter (where c.role in ('answered', 'placed')) as talk_seconds
          from reporting.fct_call_attribution c
          where c.started_at >= $2 and c.started_at < $3 and c.user_id is not null
          group by 1, 2, 3
        ) touched
        group by 2, 3`,
    },
    [date, from, to],
  );
}
