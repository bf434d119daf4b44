import { type Database, query, sql, type Transaction } from '../../db/database.ts';
import type { SendPlan } from '../../ledger/send.ts';
import { hoursOf } from '../../shared/business-hours.ts';
import type { Pair } from '../../shared/thread.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import { findAssignee } from '../actions/mirror.ts';
import { decide, type Evaluation } from '../decide.ts';
import type { Facts } from '../facts/declared.ts';
import { type Case, type KnownCase, readCases } from '../facts/read.ts';
import { factsOfRow } from '../facts/values.ts';
import { type History, pairKey, readHistory } from '../history.ts';
import { idleAt } from '../idle.ts';
import type { Action, Mode, RuleSet } from '../rule.ts';
import { type Reply, replyPlan } from '../runs.ts';
import type { Trigger } from '../triggers.ts';
import { type ThreadChanges, withChanges } from './changes.ts';
import { createJudge, type Judge, type ReplyOutcome } from './judge.ts';
import { createReport, type Report } from './report.ts';
import { idleTimes, nextTextAfter, pastTriggers, peopleOf } from './triggers.ts';

export interface SimulationOptions extends TimeRange<Date> {
  readonly set: RuleSet;
  readonly onProgress?: (done: number, of: number) => void;
}

const batchSize = 200;

/** Dry-run rules count each other's matches, as they would if all were live. */
const simulatedMode: Mode = 'dry-run';

/**
 * Runs the rules on a span of the past as if they had been live then, with the ledger's gates and budgets. What rules really
 * did in that span is left out. Writes nothing: the transaction is read-only.
 */
export function simulate(db: Database, options: SimulationOptions): Promise<Report> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((tx) => simulateIn(tx, options));
}

async function simulateIn(tx: Transaction, options: SimulationOptions): Promise<Report> {
  const { set, from, to, onProgress } = options;
  const { report, count } = createReport(set, options);
  const active = set.rules.filter((rule) => rule.mode !== 'off');
  const triggers = await pastTriggers(tx, { ...set, rules: active }, { from, to });
  const run: Simulation = {
    tx,
    options,
    judge: await createJudge(tx, set, from),
    history: await readHistory(tx, set, await peopleOf(tx, triggers), { from, until: from }),
    count,
    tasks: [],
    threads: new Map(),
    answered: new Set(),
    answeredCalls: new Set(),
  };
  for (let at = 0; at < triggers.length; at += batchSize) {
    const some = triggers.slice(at, at + batchSize);
    const cases = await readCases(tx, some, set, { withoutRulesFrom: from });
    for (const each of cases) {
      await runTasks(run, each.trigger);
      if (!isNoLongerIdle(run, each)) await runCase(run, each);
    }
    onProgress?.(Math.min(triggers.length, at + batchSize), triggers.length);
  }
  await runTasks(run, undefined);
  return report;
}

interface Simulation {
  readonly tx: Transaction;
  readonly options: SimulationOptions;
  readonly judge: Judge;
  readonly history: History;
  readonly count: ReturnType<typeof createReport>['count'];
  /** What the simulation has to do later, in order: idle triggers after its own replies, and replies held by quiet hours. */
  readonly tasks: Task[];
  /** By the pair key. */
  readonly threads: Map<string, SimulatedThread>;
  /** Rule, thread and answered text or call of each reply: a rule answers each once. */
  readonly answered: Set<string>;
  /** Calls that a reply was sent about: no rule answers one again. */
  readonly answeredCalls: Set<string>;
}

interface SimulatedThread extends ThreadChanges {
  newest?: PlannedReply;
}

function simulatedThread({ threads }: Simulation, pair: Pair): SimulatedThread {
  const thread = threads.get(pairKey(pair)) ?? { sends: [], isBlocked: false };
  threads.set(pairKey(pair), thread);
  return thread;
}

interface Task {
  readonly at: Date;
  run(): Promise<void>;
}

interface PlannedReply {
  readonly plan: SendPlan;
  readonly case: KnownCase;
  readonly evaluation: Evaluation;
  /** End of the quiet hours that hold it; a reply to a newer trigger replaces it meanwhile. */
  heldUntil: Date | undefined;
}

async function runCase(run: Simulation, real: Case): Promise<void> {
  const { trigger, subject } = real;
  const thread = subject && simulatedThread(run, subject);
  const heldUntil = trigger.kind === 'thread_idle' ? thread?.newest?.heldUntil : undefined;
  if (thread && heldUntil) {
    // A held reply will end the idle time or be replaced: decide when that is known.
    return addTask(run, heldUntil, async () => {
      if (!thread.sends.some(({ at }) => at > trigger.at)) await runCase(run, real);
    });
  }
  const changed = thread && real.subject ? withChanges(real, thread) : real;
  for (const evaluation of decide(run.options.set, simulatedMode, changed, run.history)) {
    if (changed.subject && evaluation.isMatched) await performMatch(run, changed, evaluation);
    else run.count(changed, evaluation);
  }
}

async function performMatch(run: Simulation, each: KnownCase, evaluation: Evaluation): Promise<void> {
  const { subject, trigger } = each;
  const reply = evaluation.actions.find((action): action is Reply => action.kind === 'reply');
  for (const action of evaluation.actions) {
    // A resolve waits for the rule's reply.
    if (action.kind !== 'reply' && !(action.kind === 'resolve' && reply)) {
      await performAction(run, each, action, trigger.at);
    }
  }
  if (!reply) return run.count(each, evaluation);
  const planned = await planReply(run, each, evaluation, reply);
  if ('kind' in planned) return recordReply(run, each, evaluation, planned, trigger.at, subject);
  simulatedThread(run, planned.plan).newest = planned;
  await sendReply(run, planned, trigger.at);
}

async function performAction(
  run: Simulation,
  { subject, trigger }: KnownCase,
  action: Action,
  at: Date,
): Promise<void> {
  const thread = simulatedThread(run, subject);
  if (action.kind === 'resolve' || action.kind === 'reopen') thread.resolved = { is: action.kind === 'resolve', at };
  if (action.kind === 'block') thread.isBlocked = true;
  if (action.kind !== 'assign') return;
  const found = await findAssignee(run.tx, action.to, { line: subject.line, trigger });
  if ('user' in found) thread.assignedTo = found.user;
}

/** Plans a reply by the ledger's rules: one per rule and answered text or call, and one at a time in a thread. */
async function planReply(
  run: Simulation,
  each: KnownCase,
  evaluation: Evaluation,
  reply: Reply,
): Promise<PlannedReply | (ReplyOutcome & { kind: 'denied' })> {
  const denied = (reason: string) => ({ kind: 'denied', reason }) as const;
  const { rule } = evaluation;
  const plan = await replyPlan(run.tx, each, rule, reply);
  if (typeof plan === 'string') return denied(plan);
  const { line, number, trigger } = plan;
  const key = [rule.name, line, number, trigger.kind, trigger.id].join(' ');
  const isAnswered = run.answered.has(key) || (trigger.kind === 'call' && run.answeredCalls.has(trigger.id));
  if (isAnswered || (await wasAnswered(run, plan))) return denied('answered_before');
  const { newest } = simulatedThread(run, plan);
  if (newest && (newest.heldUntil || newest.plan.trigger.at.getTime() === trigger.at.getTime())) {
    const { trigger: other } = newest.plan;
    if (other.kind === trigger.kind && other.id === trigger.id) return denied('thread_busy');
    if (newest.heldUntil) {
      newest.heldUntil = undefined;
      await recordReply(run, newest.case, newest.evaluation, denied('superseded'), trigger.at, newest.plan);
    }
  }
  run.answered.add(key);
  return { plan, case: each, evaluation, heldUntil: undefined };
}

/** Whether the rule, or for a call any rule, really answered it before the span. */
async function wasAnswered({ tx, options }: Simulation, { rule, line, number, trigger }: SendPlan): Promise<boolean> {
  const rows = await query(
    tx,
    sql`
      select from ops.sends where number = ${number} and trigger_kind = ${trigger.kind} and trigger_id = ${trigger.id}
        and mode = 'live' and planned_at < ${options.from} and (rule = ${rule} and line = ${line}
          or trigger_kind = 'call' and state not in ('SKIPPED', 'REJECTED', 'DENIED', 'EXPIRED'))`,
  );
  return rows.length > 0;
}

/** Sends a reply, or holds it until its quiet hours end if that is within the span. */
async function sendReply(run: Simulation, planned: PlannedReply, at: Date): Promise<void> {
  const { plan, case: each, evaluation } = planned;
  const outcome = await run.judge(plan, simulatedThread(run, plan), at);
  const isHeld = outcome.kind === 'held' && outcome.until < run.options.to;
  planned.heldUntil = isHeld ? outcome.until : undefined;
  if (!isHeld) return recordReply(run, each, evaluation, outcome, at, plan);
  addTask(run, outcome.until, async () => {
    if (planned.heldUntil) await sendReply(run, planned, outcome.until);
  });
}

/** Records the outcome of a reply in a thread, and performs what follows it. */
async function recordReply(
  run: Simulation,
  each: KnownCase,
  evaluation: Evaluation,
  outcome: ReplyOutcome,
  at: Date,
  thread: Pair,
): Promise<void> {
  const { subject, trigger } = each;
  run.count(each, evaluation, outcome);
  if (outcome.kind === 'held') return;
  const { line, number } = subject;
  const match = { line, number, rule: evaluation.rule.name, at: trigger.at };
  run.history.setReply(match, outcome.kind === 'sent' ? 'sent' : 'none');
  if (outcome.kind !== 'sent') return;
  const text = evaluation.actions.find((action) => action.kind === 'reply')?.text ?? '';
  simulatedThread(run, thread).sends.push({ at, text });
  if (subject.callId !== null) run.answeredCalls.add(subject.callId);
  for (const action of evaluation.actions) {
    if (action.kind === 'resolve') await performAction(run, each, action, at);
  }
  await scheduleIdleTriggers(run, each, at);
}

/** Schedules the idle triggers after a simulated reply, if nobody writes after it. */
async function scheduleIdleTriggers(run: Simulation, { subject, trigger }: KnownCase, at: Date): Promise<void> {
  const { set, to } = run.options;
  const times = idleTimes(set.rules);
  if (times.length === 0) return;
  const next = subject.conversationId === null ? undefined : await nextTextAfter(run.tx, subject.conversationId, at);
  for (const time of times) {
    const due = idleAt(time, hoursOf(set.hours, subject.line), at);
    if (!due || due >= to || (next && next <= due)) continue;
    const idle: Trigger = { kind: 'thread_idle', key: trigger.key, at: due, idle: time, idleSince: at };
    addTask(run, due, async () => {
      const each = await readIdleCase(run, idle, trigger);
      if (each && !isNoLongerIdle(run, each, true)) await runCase(run, each);
    });
  }
}

/** The case of an idle thread after a simulated reply. The reply is not in the mirror: reads the facts of what it answered. */
async function readIdleCase(run: Simulation, idle: Trigger, origin: Trigger): Promise<Case | undefined> {
  const { set, from } = run.options;
  const [found] = await readCases(run.tx, [{ ...origin, at: idle.at }], set, { withoutRulesFrom: from });
  if (!found?.subject) return undefined;
  const { call: _, transcript: __, ...others } = found.facts;
  const facts = { ...noMessage, ...others };
  const earlierInboundAt = facts.thread?.last_inbound_at;
  return { trigger: idle, facts, subject: { ...found.subject, callId: null }, earlierInboundAt };
}

/** After a reply about a call. */
const noMessage: Pick<Facts, 'message'> = factsOfRow({
  'message.text': '',
  'message.plain': '',
  'message.media_count': 0,
});

function addTask(run: Simulation, at: Date, task: Task['run']): void {
  run.tasks.push({ at, run: task });
  run.tasks.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Runs the tasks that come before a trigger; all of them, if there is no further trigger. */
async function runTasks(run: Simulation, before: Trigger | undefined): Promise<void> {
  for (let [next] = run.tasks; next && (!before || next.at <= before.at); [next] = run.tasks) {
    run.tasks.shift();
    await next.run();
  }
}

/** Whether a simulated reply interrupted the idle time. The reply that it begins with does not. */
function isNoLongerIdle(run: Simulation, { trigger, subject }: Case, isOwn = false): boolean {
  if (trigger.kind !== 'thread_idle' || !subject) return false;
  const began = trigger.idleSince?.getTime() ?? 0;
  return simulatedThread(run, subject).sends.some(
    ({ at }) => (isOwn ? at.getTime() > began : at.getTime() >= began) && at <= trigger.at,
  );
}
