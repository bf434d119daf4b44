import { type AccountLimits, accountLimits } from '../../ledger/limits.ts';
import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import { type Decision, decide } from '../decide.ts';
import type { Evaluation } from '../evaluate.ts';
import { type Case, readCases } from '../facts/read.ts';
import { type History, readHistory } from '../history.ts';
import type { Mode, RuleSet } from '../rule.ts';
import { answeredBy, sendLimitsOf } from '../runs.ts';
import type { Trigger } from '../triggers.ts';
import { createJudge, type Fate, type Judge } from './gates.ts';
import { inTime, nextTextAfter, pastTriggers, type Span } from './past.ts';
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
  // All on trial together: each meets what the others would have done, as if all were live. One that is off stays off.
  const mode: Mode = 'dry-run';
  const play: Play = {
    tx,
    options,
    stage: createStage(),
    judge: await createJudge(tx, accountLimits({ ...set.accountLimits, ...options.limits }), options),
    history: await readHistory(tx, set, await threadsBefore(tx, from), { from, until: from }),
    report: createReport(set, options),
    added: [],
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
      await playAdded(play, mode, each.trigger);
      if (!isBrokenSilence(play.stage, each)) await playCase(play, mode, each);
    }
    onProgress?.(Math.min(triggers.length, at + chunk), triggers.length);
  }
  await playAdded(play, mode, undefined);
  return play.report.finish();
}

interface Play {
  readonly tx: Transaction;
  readonly options: SimulationOptions;
  readonly stage: Stage;
  readonly judge: Judge;
  readonly history: History;
  readonly report: ReturnType<typeof createReport>;
  /** Silences after simulated replies, in time. */
  readonly added: AddedSilence[];
}

interface AddedSilence {
  readonly silence: Trigger;
  /** What the reply answered. */
  readonly origin: Trigger;
}

async function playCase(play: Play, mode: Mode, real: Case): Promise<void> {
  const seen = play.stage.seen(real);
  const [decision] = decide(play.options.set, mode, [seen], play.history, () => 0);
  if (!decision) return;
  for (const evaluation of decision.evaluations) {
    const fate = evaluation.isMatched ? await act(play, decision, evaluation) : undefined;
    play.report.add(decision, evaluation, fate);
  }
}

/** Lets a match have its effect on the stage; answers with what became of its reply. */
async function act(play: Play, { case: each }: Decision, evaluation: Evaluation): Promise<Fate | undefined> {
  const reply = evaluation.actions.find(({ kind }) => kind === 'reply');
  const fate = reply?.kind === 'reply' ? await replied(play, each, evaluation, reply.text) : undefined;
  if (each.subject && fate && fate.kind !== 'held') {
    const match = { ...each.subject, rule: evaluation.rule.name, at: each.trigger.at };
    play.history.settle(match, fate.kind === 'sent' ? 'gone' : 'none');
  }
  for (const action of evaluation.actions) {
    // A resolve follows the reply; where that is refused, it is not done.
    if (action.kind === 'resolve' && fate && fate.kind !== 'sent') continue;
    play.stage.act(each, action);
  }
  return fate;
}

async function replied(play: Play, each: Case, { rule }: Evaluation, text: string): Promise<Fate> {
  const { subject, trigger } = each;
  const answered = subject && (await answeredBy(play.tx, each));
  if (!subject || !answered) return { kind: 'denied', reason: 'nothing_to_answer' };
  if (text === '') return { kind: 'denied', reason: 'empty_text' };
  const { line, number } = subject;
  const limits = sendLimitsOf(rule);
  const plan = {
    rule: rule.name,
    line,
    number,
    trigger: { ...answered, at: trigger.at },
    text,
    mode: 'live',
    limits,
  } as const;
  const staged = { sends: play.stage.sentTo(subject), isBlocked: play.stage.hasBlocked(subject) };
  const fate = await play.judge.fateOf(plan, staged);
  if (fate.kind === 'sent') {
    play.stage.send({ line, number, at: fate.at, text });
    await addSilences(play, each, fate.at);
  }
  return fate;
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
    play.added.push({ silence, origin: trigger });
  }
  play.added.sort((a, b) => inTime(a.silence, b.silence));
}

/** The silence after a reply has no text of its own in the mirror: it is read by what the reply answered. */
async function readSilence(play: Play, { silence, origin }: AddedSilence): Promise<Case | undefined> {
  const { set, from } = play.options;
  const [found] = await readCases(play.tx, [{ ...origin, at: silence.at }], set.hours, { withoutRulesFrom: from });
  if (!found?.subject || typeof found.facts === 'string') return undefined;
  const { message: _, call: __, transcript: ___, ...facts } = found.facts;
  const { message: _m, call: _c, transcript: _t, ...subject } = found.subject;
  return { trigger: silence, facts, subject: { ...subject, callId: null } };
}

/** Plays the added silences that come before a trigger; all of them, when there is no further trigger. */
async function playAdded(play: Play, mode: Mode, before: Trigger | undefined): Promise<void> {
  for (let [next] = play.added; next && (!before || next.silence.at <= before.at); [next] = play.added) {
    play.added.shift();
    const each = await readSilence(play, next);
    if (each && !isBrokenSilence(play.stage, each, true)) await playCase(play, mode, each);
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
