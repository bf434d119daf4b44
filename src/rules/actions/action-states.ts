import { type Database, inTransaction, query, relation, sql, type Transaction } from '../../db/database.ts';
import { maxReplyOrderSeconds } from '../../ledger/gates/inputs.ts';
import type { Pair } from '../../shared/thread.ts';
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
  readonly kind: 'resolve' | 'reopen' | 'assign' | 'comment' | 'notify' | 'webhook';
  readonly rule: string;
  readonly line: string;
  readonly number: string;
  readonly trigger: Pick<Trigger, 'kind' | 'key' | 'afterSeconds'>;
  readonly triggerAt: Date;
  /** The target to tell: a name in NOTIFY_TARGETS. */
  readonly target: string | null;
  readonly argument: {
    readonly text?: string;
    readonly comment?: string;
    readonly to?: Assignee;
    /** For a `webhook`: the facts to send. */
    readonly facts?: object;
    /** For a `notify` that asks for an approval: the send that waits. */
    readonly sendId?: string;
  };
  /** Requests sent for it so far. */
  readonly tries: number;
  /** An earlier request carried the note, and the note may exist. */
  readonly wasBegun: boolean;
  /**
   * Milliseconds since the match; for a step that awaits an approval, a retry or the rule's reply, since that moment.
   */
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

/**
 * For so many seconds, a step that is retried holds back the later steps of its thread. After that, later steps may
 * overtake it. It's then skipped if one of them decided the same thing (`overtakenBy`).
 */
const maxOrderSeconds = 600;

/**
 * SQL: the steps that may be claimed now, at most one per thread, and only of `threads` if given. Steps of a thread run
 * in the order of their triggers and of the file. Only a resolve waits for its own reply without limit. Other steps
 * wait for a reply that is about to leave, for at most `maxReplyOrderSeconds`. `head_run` and `head_ordinal` are the
 * first waiting step of the thread. Uses window functions, because a self-join would be quadratic in a backlog.
 */
const claimable = (performer: Performer, limit: number, threads?: readonly Pair[]) => sql`
  with waiting as (
    select a.run_id, a.ordinal, a.kind, a.target, a.due_at, a.tries, r.line, r.number, r.trigger_kind, r.trigger_key, r.evaluated_at,
      a.claimed_until > now() as is_claimed,
      a.kind = 'reply' and r.evaluated_at > now() - ${maxReplyOrderSeconds} * interval '1 second' and not k.is_paused
        and (s.state in ('PLANNED', 'RESERVED', 'DISPATCHED') or s.state = 'HELD' and s.reason is distinct from 'gate:quiet_hours') as is_leaving
    from ops.rule_actions a join ops.rule_runs r using (run_id) left join ops.sends s on s.send_id = a.send_id cross join ops.send_control k
    where a.state = 'waiting' ${threads ? sql`and (r.line, r.number) in (select line, number from ${relation('t', threads, { line: 'text', number: 'text' })})` : sql``}
  ), runs as (
    select w.*, kind = 'resolve' and bool_or(kind = 'reply') over (partition by run_id) as awaits_reply,
      bool_or(is_leaving) over (partition by run_id) as is_reply_leaving
    from waiting w
  ), steps as (
    select r.*, case when kind = 'reply' or awaits_reply then is_reply_leaving
      -- Whether a target could be told matters to no later step.
      else evaluated_at > now() - ${maxOrderSeconds} * interval '1 second' and (target is null or tries = 0) end as holds_back
    from runs r
  ), placed as (
    select s.*, bool_or(is_claimed) over thread as is_busy,
      coalesce(bool_or(holds_back and kind <> 'reply') over (thread order by run_id, ordinal rows between unbounded preceding and 1 preceding)
        or bool_or(holds_back) over (partition by line, number, trigger_kind, trigger_key order by run_id, ordinal
          rows between unbounded preceding and 1 preceding), false) as is_held_back,
      first_value(run_id) over (thread order by kind = 'reply', run_id, ordinal) as head_run,
      first_value(ordinal) over (thread order by kind = 'reply', run_id, ordinal) as head_ordinal
    from steps s window thread as (partition by line, number)
  )
  select * from (
    select distinct on (line, number) * from placed
    where kind <> 'reply' and ${isPerformedBy(performer)} and not awaits_reply and not is_busy and not is_held_back
      and due_at <= now()
    order by line, number, run_id, ordinal
  ) first_of_thread order by due_at, run_id, ordinal limit ${limit}`;

/** Each target has its own performer: one that doesn't answer delays neither the others nor requests to the service. */
export type Performer = { readonly target: string } | { readonly targetsExcept: readonly string[] };

const isPerformedBy = (performer: Performer) =>
  'target' in performer
    ? sql`target = ${performer.target}`
    : sql`(target is null or target <> all(${performer.targetsExcept}::text[]))`;

/** Threads that are looked at first: sorting all threads of a backlog would take long. */
const maxThreads = 100;

/**
 * Claims due actions, in the order of each thread. The lock on the first waiting action of a thread lets one process at
 * a time claim in it.
 */
export function claimActions(db: Database, performer: Performer, limit: number): Promise<ClaimedAction[]> {
  return inTransaction(db, async (tx) => {
    const due = await query<Pair>(
      tx,
      sql`
        select distinct r.line, r.number from (
          select run_id from ops.rule_actions
          where state = 'waiting' and kind <> 'reply' and ${isPerformedBy(performer)} and due_at <= now()
          order by due_at limit ${maxThreads}) a join ops.rule_runs r using (run_id)`,
    );
    if (due.length === 0) return [];
    const claimed = await claimIn(tx, performer, limit, due);
    // Perhaps all of these wait for something: look further.
    return claimed.length > 0 ? claimed : claimIn(tx, performer, limit);
  });
}

async function claimIn(
  tx: Transaction,
  performer: Performer,
  limit: number,
  some?: readonly Pair[],
): Promise<ClaimedAction[]> {
  const threads = await query<Pair>(
    tx,
    sql`
      select r.line, r.number from ops.rule_actions a join ops.rule_runs r using (run_id)
      where (a.run_id, a.ordinal) in (select head_run, head_ordinal from (${claimable(performer, limit, some)}) found) and a.state = 'waiting'
      for update of a skip locked`,
  );
  return threads.length === 0 ? [] : claimFirst(tx, performer, limit, threads);
}

function claimFirst(
  tx: Transaction,
  performer: Performer,
  limit: number,
  threads: readonly Pair[],
): Promise<ClaimedAction[]> {
  return query<ClaimedAction>(
    tx,
    sql`
      with due as (${claimable(performer, limit, threads)}), claimed as (
        update ops.rule_actions a set claimed_until = now() + ${claimSeconds} * interval '1 second'
        from due where a.run_id = due.run_id and a.ordinal = due.ordinal
        returning a.*
      )
      select c.run_id as "runId", c.ordinal, c.kind, r.rule, r.line, r.number,
        jsonb_strip_nulls(jsonb_build_object('kind', r.trigger_kind, 'key', r.trigger_key, 'afterSeconds', r.after_seconds)) as trigger,
        r.trigger_at as "triggerAt", c.target,
        coalesce(c.argument, '{}') as argument, c.tries, c.begun_at is not null and c.target is null as "wasBegun",
        extract(epoch from now() - greatest(r.evaluated_at, reply.settled_at, (c.argument ->> 'since')::timestamptz))::float8 * 1000 as "waitedMs",
        c.claimed_until::text as claim, reply.state as "replyState", reply.reason as "replyReason"
      from claimed c join ops.rule_runs r using (run_id)
      left join ops.rule_actions reply on reply.run_id = c.run_id and reply.kind = 'reply'
      order by c.run_id, c.ordinal`,
  );
}

/** What a step decides about its thread. Null if later steps don't undo it. */
const axisOf = {
  resolve: ['resolve', 'reopen'],
  reopen: ['resolve', 'reopen'],
  assign: ['assign'],
  comment: null,
  notify: null,
  webhook: null,
} as const satisfies Readonly<Record<ClaimedAction['kind'], readonly string[] | null>>;

/** The rule of a later step that was performed earlier and decided the same thing. */
export async function overtakenBy(
  db: Database,
  { runId, ordinal, kind, line, number }: ClaimedAction,
): Promise<string | undefined> {
  const kinds = axisOf[kind];
  if (!kinds) return undefined;
  const [later] = await query<{ rule: string }>(
    db,
    sql`
      select r.rule from ops.rule_runs r join ops.rule_actions a using (run_id)
      where r.is_matched and r.line = ${line} and r.number = ${number} and a.state = 'done' and a.kind = any(${kinds}::text[])
        and (a.run_id, a.ordinal) > (${runId}, ${ordinal}) limit 1`,
  );
  return later?.rule;
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
 * Records that a request leaves now, and whether it carries a note or notifies a target. False if the claim has expired
 * or would expire during the request: another process may then perform the action, so the request must not leave.
 */
export async function beginAction(tx: Transaction, claim: Claim, hasNote: boolean): Promise<boolean> {
  const begun = await query(
    tx,
    sql`
      update ops.rule_actions
      set tries = tries + 1, begun_at = case when ${hasNote} or target is not null then clock_timestamp() else begun_at end
      where ${isClaimed(claim)} and claimed_until > clock_timestamp() + ${requestSeconds} * interval '1 second'
        and not (${hasNote} and begun_at is not null)
      returning 1`,
  );
  return begun.length > 0;
}

/**
 * Records how an attempt ended, and counts it once it is done or has failed. `done` is recorded even after the claim
 * was lost, any other outcome only while the claim is held. The argument is deleted with the last attempt, because it
 * can quote what people wrote. A step that failed to tell a target keeps it for a retry.
 */
export async function recordOutcome(tx: Database | Transaction, claim: Claim, outcome: Outcome): Promise<void> {
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
      with decided as (
        update ops.rule_actions set state = ${state}, reason = ${reason}, settled_at = now(),
          argument = case when target is not null and (${state} = 'failed' or argument ? 'sendId') then argument end
        where ${isOurs} returning run_id
      )
      insert into ops.rule_tallies (happened_at, version, counts)
      select r.evaluated_at, r.version,
        jsonb_build_array(jsonb_build_object('rule', r.rule, 'mode', r.mode, 'word', ${`action_${state}`}::text, 'count', 1))
      from decided join ops.rule_runs r using (run_id) where ${state} in ('done', 'failed')`,
  );
}

/**
 * Ends waiting steps that may have been performed without a record in the database. Steps that only notify somebody are
 * performed, perhaps again.
 */
export async function dropWaitingActions(tx: Transaction, reason: string): Promise<void> {
  await query(
    tx,
    sql`update ops.rule_actions set state = 'unclear', reason = ${reason}, settled_at = now(), argument = null
     where state = 'waiting' and kind <> 'reply' and target is null`,
  );
}

/** SQL: the send of row `s` won't change any more. A send in manual review, or one that may still be found, can. */
const isDecided = sql`s.state in ('SENT', 'SKIPPED', 'REJECTED', 'NOT_SENT', 'DENIED', 'EXPIRED') and s.settled_at is not null`;

/** Whether a performer has anything to do now. Steps that wait for their time or their send don't count. */
export async function isAnyDue(db: Database, performer: Performer): Promise<boolean> {
  const due = await query(
    db,
    sql`
      select from ops.rule_actions a where state = 'waiting' and case
        when kind = 'reply' then exists (select from ops.sends s where s.send_id = a.send_id and ${isDecided})
        else ${isPerformedBy(performer)} and due_at <= now()
          and not (kind = 'resolve' and exists (
            select from ops.rule_actions own where own.run_id = a.run_id and own.kind = 'reply' and own.state = 'waiting')) end
      limit 1`,
  );
  return due.length > 0;
}

/** Records the outcomes of replies whose sends are decided. */
export async function recordReplyOutcomes(db: Database): Promise<void> {
  await query(
    db,
    sql`
      update ops.rule_actions a set settled_at = now(), reason = concat_ws(' ', s.state, s.reason),
        state = case when s.state = 'SENT' then 'done'
          when s.state = 'DENIED' and s.reason = 'dry_run' then 'dry_run' else 'skipped' end
      from ops.sends s
      where a.kind = 'reply' and a.state = 'waiting' and s.send_id = a.send_id and ${isDecided}`,
  );
}
