import { query, type Transaction } from '../../warehouse/database.ts';

/** What each word of a tally adds to; a reply that waits for the ledger adds nothing. */
const columnOf: Readonly<Record<string, readonly string[]>> = {
  matched_count: ['matched'],
  condition_false_count: ['condition_false'],
  too_old_count: ['too_old'],
  limited_count: ['limit'],
  stopped_count: ['stopped'],
  unfit_count: ['group_thread', 'no_other_party', 'gone'],
  error_count: ['error'],
  action_done_count: ['action_done'],
  action_would_count: ['action_dry_run'],
  action_skipped_count: ['action_skipped'],
  action_failed_count: ['action_failed'],
  action_unclear_count: ['action_unclear'],
};

const tallied = ['evaluation_count', ...Object.keys(columnOf), 'reply_unplanned_count'];
const added = [
  `coalesce(sum(change) filter (where word !~ '^(action|reply)_'), 0)`,
  ...Object.values(columnOf).map(
    (words) => `coalesce(sum(change) filter (where word in (${words.map((word) => `'${word}'`).join(', ')})), 0)`,
  ),
  `coalesce(sum(change) filter (where word = 'reply_skipped'), 0)`,
];

/** Adds up to so many tallies to their days; answers with how many these were. */
export async function addTallies(tx: Transaction, most: number): Promise<number> {
  const [row] = await query<{ taken: number }>(
    tx,
    `with taken as (
       delete from ops.rule_tallies where tally_id in (select tally_id from ops.rule_tallies order by tally_id limit $1)
       returning reporting.local_day(happened_at) as local_date, version, mode, word, rules, change
     ), added as (
       insert into reporting.rule_outcome_rollup as r (local_date, rule, version, mode, ${tallied.join(', ')})
       select local_date, rule, version, mode, ${added.join(', ')}
       from taken cross join unnest(rules) rule group by 1, 2, 3, 4
       on conflict (local_date, rule, version, mode) do update set
         ${tallied.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}
     )
     select count(*)::integer as taken from taken`,
    [most],
  );
  return row?.taken ?? 0;
}
