import { query, type Transaction } from '../../db/database.ts';
import { replaceRows } from './parts.ts';
import type { Day, Span } from './steps.ts';

/** What a transcript states as a score or a word. */
const scores = [
  ...['call_purpose', 'call_sentiment', 'csat_score', 'agent_performance_score'],
  ...['is_action_required', 'is_urgent_action_required'],
];

/** Determines again who took part in the transcripts of calls that began in a span, and copies their scores. */
export async function rebuildTranscripts(tx: Transaction, _: Day, { from, to }: Span): Promise<void> {
  const within = (moment: string) => `${moment} >= $1 and ${moment} < $2`;
  await replaceRows(
    tx,
    {
      table: 'transcript_agents',
      keys: ['transcript_id'],
      values: ['call_id', 'call_started_at', 'local_date', 'agent_user_id', ...scores],
      scope: within('t.call_started_at'),
      fresh: `select x.transcript_id, x.call_id, c.started_at as call_started_at, reporting.local_day(c.started_at) as local_date,
          case when count(distinct e.user_id) = 1 then min(e.user_id) end as agent_user_id, ${scores.map((each) => `x.${each}`).join(', ')}
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

/** Lists again the calls of one local day that need a follow-up. */
export async function rebuildActionDay(tx: Transaction, { date, from, to }: Day): Promise<void> {
  await query(tx, 'delete from rollups.action_items where local_date = $1', [date]);
  // A call that moved to another day may have left its item on this one.
  await query(
    tx,
    `insert into rollups.action_items (call_id, call_started_at, local_date, transcript_ids, is_urgent)
     select t.call_id, min(t.call_started_at), $1::date,
       array_agg(t.transcript_id order by t.is_urgent_action_required is not true, t.transcript_id),
       coalesce(bool_or(t.is_urgent_action_required), false)
     from rollups.transcript_agents t
     where t.call_started_at >= $2 and t.call_started_at < $3 and (t.is_action_required or t.is_urgent_action_required)
     group by t.call_id
     on conflict (call_id) do update set call_started_at = excluded.call_started_at, local_date = excluded.local_date,
       transcript_ids = excluded.transcript_ids, is_urgent = excluded.is_urgent`,
    [date, from, to],
  );
}
