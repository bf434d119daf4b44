import { query, type Transaction } from '../../../warehouse/database.ts';
import type { Day } from '../day.ts';

/** Counts how the missed calls of one local day were returned, by number. */
export async function rebuildCallbackDay(tx: Transaction, { date }: Day): Promise<void> {
  await query(tx, 'delete from reporting.callback_rollup where local_date = $1', [date]);
  const returned = (way: string) => `count(*) filter (where returned_by = '${way}')`;
  await query(
    tx,
    `insert into reporting.callback_rollup (local_date, account_number, missed_count, voicemail_count, short_abandoned_count,
       called_back_count, outbound_call_count, caller_got_through_count, text_count, return_time_count, minutes_to_return_p50)
     select $1::date, account_number, count(*), count(*) filter (where outcome = 'voicemail'),
       count(*) filter (where outcome = 'short_abandoned'), ${returned('called_back')}, ${returned('outbound_call')},
       ${returned('caller_got_through')}, ${returned('text')}, count(return_seconds),
       round((percentile_cont(0.5) within group (order by return_seconds) / 60)::numeric, 1)
     from reporting.missed_call_returns where local_date = $1 group by account_number`,
    [date],
  );
}
