import { type AccountLimits, accountLimits } from '../../ledger/limits.ts';
import type { SendPlan } from '../../ledger/send.ts';
import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import { assigneeOf } from '../actions/assignee.ts';
import { type Decision, decide } from '../decide.ts';
import type { Action, Evaluation } from '../evaluate.ts';
import { type Case, readCases } from '../facts/read.ts';
import { type History, readHistory } from '../history.ts';
import type { Mode, RuleSet } from '../rule.ts';
import { answeredBy, sendLimitsOf } from '../runs.ts';
import type { Trigger } from '../triggers.ts';
import { createJudge, type Fate, type Judge } from './gates.ts';
import { nextTextAfter, pastTriggers, type Span } from './past.ts';
import { createReport, type Report } from './report.ts';
import { createStage, type Stage } from './stage.ts';

export interface SimulationOptions extends Span {
  readonly set: RuleSet;
  /** The account's budgets; default: the file's, and the ledger's own where it says nothing. */
  readonly limits?: Partial<AccountLimits>;
  /** Texts to show of each rule. Default 3. */
  readonly examples?: number;
  /** Told how many of how many triggers are done. */
  readonly onProgress?: (done: number, of: number) => void;
}

const chunk = 200;

/** All on trial together: each meets what the others would have done, as if all were live. One that is off stays off. */
const simulatedMode: Mode = 'dry-run';

/**
 * Lets the rules meet a span of the past as if they had been live then: through gates and budgets, each seeing what the
 * others before it did. What rules really did in that span is left out. Nothing is written anywhere: the transaction is
 * read-only.
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
  const play: Play = {
    tx,
    options,
    stage: createStage(),
    judge: await createJudge(tx, accountLimits({ ...set.accountLimits, ...options.limits }), options),
    history: await readHistory(tx, set, await threadsBefore(tx, from), { from, until: from }),
    report: createReport(set, options),
    added: [],
    newest: new Map(),
    answered: new Set(),
  };
  const triggers = await pastTriggers(
    tx,
    set.rules.filter((rule) => rule.mode !== 'off'),
    { from, to },
  );
  for (let at = 0; at < triggers.length; at += chunk) {
    const some = triggers.slice(at, at + chunk);
    const cases = await readCases(tx, some, set.hours, { withoutRulesFrom: from });
    for (const each of cases) {
      await playAdded(play, each.trigger);
      if (!isBrokenSilence(play.stage, each)) await playCase(play, simulatedMode, each);
    }
    onProgress?.(Math.min(triggers.length, at + chunk), triggers.length);
  }
  await playAdded(play, undefined);
  return play.report.finish();
}

interface Play {
  readonly tx: Transaction;
  readonly options: SimulationOptions;
  readonly stage: Stage;
  readonly judge: Judge;
  readonly history: History;
  readonly report: ReturnType<typeof createReport>;
  /** What the simulation itself has to do later: silences after its replies, and replies that quiet hours hold; in time. */
  readonly added: Added[];
  /** The newest reply of each thread, by line and number. */
  readonly newest: Map<string, Planned>;
  /** Replies by rule, thread and what they answer: each once. */
  readonly answered: Set<string>;
}

interface Added {
  readonly at: Date;
  play(): Promise<void>;
}

/** A reply that a rule has asked for. */
interface Planned {
  readonly plan: SendPlan;
  readonly decision: Decision;
  readonly evaluation: Evaluation;
  /** Quiet hours hold it until then; a reply to something newer takes its place. */
  heldUntil: Date | undefined;
}

async function playCase(play: Play, mode: Mode, real: Case): Promise<void> {
  const { trigger, subject } = real;
  const newest = trigger.kind === 'thread_idle' && subject ? play.newest.get(threadOf(subject)) : undefined;
  if (subject && newest?.heldUntil) {
    // A reply that is on its way ends the silence, or leaves it as it was.
    const again = async () => {
      if (!play.stage.sentTo(subject).some(({ at }) => at > trigger.at)) await playCase(play, mode, real);
    };
    return add(play, { at: newest.heldUntil, play: again });
  }
  const seen = play.stage.seen(real);
  const [decision] = decide(play.options.set, mode, [seen], play.history, () => 0);
  if (!decision) return;
  for (const evaluation of decision.evaluations) {
    if (evaluation.isMatched) await act(play, decision, evaluation);
    else play.report.add(decision, evaluation, undefined);
  }
}

/** Lets a match have its effect on the stage, and reports it as soon as it is known what becomes of its reply. */
async function act(play: Play, decision: Decision, evaluation: Evaluation): Promise<void> {
  const { subject, trigger } = decision.case;
  const reply = evaluation.actions.find(({ kind }) => kind === 'reply');
  for (const action of evaluation.actions) {
    // A resolve follows the reply.
    if (action.kind !== 'reply' && !(action.kind === 'resolve' && reply)) {
      await perform(play, decision.case, action, trigger.at);
    }
  }
  if (reply?.kind !== 'reply') return play.report.add(decision, evaluation, undefined);
  const planned = await plan(play, decision, evaluation, reply.text);
  if ('kind' in planned) return ended(play, decision, evaluation, planned, trigger.at);
  if (subject) play.newest.set(threadOf(subject), planned);
  await attempt(play, planned, trigger.at);
}

/** A step besides replies. */
async function perform(play: Play, { subject, trigger }: Case, action: Action, at: Date): Promise<void> {
  if (!subject) return;
  if (action.kind !== 'assign') return play.stage.act(subject, action, at);
  const found = await assigneeOf(play.tx, action.to, { line: subject.line, trigger });
  if ('user' in found) play.stage.act(subject, action, at, found.user);
}

/** Plans a reply as the ledger does: one for a rule and what it answers, one at a time in a thread. */
async function plan(
  play: Play,
  decision: Decision,
  evaluation: Evaluation,
  text: string,
): Promise<Planned | (Fate & { kind: 'denied' })> {
  const { case: each } = decision;
  const { subject, trigger } = each;
  const answered = subject && (await answeredBy(play.tx, each));
  if (!subject || !answered) return { kind: 'denied', reason: 'nothing_to_answer' };
  if (text === '') return { kind: 'denied', reason: 'empty_text' };
  const { line, number } = subject;
  const { rule } = evaluation;
  const key = [rule.name, line, number, answered.kind, answered.id];
  if (play.answered.has(key.join(' ')) || (await wasAnswered(play, key))) {
    return { kind: 'denied', reason: 'answered_before' };
  }
  const newest = play.newest.get(threadOf(subject));
  if (newest && (newest.heldUntil || newest.plan.trigger.at.getTime() === trigger.at.getTime())) {
    const { trigger: other } = newest.plan;
    if (other.kind === answered.kind && other.id === answered.id) return { kind: 'denied', reason: 'thread_busy' };
    if (newest.heldUntil) {
      newest.heldUntil = undefined;
      await ended(play, newest.decision, newest.evaluation, { kind: 'denied', reason: 'superseded' }, trigger.at);
    }
  }
  play.answered.add(key.join(' '));
  const limits = sendLimitsOf(rule);
  const send = { rule: rule.name, line, number, trigger: { ...answered, at: trigger.at }, text, mode: 'live', limits };
  return { plan: send as SendPlan, decision, evaluation, heldUntil: undefined };
}

/** Whether the rule really replied to it before the span. */
async function wasAnswered({ tx, options }: Play, key: readonly string[]): Promise<boolean> {
  const rows = await query(
    tx,
    `select from ops.sends where rule = $1 and line = $2 and number = $3 and trigger_kind = $4 and trigger_id = $5
       and mode = 'live' and planned_at < $6`,
    [...key, options.from],
  );
  return rows.length > 0;
}

/** Lets a reply go out, or holds it until its quiet hours end, where the span does not end before. */
async function attempt(play: Play, planned: Planned, at: Date): Promise<void> {
  const { plan, decision, evaluation } = planned;
  const staged = { sends: play.stage.sentTo(plan), isBlocked: play.stage.hasBlocked(plan) };
  const fate = await play.judge.fateOf(plan, staged, at);
  const isHeld = fate.kind === 'held' && fate.until < play.options.to;
  planned.heldUntil = isHeld ? fate.until : undefined;
  if (!isHeld) return ended(play, decision, evaluation, fate, at);
  add(play, {
    at: fate.until,
    play: async () => {
      if (planned.heldUntil) await attempt(play, planned, fate.until);
    },
  });
}

/** Writes down what became of a reply, and does what follows from it. */
async function ended(play: Play, decision: Decision, evaluation: Evaluation, fate: Fate, at: Date): Promise<void> {
  const { subject, trigger } = decision.case;
  play.report.add(decision, evaluation, fate);
  if (!subject || fate.kind === 'held') return;
  const match = { ...subject, rule: evaluation.rule.name, at: trigger.at };
  play.history.settle(match, fate.kind === 'sent' ? 'gone' : 'none');
  if (fate.kind !== 'sent') return;
  const reply = evaluation.actions.find(({ kind }) => kind === 'reply');
  const { line, number } = subject;
  play.stage.send({ line, number, at, text: reply?.kind === 'reply' ? reply.text : '' });
  for (const action of evaluation.actions) {
    if (action.kind === 'resolve') await perform(play, decision.case, action, at);
  }
  await addSilences(play, decision.case, at);
}

function add(play: Play, added: Added): void {
  play.added.push(added);
  play.added.sort((a, b) => a.at.getTime() - b.at.getTime());
}

function threadOf({ line, number }: { readonly line: string; readonly number: string }): string {
  return `${line}/${number}`;
}

/** Our own reply begins a silence, if nobody wrote after it. */
async function addSilences(play: Play, { subject, trigger }: Case, at: Date): Promise<void> {
  if (!subject) return;
  const { set, to } = play.options;
  const durations = new Set(set.rules.flatMap(({ idleSeconds, mode }) => (mode === 'off' ? [] : (idleSeconds ?? []))));
  if (durations.size === 0) return;
  const next = subject.conversationId === null ? undefined : await nextTextAfter(play.tx, subject.conversationId, at);
  for (const idleSeconds of durations) {
    const due = new Date(at.getTime() + idleSeconds * 1_000);
    if (due >= to || (next && next <= due)) continue;
    const silence: Trigger = { kind: 'thread_idle', key: trigger.key, at: due, idleSeconds };
    add(play, {
      at: due,
      play: async () => {
        const each = await readSilence(play, silence, trigger);
        if (each && !isBrokenSilence(play.stage, each, true)) await playCase(play, simulatedMode, each);
      },
    });
  }
}

/** The silence after a reply has no text of its own in the mirror: it is read by what the reply answered. */
async function readSilence(play: Play, silence: Trigger, origin: Trigger): Promise<Case | undefined> {
  const { set, from } = play.options;
  const [found] = await readCases(play.tx, [{ ...origin, at: silence.at }], set.hours, { withoutRulesFrom: from });
  if (!found?.subject || typeof found.facts === 'string') return undefined;
  const { message: _, call: __, transcript: ___, ...facts } = found.facts;
  const { message: _m, call: _c, transcript: _t, ...subject } = found.subject;
  const earlierInboundAt = found.facts.thread?.last_inbound_at;
  return { trigger: silence, facts, subject: { ...subject, callId: null }, earlierInboundAt };
}

/** Plays what was added and comes before a trigger; all of it, when there is no further trigger. */
async function playAdded(play: Play, before: Trigger | undefined): Promise<void> {
  for (let [next] = play.added; next && (!before || next.at <= before.at); [next] = play.added) {
    play.added.shift();
    await next.play();
  }
}

/** A simulated reply has ended the silence that was there in fact; of its own silence it is the begin. */
function isBrokenSilence(stage: Stage, { trigger, subject }: Case, isOwn = false): boolean {
  if (trigger.kind !== 'thread_idle' || !subject) return false;
  const began = trigger.at.getTime() - (trigger.idleSeconds ?? 0) * 1_000;
  return stage
    .sentTo(subject)
    .some(({ at }) => (isOwn ? at.getTime() > began : at.getTime() >= began) && at <= trigger.at);
}

/** Threads in which rules have done something before: their limits and replies go on counting. */
function threadsBefore(tx: Transaction, from: Date): Promise<{ line: string; number: string }[]> {
  return query(
    tx,
    `select distinct line, number from ops.rule_runs
     where is_matched and line is not null and number is not null and trigger_at < $1`,
    [from],
  );
}
