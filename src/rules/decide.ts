import { type Evaluation, evaluate } from './evaluate.ts';
import type { Case } from './facts/read.ts';
import { type History, matchOf } from './history.ts';
import type { Mode, RuleSet } from './rule.ts';

/** A trigger with what the rules made of it. */
export interface Decision {
  readonly case: Case;
  readonly evaluations: readonly Evaluation[];
}

/**
 * Tries the rules on cases, one after the other: what matches is history for the next. Pure but for the history that it
 * is given. `ageSecondsOf` says how old a trigger is; a simulation takes it to be met at once.
 */
export function decide(
  set: RuleSet,
  mode: Mode,
  cases: readonly Case[],
  history: History,
  ageSecondsOf: (at: Date) => number,
): Decision[] {
  return cases.map((each) => {
    const { trigger, subject, facts } = each;
    const evaluations = evaluate(set, trigger, {
      mode,
      factsFor: (own) =>
        typeof facts === 'string' || !subject
          ? facts
          : { ...facts, replies: history.repliesTo(subject, trigger.at, own) },
      ageSeconds: ageSecondsOf(trigger.at),
      earlier: (rule, own, scope, seconds) =>
        subject ? history.earlier({ rule: rule.name, mode: own }, scope, seconds, subject, trigger.at) : 0,
    });
    if (subject) {
      for (const evaluation of evaluations) {
        if (evaluation.isMatched) history.add(matchOf(evaluation, subject, trigger.at));
      }
    }
    return { case: each, evaluations };
  });
}
