import type { Rule } from '../rule.ts';
import type { Places } from './places.ts';
import type { RulesProblem } from './problem.ts';

/**
 * Rules that stand in each other's way whatever happens: one behind a `stop` that is always reached first, and two replies to
 * one trigger. Only what is certain from the file alone is told; the order of `rules` is that of the file.
 */
export function doubtsAbout(rules: readonly Rule[], places: Places): RulesProblem[] {
  return rules.flatMap((rule, at) => {
    if (rule.mode === 'off') return [];
    const before = rules.slice(0, at).filter((each) => each.mode !== 'off' && isTriedTogether(each, rule));
    const stopping = before.find(
      (each) =>
        each.stops &&
        !isLimited(each, rule) &&
        demandsLess(each, rule) &&
        (each.mode === 'live' || rule.mode === 'dry-run'),
    );
    if (stopping) {
      return [
        {
          ...places.ofValue(['rules', at, 'name']),
          message: `${rule.name} is never tried: whenever it would match, ${stopping.name} above matches first and stops.`,
          cure: `Move it above ${stopping.name}, narrow the condition of ${stopping.name}, or write mode: off.`,
        },
      ];
    }
    const step = replyOf(rule);
    const other = before.find((each) => replyOf(each) >= 0 && !each.stops && demandsLess(each, rule));
    if (step < 0 || !other) return [];
    return [
      {
        ...places.ofKey(['rules', at, 'do', step, 'reply']),
        message: `Two replies to one trigger: when ${rule.name} matches, ${other.name} above matches and replies as well.`,
        cure: `Add stop: true to ${other.name}, or conditions of which only one can hold.`,
      },
    ];
  });
}

function replyOf({ steps }: Rule): number {
  return steps.findIndex(({ kind }) => kind === 'reply');
}

function isTriedTogether(a: Rule, b: Rule): boolean {
  return a.on === b.on && a.idleSeconds === b.idleSeconds;
}

/** Whether the first rule may leave a trigger to the second because of its limits. */
function isLimited(first: Rule, second: Rule): boolean {
  return Object.keys(first.limits).length > 0 || first.maxAgeSeconds < second.maxAgeSeconds;
}

/** Whether the condition of the first rule holds whenever that of the second does: it demands nothing else. */
function demandsLess(first: Rule, second: Rule): boolean {
  const demanded = new Set(demandsOf(second));
  return demandsOf(first).every((each) => demanded.has(each));
}

function demandsOf({ condition }: Rule): string[] {
  return (condition?.clauses ?? []).map(({ text }) => text.replace(/\s+/g, ' '));
}
