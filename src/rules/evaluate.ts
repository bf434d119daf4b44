import type { Facts } from './facts/declared.ts';
import { celFacts, notedFacts } from './facts/shapes.ts';
import type { Assignee, Mode, Rule, RuleSet, Scope, Step } from './rule.ts';
import { lesserMode, scopes } from './rule.ts';
import type { Trigger } from './triggers.ts';

/** A step with its texts written out. */
export type Action =
  | { readonly kind: 'reply'; readonly text: string }
  | { readonly kind: 'resolve'; readonly comment?: string | undefined; readonly userId?: number | undefined }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'assign'; readonly to: Assignee }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'block'; readonly reason?: string | undefined };

/** How far a rule that is tried may go: it acts, or it is on trial. */
export type TriedMode = Exclude<Mode, 'off'>;

/** What came of trying one rule on one trigger. */
export interface Evaluation {
  readonly rule: Rule;
  readonly mode: TriedMode;
  readonly isMatched: boolean;
  /** `matched`, or why not, as `ops.rule_runs.reason` has it. */
  readonly reason: string;
  /** Those that its condition asked for. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Empty unless it matched. */
  readonly actions: readonly Action[];
}

/** Why no rule can act on a trigger: it is gone, has nobody else in it, or is a group's. */
export type Obstacle = 'gone' | 'no_other_party' | 'group_thread';

export interface Circumstances {
  readonly mode: Mode;
  /** As rules of a mode see them: what rules on trial would have done is there for rules on trial alone. */
  factsFor(mode: TriedMode): Facts | Obstacle;
  /** How long ago the trigger was, in seconds. */
  readonly ageSeconds: number;
  /**
   * How often a rule has acted in the seconds before the trigger, in its thread, on its line, or at all; where it is on
   * trial, or would have.
   */
  earlier(rule: Rule, mode: TriedMode, scope: Scope, seconds: number): number;
}

/** A rule that is not off, and how far it may go. */
interface WaitingRule {
  readonly rule: Rule;
  readonly mode: TriedMode;
}

// Found once for a file: every event asks for them.
const waiting = new WeakMap<readonly Rule[], Map<string, readonly WaitingRule[]>>();

/** The rules that wait for a trigger, in the file's order. */
function rulesFor(rules: readonly Rule[], { rules: names, ...trigger }: Trigger, most: Mode): readonly WaitingRule[] {
  const waitingRules = allRulesFor(rules, trigger, most);
  return names ? waitingRules.filter(({ rule }) => names.includes(rule.name)) : waitingRules;
}

function allRulesFor(rules: readonly Rule[], { kind, idleSeconds }: Trigger, most: Mode): readonly WaitingRule[] {
  const known = waiting.get(rules) ?? new Map<string, readonly WaitingRule[]>();
  waiting.set(rules, known);
  const key = `${kind} ${idleSeconds} ${most}`;
  const found =
    known.get(key) ??
    rules.flatMap((rule): WaitingRule[] => {
      const mode = lesserMode(rule.mode, most);
      return mode !== 'off' && rule.on === kind && rule.idleSeconds === idleSeconds ? [{ rule, mode }] : [];
    });
  known.set(key, found);
  return found;
}

/** A trigger as rules of one mode see it. */
interface View {
  readonly facts: Facts | Obstacle;
  /** The facts as conditions take them. */
  readonly shape: Readonly<Record<string, unknown>>;
}

/** Whom a `stop` keeps from a trigger: one of a rule on trial stops no live rule. */
const stoppedWith = { live: ['live', 'dry-run'], 'dry-run': ['dry-run'] } as const;

/**
 * Tries the rules that wait for a trigger, in the file's order: facts in, plans out, and nothing else touched. Live rules do
 * what they would do without those on trial; these meet what they would meet if they were live.
 */
export function evaluate(set: Pick<RuleSet, 'rules'>, trigger: Trigger, circumstances: Circumstances): Evaluation[] {
  const views = new Map<TriedMode, View>();
  const stops = new Map<TriedMode, string>();
  return rulesFor(set.rules, trigger, circumstances.mode).map((waiting) => {
    const { rule, mode } = waiting;
    const view = views.get(mode) ?? viewOf(circumstances.factsFor(mode));
    views.set(mode, view);
    const stoppedBy = stops.get(mode);
    const verdict = stoppedBy === undefined ? judge(waiting, view, circumstances) : { reason: `stopped:${stoppedBy}` };
    const isMatched = verdict.reason === 'matched';
    if (isMatched && rule.stops) {
      for (const each of stoppedWith[mode]) if (!stops.has(each)) stops.set(each, rule.name);
    }
    return {
      rule,
      mode,
      isMatched,
      reason: verdict.reason,
      facts: typeof view.facts === 'string' ? {} : notedFacts(view.facts, rule.condition?.paths ?? []),
      actions: verdict.actions ?? [],
    };
  });
}

function viewOf(facts: Facts | Obstacle): View {
  return { facts, shape: typeof facts === 'string' ? {} : celFacts(facts) };
}

interface Verdict {
  readonly reason: string;
  readonly actions?: readonly Action[];
}

function judge({ rule, mode }: WaitingRule, { facts, shape }: View, { ageSeconds, earlier }: Circumstances): Verdict {
  if (typeof facts === 'string') return { reason: facts };
  if (ageSeconds > rule.maxAgeSeconds) return { reason: 'too_old' };
  try {
    if (rule.condition && !rule.condition.test(shape)) return { reason: 'condition_false' };
    const full = scopes.find((scope) => {
      const limit = rule.limits[scope];
      return limit !== undefined && earlier(rule, mode, scope, limit.seconds) >= limit.count;
    });
    if (full !== undefined) return { reason: `limit:${full}` };
    return { reason: 'matched', actions: rule.steps.map((step) => actionOf(step, facts)) };
  } catch (error) {
    // A library's message can quote the text that it failed on; its first line, without what is in quotes, does not.
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { reason: `error: ${line.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '…').slice(0, 200)}` };
  }
}

function actionOf(step: Step, facts: Facts): Action {
  switch (step.kind) {
    case 'reply':
    case 'comment':
      return { kind: step.kind, text: step.text.render(facts) };
    case 'resolve':
      return { kind: 'resolve', comment: step.comment?.render(facts) || undefined, userId: step.userId };
    case 'block':
      return { kind: 'block', reason: step.reason?.render(facts) || undefined };
    default:
      return step;
  }
}
