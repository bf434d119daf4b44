import type { Transaction } from '../../../warehouse/database.ts';
import { replaceRows } from '../replace.ts';

const sums = ['handled_count', 'rang_count', 'transferred_to_count', 'talk_seconds', 'talk_count'];

/** Adds the days of users up to the local month that a day, `2026-11-01`, lies in. */
export async function rebuildAgentMonth(tx: Transaction, date: string): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_agent_month_rollup',
      keys: ['month_start_date', 'user_id', 'direction'],
      values: sums,
      scope: `t.month_start_date = date_trunc('month', $1::date::timestamp)::date`,
      fresh: `select date_trunc('month', $1::date::timestamp)::date as month_start_date, user_id, direction,
          ${sums.map((name) => `sum(${name})::bigint as ${name}`).join(', ')}
        from reporting.call_agent_rollup
        where local_date >= date_trunc('month', $1::date::timestamp)::date
          and local_date < (date_trunc('month', $1::date::timestamp) + interval '1 month')::date
        group by 2, 3`,
    },
    [date],
  );
}
