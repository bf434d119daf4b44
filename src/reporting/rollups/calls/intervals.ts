import { query, type Transaction } from '../../../warehouse/database.ts';
import type { Day } from '../day.ts';
import { replaceRows } from '../replace.ts';
import { countColumns, countExpressions, counted, knownDirection, sumExpressions } from './counts.ts';

/** Rebuilds quarters of an hour of `reporting.call_interval_rollup`. */
export async function rebuildIntervals(tx: Transaction, quarters: readonly Date[]): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'call_interval_rollup',
      keys: ['bucket_at', 'direction', 'is_internal'],
      values: ['local_date', 'local_hour', ...counted],
      scope: 't.bucket_at = any($1::timestamptz[])',
      fresh: `select q.bucket_at, ${knownDirection} as direction, c.is_internal, min(c.local_date) as local_date,
          min(c.local_hour) as local_hour, ${countExpressions}
        from unnest($1::timestamptz[]) as q (bucket_at)
          join reporting.fct_call c on c.started_at >= q.bucket_at and c.started_at < q.bucket_at + interval '15 minutes'
        group by 1, 2, 3`,
    },
    [quarters],
  );
}

/** Adds the quarters of one local day up to hours. */
export async function rebuildHours(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from reporting.call_hour_rollup where local_date = $1', [date]);
  await query(
    tx,
    `insert into reporting.call_hour_rollup (local_date, local_hour, direction, is_internal, ${countColumns})
     select $1::date, local_hour, direction, is_internal, ${sumExpressions}
     from reporting.call_interval_rollup where bucket_at >= $2 and bucket_at < $3 group by 2, 3, 4`,
    [date, from, to],
  );
}
