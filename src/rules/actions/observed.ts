import type { BlockedSender } from '../../service/entities/blocked-sender.ts';
import type { ConversationState } from '../../service/entities/conversation.ts';
import { query, type Transaction } from '../../warehouse/database.ts';

/** What an answer to one of our own calls showed of a conversation. */
export interface Observed {
  readonly line: string;
  readonly number: string;
  readonly axis: 'resolved' | 'assigned' | 'comment';
  readonly state: ConversationState;
  /** On the axis assigned: to whom, null for nobody. */
  readonly assignedTo?: number | null;
  readonly actor: string;
  readonly via: string;
  readonly runId: string;
}

/**
 * Writes down what an answer showed: the API cannot be asked for this state, so our own calls' answers are all there is
 * (section 2.5). Every answer shows whether the conversation is resolved, whatever was asked.
 */
export async function recordState(tx: Transaction, observed: Observed): Promise<void> {
  const { line, number, axis, state, assignedTo, actor, via, runId } = observed;
  const [conversation] = await query<{ conversation_id: string }>(
    tx,
    `insert into warehouse.sms_conversations as c (line, number, discovered_via, is_resolved, resolved_by, resolved_at,
       resolved_observed_at, resolved_observed_via, assigned_user_id, is_assignment_known, assigned_observed_at, assigned_observed_via)
     values ($1, $2, 'rule', $3, $4, $5, now(), $6, $7, $8, case when $8 then now() end, case when $8 then $6 end)
     on conflict (line, number, participants_key) do update set
       is_resolved = coalesce(excluded.is_resolved, c.is_resolved),
       resolved_by = case when excluded.is_resolved is null then c.resolved_by else excluded.resolved_by end,
       resolved_at = case when excluded.is_resolved is null then c.resolved_at else excluded.resolved_at end,
       resolved_observed_at = case when excluded.is_resolved is null then c.resolved_observed_at else excluded.resolved_observed_at end,
       resolved_observed_via = case when excluded.is_resolved is null then c.resolved_observed_via else excluded.resolved_observed_via end,
       assigned_user_id = case when $8 then excluded.assigned_user_id else c.assigned_user_id end,
       is_assignment_known = c.is_assignment_known or $8,
       assigned_observed_at = coalesce(excluded.assigned_observed_at, c.assigned_observed_at),
       assigned_observed_via = coalesce(excluded.assigned_observed_via, c.assigned_observed_via)
     returning conversation_id`,
    [
      line,
      number,
      state.resolved ?? null,
      state.resolvedBy ?? null,
      state.resolvedAt ?? null,
      via,
      assignedTo ?? null,
      axis === 'assigned',
    ],
  );
  await query(
    tx,
    `insert into warehouse.sms_conversation_events (conversation_id, axis, is_resolved, user_id, resolved_at, actor, observed_via, run_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      conversation?.conversation_id,
      axis,
      state.resolved ?? null,
      axis === 'assigned' ? (assignedTo ?? null) : (state.resolvedBy ?? null),
      state.resolvedAt ?? null,
      `rule ${actor}`,
      via,
      runId,
    ],
  );
}

/** Writes down a block that an answer confirmed. */
export async function recordBlock(
  tx: Transaction,
  pair: { readonly line: string; readonly number: string },
  { reason, blockedAt }: BlockedSender,
): Promise<void> {
  await query(
    tx,
    `insert into warehouse.blocked_senders (line, number, reason, blocked_at, observed_via)
     values ($1, $2, $3, $4, 'lines.block')
     on conflict (line, number) do update set reason = excluded.reason, blocked_at = excluded.blocked_at,
       observed_at = excluded.observed_at, observed_via = excluded.observed_via`,
    [pair.line, pair.number, reason ?? null, blockedAt ?? null],
  );
}
