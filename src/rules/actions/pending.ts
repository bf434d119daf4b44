import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import type { Assignee } from '../rule.ts';
import type { Trigger } from '../triggers.ts';

/*
 * An action's life (ops.rule_actions):
 *
 *   matched, live ─▶ waiting ──claimed──▶ begun ──▶ done, failed, skipped
 *                      ▲  ▲                 │  └──▶ unclear: it may have happened, and twice would be wrong
 *                      │  └── try later ────┘
 *                      └── a crash ends the claim
 *   matched, dry-run ─▶ dry_run                         a reply waits for its send in the ledger, whatever the mode
 *
 * A note would stand twice, so a request that carries one is marked (begun_at) before it leaves. The mark goes only with
 * proof that nothing came of that request: through crashes, failed looks and later turns, it says that the note may stand.
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
  readonly trigger: Pick<Trigger, 'kind' | 'key'>;
  readonly argument: Argument;
  /** Requests that have left for it. */
  readonly tries: number;
  /** A request with its note has left before, and nothing proves that it came to nothing. */
  readonly wasBegun: boolean;
  /** Milliseconds since its turn came: since the match, or since the rule's own reply was settled. */
  readonly waitedMs: number;
  /** Until when it is this process's own, as Postgres wrote it: whoever takes it next has another. */
  readonly claim: string;
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

/** Of a claim's time, a look before the request may take this much. */
export const lookSeconds = 30;

/**
 * Longer than a request takes, repeated in place and all. One that outlasts its claim is followed by another: with a note it
 * has left its mark, and anything else can be repeated.
 */
const requestSeconds = 45;

const claimSeconds = lookSeconds + requestSeconds + 15;

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
       update ops.rule_actions a set claimed_until = now() + interval '${claimSeconds} seconds'
       from turn where a.run_id = turn.run_id and a.ordinal = turn.ordinal
       returning a.*
     )
     select c.run_id as "runId", c.ordinal, c.kind, r.rule, r.line, r.number, r.conversation_id as "conversationId",
       r.trigger_at as "triggerAt", jsonb_build_object('kind', r.trigger_kind, 'key', r.trigger_key) as trigger, coalesce(c.argument, '{}') as argument, c.tries, c.begun_at is not null as "wasBegun",
       extract(epoch from now() - greatest(r.evaluated_at, reply.settled_at))::float8 * 1000 as "waitedMs", c.claimed_until::text as claim,
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
  | {
      readonly state: 'later';
      readonly afterMs: number;
      readonly reason: string;
      /** Requests that have left for it, those of this turn included. */
      readonly tries: number;
      /** Whether its note may stand, from this turn or an earlier one. */
      readonly isBegun: boolean;
    };

/**
 * Commits that a request leaves now, and marks one that carries a note. False when the action has ended meanwhile, or the
 * claim has, or will within the time of a request: then nothing may leave, since another process may be at it.
 */
export async function beginAction(
  db: Database,
  { runId, ordinal, claim }: Pick<Pending, 'runId' | 'ordinal' | 'claim'>,
  hasNote: boolean,
): Promise<boolean> {
  const begun = await query(
    db,
    `update ops.rule_actions set tries = tries + 1, begun_at = case when $4 then clock_timestamp() else begun_at end
     where run_id = $1 and ordinal = $2 and state = 'waiting' and claimed_until = $3::timestamptz
       and claimed_until > clock_timestamp() + interval '${requestSeconds} seconds' and not ($4 and begun_at is not null)
     returning 1`,
    [runId, ordinal, claim, hasNote],
  );
  return begun.length > 0;
}

/**
 * Records how a turn ended. What was done is done, whoever did it; anything else counts only while no other process has
 * claimed the action since. What was to be said is kept no longer than it is needed.
 */
export async function settleAction(
  tx: Database | Transaction,
  { runId, ordinal, claim }: Pick<Pending, 'runId' | 'ordinal' | 'claim'>,
  outcome: Outcome,
): Promise<void> {
  if (outcome.state === 'later') {
    const { afterMs, reason, tries, isBegun } = outcome;
    await query(
      tx,
      `update ops.rule_actions set due_at = now() + $4 * interval '1 ms', claimed_until = '-infinity', reason = $5, tries = $6,
         begun_at = case when $7 then begun_at end
       where run_id = $1 and ordinal = $2 and state = 'waiting' and claimed_until = $3::timestamptz`,
      [runId, ordinal, claim, afterMs, reason, tries, isBegun],
    );
    return;
  }
  await query(
    tx,
    `update ops.rule_actions set state = $4, reason = coalesce($5, reason), settled_at = now(), argument = null
     where run_id = $1 and ordinal = $2 and state = 'waiting' and (claimed_until = $3::timestamptz or $4 = 'done')`,
    [runId, ordinal, claim, outcome.state, outcome.reason ?? null],
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
