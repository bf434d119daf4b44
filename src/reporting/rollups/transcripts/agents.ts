import type { Transaction } from '../../../warehouse/database.ts';
import { quarterMs } from '../day.ts';
import { replaceRows } from '../replace.ts';

/** Finds out again whose the transcripts are of the calls that began in quarters of an hour, best of one day. */
export async function rebuildTranscriptAgents(tx: Transaction, quarters: readonly Date[]): Promise<void> {
  const begins = quarters.map(Number);
  // Bounds that the planner can count behind: from a list of quarters it would expect most of the table.
  const within = (moment: string) =>
    `${moment} >= $2 and ${moment} < $3 and ops.quarter_of(${moment}) = any($1::timestamptz[])`;
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
    [quarters, new Date(Math.min(...begins)), new Date(Math.max(...begins) + quarterMs)],
  );
}
