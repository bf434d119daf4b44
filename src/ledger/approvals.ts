import { type Database, inTransaction, query, sql, type Transaction } from '../db/database.ts';
import { defaultRuleLimits } from './limits.ts';
import { type Send, transition } from './send.ts';

/*
 * Texts of rules with `approve` wait for a person (AWAITING_APPROVAL). Nothing is reserved for them. An approval covers
 * what the person has seen: the text, and the newest text of the other party. It makes the send PLANNED, so that every
 * gate judges it again.
 */

/** Whether a person has to approve the text before it may leave. */
export function needsApproval({ limits, approvedAt }: Pick<Send, 'limits' | 'approvedAt'>): boolean {
  return limits.approval !== undefined && approvedAt === null;
}

/** How often the gates judge a waiting send: nobody should be asked about a send that can't leave any more. */
const judgedEveryMs = 60_000;

/** Lets a send wait for a person, after all gates let it pass. */
export async function awaitApproval(tx: Transaction, { sendId, state, limits }: Send): Promise<'awaiting'> {
  const expiresAt = sql`s.planned_at + ${limits.approval?.expiresSeconds ?? 0} * interval '1 second'`;
  if (state !== 'AWAITING_APPROVAL') {
    const set = { expires_at: expiresAt };
    await transition(tx, { sendId, from: [state], to: 'AWAITING_APPROVAL', dueInMs: judgedEveryMs, set });
    await tell(tx, sendId, limits.approval?.notify);
    return 'awaiting';
  }
  await query(
    tx,
    sql`update ops.sends s set expires_at = ${expiresAt}, enqueued_at = '-infinity',
        due_at = least(clock_timestamp() + ${judgedEveryMs} * interval '1 ms', ${expiresAt} + interval '1 ms')
      where send_id = ${sendId}`,
  );
  return 'awaiting';
}

/** Adds a step to the rule's run, to notify a target that the text waits for approval. */
async function tell(tx: Transaction, sendId: string, target: string | undefined): Promise<void> {
  if (target === undefined) return;
  await query(
    tx,
    sql`insert into ops.rule_actions (run_id, ordinal, kind, state, target, argument)
      select run_id, (select max(ordinal) + 1 from ops.rule_actions o where o.run_id = a.run_id), 'notify', 'waiting', ${target},
        jsonb_build_object('sendId', a.send_id, 'since', clock_timestamp())
      from ops.rule_actions a where a.send_id = ${sendId} and a.kind = 'reply'`,
  );
}

/** A text that waits for approval. */
export interface Proposal
  extends Pick<Send, 'sendId' | 'rule' | 'line' | 'number' | 'text' | 'plannedAt' | 'expiresAt'> {
  /** The text that it answers; null for a call, and if the text was removed. */
  readonly answers: string | null;
  /** Texts of the other party after that text. */
  readonly newerCount: number;
  /** Identifies what a person sees. Pass it to {@link approveSend}. */
  readonly seen: string;
}

/** SQL: `texts` of the other party in the thread of `ops.sends s`. */
const inboundTexts = sql`warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
  where c.line = s.line and c.number = s.number and c.participants_key = '' and m.direction = 'in' and m.deleted_at is null`;

/** SQL: changes with the text of `ops.sends s`, and with the newest text of the other party. */
const seenNow = sql`left(encode(sha256(convert_to(
  concat_ws('/', (select max(m.message_id) from ${inboundTexts}), s.body), 'UTF8')), 'hex'), 16)`;

/** Reads the waiting texts, those that expire first at the beginning. With an id, reads only that send. */
export function listProposals(db: Database | Transaction, limit: number, sendId?: string): Promise<Proposal[]> {
  const triggerId = sql`case when s.trigger_kind = 'message' then s.trigger_id::bigint end`;
  return query(
    db,
    sql<Proposal>`select s.send_id as "sendId", s.rule, s.line, s.number, s.body as text, s.planned_at as "plannedAt",
        s.expires_at as "expiresAt", ${seenNow} as seen,
        (select m.body from ${inboundTexts} and m.message_id = ${triggerId} limit 1) as answers,
        (select count(*)::integer from ${inboundTexts}
          and (m.sent_at, m.message_id) > (date_trunc('second', s.trigger_at), coalesce(${triggerId}, 0))) as "newerCount"
      from ops.sends s
      where s.state = 'AWAITING_APPROVAL' and s.expires_at > clock_timestamp() ${sendId === undefined ? sql`` : sql`and s.send_id = ${sendId}`}
      order by s.expires_at, s.send_id limit ${limit}`,
  );
}

/** `not_waiting`: it was decided, dropped or expired before. `changed`: it isn't what the person has seen. */
export type ApprovalResult = 'done' | 'not_waiting' | 'changed';

/**
 * Approves the text of a send, so that it leaves if the gates still let it pass. `seen` is from {@link listProposals};
 * `text` takes the place of what was seen.
 */
export function approveSend(
  db: Database,
  sendId: string,
  { by, seen, text }: { readonly by: string; readonly seen: string; readonly text?: string | undefined },
): Promise<ApprovalResult> {
  return inTransaction(db, async (tx) => {
    const [waiting] = await query(
      tx,
      sql<Pick<Send, 'limits' | 'text'> & { seen: string; isInTime: boolean }>`
        select s.limits, s.body as text, ${seenNow} as seen, s.expires_at > clock_timestamp() as "isInTime" from ops.sends s
        where s.send_id = ${sendId} and s.state = 'AWAITING_APPROVAL' for update of s`,
    );
    if (!waiting?.isInTime) return 'not_waiting';
    if (waiting.seen !== seen) return 'changed';
    const isEdited = text !== undefined && text !== waiting.text;
    const maxAgeSeconds = waiting.limits.maxAgeSeconds ?? defaultRuleLimits.maxAgeSeconds;
    await transition(tx, {
      sendId,
      from: ['AWAITING_APPROVAL'],
      to: 'PLANNED',
      reason: isEdited ? 'edited' : 'approved',
      actor: 'operator',
      by,
      dueInMs: 0,
      set: {
        ...(isEdited && { body: text }),
        approved_at: sql`clock_timestamp()`,
        // From now on it expires like a reply that was just planned.
        expires_at: sql`clock_timestamp() + ${maxAgeSeconds} * interval '1 second'`,
      },
    });
    return 'done';
  });
}
