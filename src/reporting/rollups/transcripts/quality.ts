import { query, type Transaction } from '../../../warehouse/database.ts';
import type { Day } from '../day.ts';

// Where the user is known, what the analysis heard would only split the agent's row.
const agent = `t.agent_user_id, case when t.agent_user_id is null then t.agent_name end`;

/** Rebuilds what the transcripts of one local day's calls say. */
export async function rebuildQualityDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  for (const rollup of ['quality_rollup', 'sentiment_rollup', 'kpi_rollup', 'action_items']) {
    await query(tx, `delete from reporting.${rollup} where local_date = $1`, [date]);
  }
  const within = 't.call_started_at >= $2 and t.call_started_at < $3';
  await query(
    tx,
    `insert into reporting.quality_rollup (local_date, agent_user_id, heard_name, call_purpose, transcript_count,
       csat_count, csat_sum, performance_count, performance_sum, analysed_action_count, action_count, urgent_action_count,
       talk_share_count, talk_share_sum, unpaired_count)
     select $1::date, ${agent}, t.call_purpose, count(*),
       count(t.csat_score), coalesce(sum(t.csat_score), 0),
       count(t.agent_performance_score), coalesce(sum(t.agent_performance_score), 0),
       count(t.is_action_required), count(*) filter (where t.is_action_required),
       count(*) filter (where t.is_urgent_action_required),
       count(t.agent_talk_share), coalesce(sum(t.agent_talk_share order by t.transcript_id), 0), count(*) filter (where t.leg_unique_id is null)
     from reporting.fct_transcript t where ${within} group by 2, 3, 4`,
    [date, from, to],
  );
  await query(
    tx,
    `insert into reporting.sentiment_rollup (local_date, agent_user_id, heard_name, call_sentiment, transcript_count)
     select $1::date, ${agent}, t.call_sentiment, count(*)
     from reporting.fct_transcript t where ${within} and t.call_sentiment <> '' group by 2, 3, 4`,
    [date, from, to],
  );
  await query(
    tx,
    `insert into reporting.kpi_rollup (local_date, agent_user_id, heard_name, kpi_name, transcript_count, score_count, score_sum)
     select $1::date, ${agent}, t.kpi_name, count(*), count(t.kpi_value), coalesce(sum(t.kpi_value), 0)
     from reporting.kpi_scores t where ${within} group by 2, 3, 4`,
    [date, from, to],
  );
  // A call that moved to another day may have left its item there.
  await query(
    tx,
    `insert into reporting.action_items (transcript_id, call_id, call_started_at, local_date, is_urgent)
     select t.transcript_id, t.call_id, t.call_started_at, $1::date, coalesce(t.is_urgent_action_required, false)
     from reporting.fct_transcript t where ${within} and (t.is_action_required or t.is_urgent_action_required)
     on conflict (transcript_id) do update set call_id = excluded.call_id, call_started_at = excluded.call_started_at,
       local_date = excluded.local_date, is_urgent = excluded.is_urgent`,
    [date, from, to],
  );
}
