import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import type { Assignee } from '../rule.ts';

/*
 * An action's life (ops.rule_actions):
 *
 *   matched, live ─▶ waiting ──claimed──▶ asked ──▶ done, failed, skipped
 *                      ▲  ▲                 │  └──▶ unclear: it may have happened, and twice would be wrong
 *                      │  └── try later ────┘
 *                      └── a crash ends the claim; what must not be repeated was marked as begun before it left
 *   matched, dry-run ─▶ dry_run                         a reply waits for its send in the ledger, whatever the mode
 */

/** What the worker needs of an action that it has claimed. */
export interface Pending {
  readonly runId: string;
  readonly ordinal: number;
  readonly kind: 'resolve' | 'reopen' | 'assign' | 'comment' | 'block';
  readonly rule: string;
  readonly line: string;
  readonly number: string;
  readonly conversationId: string | null;
  readonly triggerAt: Date;
  readonly argument: Argument;
  readonly tries: number;
  /** A request may have left before, by a process that did not live to say so. */
  readonly wasBegun: boolean;
  /** How the rule's own reply ended, where it has one. */
  readonly replyState: string | null;
  readonly replyReason: string | null;
}

export interface Argument {
  readonly text?: string;
  readonly comment?: string;
  readonly userId?: number;
  readonly to?: Assignee;
  readonly reason?: string;
}

/** Longer than any call takes. */
const claimSeconds = 60;

/**
 * Takes actions whose turn it is: of a run one after the other, and a resolve only when the rule's reply is settled. The
 * steps of a run share a process at a time.
 */
export async function claimActions(db: Database, most: number): Promise<Pending[]> {
  return query<Pending>(
    db,
    `with turn as (
       select a.run_id, a.ordinal from ops.rule_actions a
       where a.state = 'waiting' and a.kind <> 'reply' and a.due_at <= now() and a.claimed_until < now()
         and not exists (
           select from ops.rule_actions b where b.run_id = a.run_id and b.state = 'waiting'
             and case when b.kind = 'reply' then a.kind = 'resolve' else b.ordinal < a.ordinal end)
       order by a.due_at, a.run_id, a.ordinal limit $1 for update of a skip locked
     ), claimed as (
       update ops.rule_actions a set claimed_until = now() + interval '${claimSeconds} seconds', tries = tries + 1
       from turn where a.run_id = turn.run_id and a.ordinal = turn.ordinal
       returning a.*
     )
     select c.run_id as "runId", c.ordinal, c.kind, r.rule, r.line, r.number, r.conversation_id as "conversationId",
       r.trigger_at as "triggerAt", coalesce(c.argument, '{}') as argument, c.tries, c.begun_at is not null as "wasBegun",
       reply.state as "replyState", reply.reason as "replyReason"
     from claimed c join ops.rule_runs r using (run_id)
     left join ops.rule_actions reply on reply.run_id = c.run_id and reply.kind = 'reply'
     order by c.run_id, c.ordinal`,
    [most],
  );
}

/** How an action's turn ended. */
export type Outcome =
  | { readonly state: 'done' | 'failed' | 'skipped' | 'unclear'; readonly reason?: string }
  | { readonly state: 'later'; readonly afterMs: number; readonly reason: string; readonly without?: 'comment' };

/**
 * Whether they wrote after what a run was about: the text that it judged, of a silence the last one before it, or else the
 * moment of the trigger. Texts of one second follow each other by their ids.
 */
export async function haveWrittenSince(db: Database, { runId }: Pick<Pending, 'runId'>): Promise<boolean> {
  const newer = await query(
    db,
    `select from ops.rule_runs r
     left join warehouse.sms_messages judged on r.trigger_kind in ('message_received', 'thread_idle')
       and judged.conversation_id = r.conversation_id and judged.message_id::text = split_part(r.trigger_key, '/', 2)
     join warehouse.sms_conversations c on c.line = r.line and c.number = r.number and c.participants_key = ''
     join warehouse.sms_messages m on m.conversation_id = c.conversation_id and m.direction = 'in' and m.deleted_at is null
       and m.is_scheduled is not true
       and (m.sent_at, m.message_id) > (coalesce(judged.sent_at, r.trigger_at), coalesce(judged.message_id, ${Number.MAX_SAFE_INTEGER}))
     where r.run_id = $1 limit 1`,
    [runId],
  );
  return newer.length > 0;
}

/** Commits that a request may leave now which must not be repeated. */
export async function beginAction(db: Database, { runId, ordinal }: Pick<Pending, 'runId' | 'ordinal'>): Promise<void> {
  await query(db, 'update ops.rule_actions set begun_at = clock_timestamp() where run_id = $1 and ordinal = $2', [
    runId,
    ordinal,
  ]);
}

/** Records how a turn ended. What was to be said is kept no longer than it is needed. */
export async function settleAction(
  tx: Database | Transaction,
  { runId, ordinal }: Pick<Pending, 'runId' | 'ordinal'>,
  outcome: Outcome,
): Promise<void> {
  if (outcome.state === 'later') {
    await query(
      tx,
      `update ops.rule_actions set due_at = now() + $3 * interval '1 ms', claimed_until = '-infinity', reason = $4, begun_at = null,
         argument = argument - $5::text
       where run_id = $1 and ordinal = $2 and state = 'waiting'`,
      [runId, ordinal, outcome.afterMs, outcome.reason, outcome.without ?? ''],
    );
    return;
  }
  await query(
    tx,
    `update ops.rule_actions set state = $3, reason = coalesce($4, reason), settled_at = now(), argument = null
     where run_id = $1 and ordinal = $2 and state = 'waiting'`,
    [runId, ordinal, outcome.state, outcome.reason ?? null],
  );
}

/**
 * Settles replies as the ledger did; answers with how many. What waits for the operator, or may still be found in the
 * thread, goes on waiting.
 */
export async function settleReplies(db: Database): Promise<number> {
  const rows = await query(
    db,
    `update ops.rule_actions a set settled_at = now(), reason = concat_ws(' ', s.state, s.reason),
       state = case when s.state = 'SENT' then 'done' when s.state = 'DENIED' and s.reason = 'dry_run' then 'dry_run' else 'skipped' end
     from ops.sends s
     where a.kind = 'reply' and a.state = 'waiting' and s.send_id = a.send_id
       and s.state in ('SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED') and s.settled_at is not null
     returning 1`,
    [],
  );
  return rows.length;
}
