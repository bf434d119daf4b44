import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, hotQuery, inTransaction, relation, sql, type Transaction } from '../db/database.ts';
import { tryLock } from '../db/locks.ts';
import { isOutranked } from '../ledger/rules-in-force.ts';
import { isOpenSend } from '../ledger/send.ts';
import { isUnsentRow } from '../ledger/states.ts';
import type { Log } from '../shared/log.ts';
import type { Pair } from '../shared/thread.ts';
import { erasedAmong, hasErasures } from '../warehouse/erasure/erased.ts';
import { decide } from './decide.ts';
import { type Case, readCases } from './facts/read.ts';
import { readHistory } from './history.ts';
import type { Mode, Rule, RuleSet } from './rule.ts';
import {
  delayEvents,
  deleteAllEvents,
  deleteUnreadEvents,
  hasDueEvents,
  idleTriggers,
  isOfEvent,
  postponeEvent,
  readClock,
  recordInForce,
  requeueEvents,
  type TakenTrigger,
  takeEvents,
} from './rule-events.ts';
import { recordDecisions } from './runs.ts';
import { happenedAt, type Trigger } from './triggers.ts';
import type { RulesReader } from './versions.ts';

/*
 * The states of an event (ops.rule_events):
 *
 *   mirrored ──same transaction──▶ pending ──▶ taken, evaluated, recorded: runs, sends planned, actions ──commit──▶ gone
 *                                    ▲                    │                                             │
 *                                    │                    └─ a send of its thread is being dispatched   │
 *                                    ├────────────────────┘                                             │
 *                                    ├─ rules with `after` wait for it: once more, due later ───────────┤
 *                                    └───────────────── crash or failure: nothing of it happened ───────┘
 */

export interface EvaluationContext {
  readonly db: Database;
  readonly log: Log;
  /** RULES_MODE. */
  readonly mode: Mode;
  readonly rules: RulesReader;
  /** Called after the commit of a batch in which rules matched. */
  readonly onMatched?: () => void;
}

const batchSize = 500;

/**
 * Evaluates the rules on pending events until none is left. After the signal it ends with the current batch. Safe in
 * any number of processes: a lock lets one evaluate at a time.
 */
export async function processEvents(context: EvaluationContext, signal: AbortSignal): Promise<void> {
  const { db, log, mode, rules } = context;
  if (mode === 'off') return (await isOutranked(db, mode)) ? undefined : deleteAllEvents(db);
  let size = batchSize;
  let after = '0';
  let isMore = await hasDueEvents(db);
  while (isMore && !signal.aborted) {
    let inHand: readonly TakenTrigger[] = [];
    const take = async (tx: Transaction) => {
      inHand = await takeEvents(tx, size, after);
      return inHand;
    };
    try {
      const { taken } = await runBatch(context, take, requeueEvents);
      if (taken === 0 && !(await rules(db))) await deleteUnreadEvents(db);
      isMore = taken === size;
      after = inHand.at(-1)?.eventId ?? after;
      size = Math.min(batchSize, 2 * size);
    } catch (error) {
      const [failed, ...others] = inHand;
      if (!failed) throw error;
      // Retries one by one, so that a single bad event fails alone.
      size = 1;
      if (others.length > 0) continue;
      const isItsOwn = isOfEvent(error);
      const became = await postponeEvent(db, failed.eventId, isItsOwn);
      if (!isItsOwn) throw error;
      if (became === 'given_up') log.error({ err: error }, 'An event failed five times in the rules; it is dropped');
      else log.warn({ err: error }, 'An event could not be evaluated; it is tried again');
    }
  }
}

/** Evaluates the rules on threads that have become idle, until none is left. */
export async function processIdleThreads(context: EvaluationContext, signal: AbortSignal): Promise<void> {
  let isMore = context.mode !== 'off' && (await isAnyIdle(context));
  while (isMore && !signal.aborted) {
    // Postponed threads are found again in the next round; they don't justify another batch now.
    const { taken, postponed } = await runBatch(context, (tx, set) => idleTriggers(tx, set, batchSize));
    isMore = taken - postponed >= batchSize;
  }
}

/** A cheap check, because a thread is rarely idle. */
async function isAnyIdle({ db, rules }: EvaluationContext): Promise<boolean> {
  const set = await rules(db);
  if (!set) return false;
  await recordInForce(db, set);
  return (await idleTriggers(db, set, 1)).length > 0;
}

/** Evaluates one batch in one transaction. Returns how many triggers it took, and how many of them it postponed. */
async function runBatch(
  context: EvaluationContext,
  take: (tx: Transaction, set: RuleSet) => Promise<readonly Trigger[]>,
  postpone?: (tx: Transaction, undecided: readonly Trigger[]) => Promise<void>,
): Promise<{ readonly taken: number; readonly postponed: number }> {
  const { db, mode, onMatched } = context;
  const { matched, ...counts } = await inTransaction(db, async (tx) => {
    const nothing = { taken: 0, postponed: 0, matched: 0 };
    const set = await beginEvaluation(tx, context);
    if (!set) return nothing;
    const triggers = await take(tx, set);
    const ruled = triggers.filter(({ kind }) => set.rules.some(({ on, mode }) => on === kind && mode !== 'off'));
    if (ruled.length === 0) return { ...nothing, taken: triggers.length };
    const { undecided, matched } = await evaluateTriggers(tx, set, mode, ruled);
    await postpone?.(tx, undecided);
    return { taken: triggers.length, postponed: undecided.length, matched };
  });
  if (matched > 0) onMatched?.();
  return counts;
}

interface Evaluated {
  /** How many rules matched. */
  readonly matched: number;
  readonly undecided: readonly Trigger[];
}

async function evaluateTriggers(
  tx: Transaction,
  set: RuleSet,
  mode: Mode,
  triggers: readonly Trigger[],
): Promise<Evaluated> {
  const { now, since, actsAfter } = await readClock(tx);
  const read = await readCases(tx, triggers, set);
  // Their erasure has begun, and may already have passed the rows of rules.
  const erased = await erasedAmong(tx, () => read.map(({ subject }) => subject?.number));
  const cases = read.filter(({ subject }) => !subject || !erased.has(subject.number));
  const threads = cases.flatMap((each) => threadsOf(each, set));
  const held = await holdSends(tx, threads);
  const isUndecided = (each: Case) => threadsOf(each, set).some(held.isDispatching);
  const { undecided = [], decidable = [] } = Object.groupBy(cases, (each) =>
    isUndecided(each) ? 'undecided' : 'decidable',
  );
  const history = await readHistory(tx, threads, { held: held.sends });
  const decisions = decidable.map((each) => {
    const ageMs = now.getTime() - each.trigger.at.getTime();
    const happened = eventOf(each);
    const isTooOld = (rule: Rule) =>
      ageMs > rule.maxAgeSeconds * 1_000 || happened < since(rule) || happened < actsAfter;
    return { case: each, evaluations: decide(set, mode, each, history, isTooOld) };
  });
  const matched = await recordDecisions(tx, set.version, decisions, since);
  await delayEvents(
    tx,
    set,
    decidable.map(({ trigger }) => trigger),
  );
  return { matched, undecided: undecided.map(({ trigger }) => trigger) };
}

/** When the other party wrote or called: new rules act on nothing older. A transcript can come long after its call. */
function eventOf({ trigger, subject, facts }: Case): Date {
  const endedAt = subject && facts.call?.ended_at;
  return endedAt instanceof Date ? endedAt : happenedAt(trigger);
}

/** The threads that replies to a case may go to: its own, and for a call also the threads of lines that rules name. */
function threadsOf({ subject }: Case, { lines }: RuleSet): Pair[] {
  if (!subject) return [];
  const { number, callId } = subject;
  return [subject, ...(callId === null ? [] : lines).map((line) => ({ line: line.number, number }))];
}

/**
 * Returns the rules in force, which stay in force until the transaction ends. One process evaluates at a time, so that
 * limits count correctly and texts are evaluated in order. Erasures wait too: a person must not be recorded while their
 * data is being erased. Undefined if another process evaluates, if one with a higher RULES_MODE runs, or if no rules
 * are in force.
 */
export async function beginEvaluation(
  tx: Transaction,
  { mode, rules }: Pick<EvaluationContext, 'mode' | 'rules'>,
): Promise<RuleSet | undefined> {
  if (!(await tryLock(tx, 'rule_events')) || (await isOutranked(tx, mode))) return undefined;
  await hasErasures(tx);
  return rules(tx);
}

interface HeldSends {
  /** Ids of sends locked until the transaction ends: a reply to a newer trigger can still replace them. */
  readonly sends: readonly string[];
  /**
   * Whether a send of the thread is being dispatched. Triggers of the thread then wait: if the send counted as sent and
   * failed, the thread would get no reply.
   */
  isDispatching(thread: Pair): boolean;
}

/** A worker locks a send for a few statements. If it takes longer, the thread's triggers are postponed. */
const maxWaitMs = 250;
const pauseMs = 10;

/**
 * Locks the open sends of threads. Polls a send that a worker has locked, instead of waiting for the lock: two
 * transactions that lock many threads could deadlock.
 */
async function holdSends(tx: Transaction, threads: readonly Pair[]): Promise<HeldSends> {
  const deadline = performance.now() + maxWaitMs;
  let open = await lockOpenSends(tx, threads);
  while (open.some(({ lock }) => lock === 'taken') && performance.now() < deadline) {
    await sleep(pauseMs);
    open = await lockOpenSends(tx, threads);
  }
  const dispatching = open.filter(({ lock }) => lock !== 'ours');
  return {
    sends: open.flatMap(({ send_id, lock }) => (lock === 'ours' ? [send_id] : [])),
    isDispatching: ({ line, number }) => dispatching.some((send) => send.line === line && send.number === number),
  };
}

interface OpenSend extends Pair {
  readonly send_id: string;
  /** `taken`: a worker has locked it. `sent`: its request has left, and the outcome is unknown. */
  readonly lock: 'ours' | 'taken' | 'sent';
}

function lockOpenSends(tx: Transaction, threads: readonly Pair[]): Promise<OpenSend[]> {
  return hotQuery<OpenSend>(
    tx,
    sql`
      with open as materialized (
        select send_id, line, number, state from ops.sends s
        where (line, number) in (select line, number from ${relation('t', threads, { line: 'text', number: 'text' })})
          and ${sql.raw(isOpenSend)}
      ), held as (
        select send_id from ops.sends
        where send_id in (select send_id from open) and ${sql.raw(isUnsentRow)} for update skip locked
      )
      select open.send_id, line, number,
        case when held.send_id is not null then 'ours' when state in ('DISPATCHED', 'UNKNOWN') then 'sent' else 'taken' end as lock
      from open left join held using (send_id)`,
  );
}
