import type { Pair } from '../shared/thread.ts';
import type { Facts } from './facts/declared.ts';
import type { Case, KnownCase } from './facts/read.ts';
import { celFacts, chosenFacts } from './facts/values.ts';
import type { History, Match } from './history.ts';
import {
  type Action,
  type ActiveMode,
  lesserMode,
  type Mode,
  type Rule,
  type RuleSet,
  type Scope,
  type Step,
  scopes,
} from './rule.ts';
import { idleKey, type Trigger } from './triggers.ts';

/** The result of one rule on one trigger. */
export interface Evaluation {
  readonly rule: Rule;
  readonly mode: ActiveMode;
  readonly isMatched: boolean;
  /** `matched`, or why not, as `ops.rule_runs.reason` has it. */
  readonly reason: string;
  /** Whether it gets a row in `ops.rule_runs`; the others are only counted. */
  readonly isRecorded: boolean;
  /** The facts by which it decided; undefined if there was nothing to decide. */
  readonly facts: Facts | undefined;
  /** Empty unless it matched. */
  readonly actions: readonly Action[];
}

/**
 * Evaluates the rules on a case. Pure, except that it adds each match to the history for the next case. `isTooOld`: the
 * trigger is older than the rule acts on.
 */
export function decide(
  set: Pick<RuleSet, 'rules'>,
  mode: Mode,
  each: Case,
  history: History,
  isTooOld: (rule: Rule) => boolean = () => false,
): Evaluation[] {
  const waiting = rulesFor(set.rules, each.trigger, mode);
  const gone = rulesGone(waiting, each.trigger, mode);
  if (!each.subject) {
    const isRecorded = leavesRow(each.trigger, each.facts);
    const nothing = { isMatched: false, reason: each.facts, isRecorded, facts: undefined, actions: [] };
    return [...waiting.map((rule) => ({ ...rule, ...nothing })), ...gone];
  }
  const evaluations = evaluateCase(waiting, each, history, isTooOld);
  for (const evaluation of evaluations) {
    if (evaluation.isMatched) history.add(matchOf(evaluation, each.subject, each.trigger.at));
  }
  return [...evaluations, ...gone];
}

/** Reasons of rules that had nothing to decide. Refusals (too old, a limit, a stop, an error) leave a row. */
const unrecorded: readonly string[] = [
  ...['condition_false', 'reaction', 'gone', 'no_other_party', 'group_thread', 'no_call_back'],
];

/** An idle thread is found in the mirror, not in an event that is deleted: the row keeps it from being found again. */
function leavesRow({ kind }: Trigger, reason: string): boolean {
  return kind === 'thread_idle' || !unrecorded.includes(reason);
}

/** The facts for rules of a mode: for a dry-run rule, `replies` includes those that dry-run rules would have sent. */
export function factsFor({ subject, facts, trigger }: KnownCase, history: History, mode: ActiveMode): Facts {
  return { ...facts, replies: history.repliesTo(subject, trigger.at, mode) };
}

interface WaitingRule {
  readonly rule: Rule;
  readonly mode: ActiveMode;
}

/**
 * The rules that wait for a trigger, in the file's order. A delayed trigger names its rules since its event happened: a
 * change of `after` affects later triggers only.
 */
function rulesFor(rules: readonly Rule[], trigger: Trigger, maxMode: Mode): WaitingRule[] {
  const { kind, idle, afterSeconds, rules: names } = trigger;
  const isSameIdle = (rule: Rule) => idle === rule.idle || (idle && rule.idle && idleKey(idle) === idleKey(rule.idle));
  const isDelayedFor = names !== undefined && afterSeconds !== undefined;
  return rules.flatMap((rule) => {
    if (rule.on !== kind || !isSameIdle(rule) || names?.includes(rule.name) === false) return [];
    if (!isDelayedFor && rule.afterSeconds !== afterSeconds) return [];
    const mode = lesserMode(rule.mode, maxMode);
    return mode === 'off' ? [] : [{ rule, mode }];
  });
}

/** Rules that waited for a delayed trigger, and are off or gone from the file by now. */
function rulesGone(waiting: readonly WaitingRule[], { kind, afterSeconds, rules = [] }: Trigger, maxMode: Mode) {
  if (afterSeconds === undefined) return [];
  const mode: ActiveMode = maxMode === 'live' ? 'live' : 'dry-run';
  const isWaiting = (name: string) => waiting.some(({ rule }) => rule.name === name);
  return rules
    .filter((name) => !isWaiting(name))
    .map((name): Evaluation => {
      const none = { steps: [], limits: {}, maxAgeSeconds: 0, replyLimits: {}, stops: false };
      const rule: Rule = { name, on: kind, mode: 'off', ...none };
      return { rule, mode, isMatched: false, reason: 'rule_gone', isRecorded: true, facts: undefined, actions: [] };
    });
}

/** The modes that a `stop` applies to: a dry-run rule doesn't stop a live rule. */
const stoppedModes = { live: ['live', 'dry-run'], 'dry-run': ['dry-run'] } as const;

function evaluateCase(
  waiting: readonly WaitingRule[],
  each: KnownCase,
  history: History,
  isTooOld: (rule: Rule) => boolean,
): Evaluation[] {
  const { subject, trigger } = each;
  const views = new Map<ActiveMode, { readonly facts: Facts; readonly shape: ReturnType<typeof celFacts> }>();
  const stops = new Map<ActiveMode, string>();

  function isLimitUsedUp({ rule: { name, limits }, mode }: WaitingRule, scope: Scope): boolean {
    const limit = limits[scope];
    return (
      limit !== undefined &&
      history.earlier({ rule: name, mode }, scope, limit.seconds, subject, trigger.at) >= limit.count
    );
  }

  function judge(one: WaitingRule): Pick<Evaluation, 'reason' | 'actions' | 'facts'> {
    const { rule, mode } = one;
    const known = views.get(mode);
    const facts = known?.facts ?? factsFor(each, history, mode);
    const shape = known?.shape ?? celFacts(facts);
    views.set(mode, { facts, shape });
    const refused = (reason: string) => ({ reason, actions: [], facts });
    const stoppedBy = stops.get(mode);
    if (stoppedBy !== undefined) return refused(`stopped:${stoppedBy}`);
    // A reaction quotes a text of ours and asks for no answer.
    const isReactionMeant = rule.condition?.paths.includes('message.is_reaction');
    if (facts.message?.is_reaction && !isReactionMeant) return refused('reaction');
    if (isTooOld(rule)) return refused('too_old');
    try {
      if (rule.condition && !rule.condition.test(shape)) return refused('condition_false');
      const usedUp = scopes.find((scope) => isLimitUsedUp(one, scope));
      if (usedUp !== undefined) return refused(`limit:${usedUp}`);
      return { reason: 'matched', actions: rule.steps.map((step) => actionOf(step, facts)), facts };
    } catch (error) {
      // A library's message can quote the text that it failed on: keep the first line, without quoted parts.
      const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
      return refused(`error: ${line.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '…').slice(0, 200)}`);
    }
  }

  return waiting.map((one) => {
    const { rule, mode } = one;
    const { reason, actions, facts } = judge(one);
    const isMatched = reason === 'matched';
    if (isMatched && rule.stops) {
      for (const stopped of stoppedModes[mode]) if (!stops.has(stopped)) stops.set(stopped, rule.name);
    }
    return { rule, mode, isMatched, reason, isRecorded: leavesRow(trigger, reason), facts, actions };
  });
}

function actionOf(step: Step, facts: Facts): Action {
  switch (step.kind) {
    case 'reply':
    case 'comment':
    case 'notify':
      return { ...step, text: step.text.render(facts) };
    case 'resolve':
      return { kind: 'resolve', comment: step.comment?.render(facts) || undefined };
    case 'webhook':
      return { ...step, facts: chosenFacts(facts, step.facts) };
    default:
      return step;
  }
}

function matchOf({ rule, mode, actions }: Evaluation, { line, number }: Pair, at: Date): Match {
  const kinds = new Set(actions.map(({ kind }) => kind));
  return {
    line,
    number,
    rule: rule.name,
    mode,
    at,
    reply: kinds.has('reply') ? 'waiting' : 'none',
    doesMore: !kinds.has('reply') || actions.some(({ kind }) => kind !== 'reply' && kind !== 'resolve'),
  };
}
