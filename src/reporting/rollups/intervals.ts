import { query, type Transaction } from '../../warehouse/database.ts';
import { countColumns, countExpressions, knownDirection } from './counts.ts';

/** Rebuilds quarters of an hour of `reporting.call_interval_rollup`. */
export async function rebuildIntervals(tx: Transaction, quarters: readonly Date[]): Promise<void> {
  if (quarters.length === 0) return;
  await query(tx, 'delete from reporting.call_interval_rollup where bucket_at = any($1)', [quarters]);
  await query(
    tx,
    `insert into reporting.call_interval_rollup (bucket_at, direction, is_internal, local_date, local_hour, ${countColumns})
     select q.bucket_at, ${knownDirection}, c.is_internal, min(c.local_date), min(c.local_hour), ${countExpressions}
     from unnest($1::timestamptz[]) as q (bucket_at)
       join reporting.fct_call c on c.started_at >= q.bucket_at and c.started_at < q.bucket_at + interval '15 minutes'
     group by 1, 2, 3`,
    [quarters],
  );
}
