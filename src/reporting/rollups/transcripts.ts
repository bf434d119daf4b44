import type { Transaction } from '../../db/database.ts';
import { replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

/** Determines again who took part in the transcripts of calls that began in a span, and copies their scores. */
export async function rebuildTranscripts(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  const within = (moment: string) => `${moment} >= $1 and ${moment} < $2`;
  await replaceRows(
    tx,
    {
      table: 'transcript_agents',
      scope: within('t.call_started_at'),
      fresh: `select x.transcript_id, x.call_id, c.started_at as call_started_at, reporting.local_day(c.started_at) as local_date,
          case when count(distinct e.user_id) = 1 then min(e.user_id) end as agent_user_id, x.call_purpose, x.call_sentiment,
          x.csat_score, x.agent_performance_score, x.is_action_required, x.is_urgent_action_required
        from warehouse.calls c
          join warehouse.transcripts x on x.call_id = c.call_id
          left join warehouse.call_legs l on l.call_id = x.call_id and l.leg_key = x.leg_unique_id and l.deleted_at is null
          left join warehouse.user_endpoints e
            on e.endpoint = case when l.called_type = 'user' then l.called_number when l.caller_type = 'user' then l.caller_number end
              and e.kind in ('extension', 'dial_extension', 'sip_line') and e.valid_from <= c.started_at and c.started_at < e.valid_to
        where ${within('c.started_at')} and c.deleted_at is null and x.deleted_at is null
        group by x.transcript_id, c.started_at`,
    },
    [from, to],
  );
}

/** Lists again the calls of one local day that need a follow-up. A call that moved here takes its item along. */
export async function rebuildActionDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await replaceRows(
    tx,
    {
      table: 'action_items',
      scope: 't.local_date = $1::date',
      fresh: `select t.call_id, min(t.call_started_at) as call_started_at, $1::date as local_date,
          array_agg(t.transcript_id order by t.is_urgent_action_required is not true, t.transcript_id) as transcript_ids,
          coalesce(bool_or(t.is_urgent_action_required), false) as is_urgent
        from rollups.transcript_agents t
        where t.call_started_at >= $2 and t.call_started_at < $3 and (t.is_action_required or t.is_urgent_action_required)
        group by t.call_id`,
    },
    [date, from, to],
  );
}
