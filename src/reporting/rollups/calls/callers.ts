import { query, type Transaction } from '../../../warehouse/database.ts';
import { replaceRows } from '../replace.ts';

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
