import { query, type Transaction } from '../../db/database.ts';
import { replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

/** Finds out again whose the transcripts are of the calls that began in a span. */
export async function rebuildTranscriptAgents(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  const within = (moment: string) => `${moment} >= $1 and ${moment} < $2`;
  await replaceRows(
    tx,
    {
      table: 'transcript_agents',
      keys: ['transcript_id'],
      values: ['call_id', 'call_started_at', 'agent_user_id'],
      scope: within('t.call_started_at'),
      fresh: `select x.transcript_id, x.call_id, c.started_at as call_started_at,
          case when count(distinct e.user_id) = 1 then min(e.user_id) end as agent_user_id
        from warehouse.calls c
          join warehouse.transcripts x on x.call_id = c.call_id
          left join warehouse.call_legs l on l.call_id = x.call_id and l.leg_key = x.leg_unique_id and l.deleted_at is null
          left join warehouse.user_endpoints e
            on e.endpoint = case when l.called_type = 'user' then l.called_number when l.caller_type = 'user' then l.caller_number end
              and e.kind in ('extension', 'dial_extension', 'sip_line') and e.valid_from <= c.started_at and c.started_at < e.valid_to
        where ${within('c.started_at')} and c.deleted_at is null and x.deleted_at is null
        group by x.transcript_id, x.call_id, c.started_at`,
    },
    [from, to],
  );
}

// Where the user is known, what the analysis heard would only split the agent's row.
const agent = `t.agent_user_id, case when t.agent_user_id is null then t.heard_agent_name end`;

/** Rebuilds what the transcripts of one local day's calls say. */
export async function rebuildQualityDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  for (const rollup of ['quality_rollup', 'sentiment_rollup', 'kpi_rollup', 'action_items']) {
    await query(tx, `delete from rollups.${rollup} where local_date = $1`, [date]);
  }
  const within = 't.call_started_at >= $2 and t.call_started_at < $3';
  await query(
    tx,
    `insert into rollups.quality_rollup (local_date, agent_user_id, heard_name, call_purpose, transcript_count,
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
    `insert into rollups.sentiment_rollup (local_date, agent_user_id, heard_name, call_sentiment, transcript_count)
     select $1::date, ${agent}, t.call_sentiment, count(*)
     from reporting.fct_transcript t where ${within} and t.call_sentiment <> '' group by 2, 3, 4`,
    [date, from, to],
  );
  await query(
    tx,
    `insert into rollups.kpi_rollup (local_date, agent_user_id, heard_name, kpi_name, transcript_count, score_count, score_sum)
     select $1::date, ${agent}, left(t.kpi_name, 200), count(*), count(t.kpi_value), coalesce(sum(t.kpi_value), 0)
     from reporting.kpi_scores t where ${within} group by 2, 3, 4`,
    [date, from, to],
  );
  // A call that moved to another day may have left its item there.
  await query(
    tx,
    `insert into rollups.action_items (call_id, call_started_at, local_date, transcript_ids, is_urgent)
     select t.call_id, min(t.call_started_at), $1::date,
       array_agg(t.transcript_id order by t.is_urgent_action_required is not true, t.transcript_id),
       coalesce(bool_or(t.is_urgent_action_required), false)
     from reporting.fct_transcript t where ${within} and (t.is_action_required or t.is_urgent_action_required)
     group by t.call_id
     on conflict (call_id) do update set call_started_at = excluded.call_started_at, local_date = excluded.local_date,
       transcript_ids = excluded.transcript_ids, is_urgent = excluded.is_urgent`,
    [date, from, to],
  );
}
