import { type Database, query, sql, type Transaction } from '../../db/database.ts';
import type { Assignee } from '../rule.ts';
import type { Trigger } from '../triggers.ts';

/*
 * The states of an action (ops.rule_actions):
 *
 *   matched, live ─▶ waiting ──claimed──▶ begun ──▶ done, failed, skipped
 *                      ▲  ▲                 │  └──▶ unclear: it may have happened, and twice would be wrong
 *                      │  └─ retry later ───┘
 *                      └── a crash ends the claim
 *   matched, dry-run ─▶ dry_run                         a reply waits for its send in the ledger, in either mode
 *
 * Repeating a request that carries a note would post the note twice. Such a request is marked (begun_at) before it leaves,
 * and the mark is cleared only when the note is known not to exist.
 */

/** An action claimed by this process. */
export interface ClaimedAction {
  readonly runId: string;
  readonly ordinal: number;
  readonly kind: 'resolve' | 'reopen' | 'assign' | 'comment' | 'block';
  readonly rule: string;
  readonly line: string;
  readonly number: string;
  readonly trigger: Pick<Trigger, 'kind' | 'key'>;
  readonly argument: {
    readonly text?: string;
    readonly comment?: string;
    readonly userId?: number;
    readonly to?: Assignee;
    readonly reason?: string;
  };
  /** Requests sent for it so far. */
  readonly tries: number;
  /** An earlier request carried the note, and the note may exist. */
  readonly wasBegun: boolean;
  /** Milliseconds since the match, or since the rule's own reply was settled. */
  readonly waitedMs: number;
  /** End of the claim, as Postgres wrote it. It identifies the claim. */
  readonly claim: string;
  /** State and reason of the rule's own reply, if it has one. */
  readonly replyState: string | null;
  readonly replyReason: string | null;
}

/** Seconds of a claim that reading the thread before a request may take. */
export const readSeconds = 30;

/** Longer than a request takes with all its retries. */
const requestSeconds = 45;

const claimSeconds = readSeconds + requestSeconds + 15;

/** Claims due actions. Those of one run follow each other, and a resolve waits until the rule's reply is settled. */
export async function claimActions(db: Database, limit: number): Promise<ClaimedAction[]> {
  return query<ClaimedAction>(
    db,
    sql`
      with due as (
        select a.run_id, a.ordinal from ops.rule_actions a
        where a.state = 'waiting' and a.kind <> 'reply' and a.due_at <= now() and a.claimed_until < now()
          and not exists (
            select from ops.rule_actions b where b.run_id = a.run_id and b.state = 'waiting'
              and case when b.kind = 'reply' then a.kind = 'resolve' else b.ordinal < a.ordinal end)
        order by a.due_at, a.run_id, a.ordinal limit ${limit} for update of a skip locked
      ), claimed as (
        update ops.rule_actions a set claimed_until = now() + ${claimSeconds} * interval '1 second'
        from due where a.run_id = due.run_id and a.ordinal = due.ordinal
        returning a.*
      )
      select c.run_id as "runId", c.ordinal, c.kind, r.rule, r.line, r.number,
        jsonb_build_object('kind', r.trigger_kind, 'key', r.trigger_key) as trigger,
        coalesce(c.argument, '{}') as argument, c.tries, c.begun_at is not null as "wasBegun",
        extract(epoch from now() - greatest(r.evaluated_at, reply.settled_at))::float8 * 1000 as "waitedMs",
        c.claimed_until::text as claim, reply.state as "replyState", reply.reason as "replyReason"
      from claimed c join ops.rule_runs r using (run_id)
      left join ops.rule_actions reply on reply.run_id = c.run_id and reply.kind = 'reply'
      order by c.run_id, c.ordinal`,
  );
}

/** How an attempt at an action ended. */
export type Outcome =
  | { readonly state: 'done' | 'failed' | 'skipped' | 'unclear'; readonly reason?: string }
  | {
      readonly state: 'later';
      readonly afterMs: number;
      readonly reason: string;
      /** Requests sent so far, including this attempt. */
      readonly tries: number;
      /** The note may exist, from this attempt or an earlier one. */
      readonly isBegun: boolean;
    };

type Claim = Pick<ClaimedAction, 'runId' | 'ordinal' | 'claim'>;

const isClaimed = ({ runId, ordinal, claim }: Claim) =>
  sql`run_id = ${runId} and ordinal = ${ordinal} and state = 'waiting' and claimed_until = ${claim}::timestamptz`;

/**
 * Records that a request leaves now, and whether it carries a note. False when the claim has expired or would expire during
 * the request: another process may then perform the action, so the request must not leave.
 */
export async function beginAction(db: Database, claim: Claim, hasNote: boolean): Promise<boolean> {
  const begun = await query(
    db,
    sql`
      update ops.rule_actions
      set tries = tries + 1, begun_at = case when ${hasNote} then clock_timestamp() else begun_at end
      where ${isClaimed(claim)} and claimed_until > clock_timestamp() + ${requestSeconds} * interval '1 second'
        and not (${hasNote} and begun_at is not null)
      returning 1`,
  );
  return begun.length > 0;
}

/**
 * Records how an attempt ended. `done` is recorded even after the claim was lost; anything else only while it is held. The
 * argument is deleted with the last attempt: it can quote what people wrote.
 */
export async function settleAction(tx: Database | Transaction, claim: Claim, outcome: Outcome): Promise<void> {
  if (outcome.state === 'later') {
    const { afterMs, reason, tries, isBegun } = outcome;
    await query(
      tx,
      sql`
        update ops.rule_actions set due_at = now() + ${afterMs} * interval '1 ms', claimed_until = '-infinity',
          reason = ${reason}, tries = ${tries}, begun_at = case when ${isBegun} then begun_at end
        where ${isClaimed(claim)}`,
    );
    return;
  }
  const { state, reason = null } = outcome;
  const isOurs =
    state === 'done'
      ? sql`run_id = ${claim.runId} and ordinal = ${claim.ordinal} and state = 'waiting'`
      : isClaimed(claim);
  await query(
    tx,
    sql`
      update ops.rule_actions set state = ${state}, reason = coalesce(${reason}, reason), settled_at = now(), argument = null
      where ${isOurs}`,
  );
}

/** Whether any action waits, be it for its time or for its send. */
export async function isAnyWaiting(db: Database): Promise<boolean> {
  const waiting = await query(db, sql`select from ops.rule_actions where state = 'waiting' limit 1`);
  return waiting.length > 0;
}

/** Settles replies whose sends the ledger has settled. A send that needs manual review or may still be found stays open. */
export async function settleReplies(db: Database): Promise<void> {
  await query(
    db,
    sql`
      update ops.rule_actions a set settled_at = now(), reason = concat_ws(' ', s.state, s.reason),
        state = case when s.state = 'SENT' then 'done'
          when s.state = 'DENIED' and s.reason = 'dry_run' then 'dry_run' else 'skipped' end
      from ops.sends s
      where a.kind = 'reply' and a.state = 'waiting' and s.send_id = a.send_id
        and s.state in ('SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED') and s.settled_at is not null`,
  );
}
