import type { Snapshot } from './overview.ts';

/**
 * problem: data is missing or at risk, or sends don't leave. warning: needs attention. notice: for information; it
 * affects neither the verdict nor an exit code.
 */
export const levels = ['problem', 'warning', 'notice'] as const;
export type Level = (typeof levels)[number];

/** What a check found, for the operator. Sentence and remedy are ours alone, since alerts send them to third parties. */
export interface Finding {
  /** The id of the check. */
  readonly check: string;
  readonly level: Level;
  readonly sentence: string;
  readonly remedy: string;
  /** Since when this is known. */
  readonly since: Date | undefined;
  /** Sentences that quote others or name anything of theirs: for pages and terminals alone. */
  readonly detail?: string | undefined;
}

/** What to read after the sentence, where the reader may see all. */
export const adviceOf = ({ detail, remedy }: Pick<Finding, 'detail' | 'remedy'>): string =>
  detail === undefined ? remedy : `${detail} ${remedy}`;

type Nothing = undefined | null | false | 0;

/** A text, or a function that derives it from what was measured. */
type Words<Fact> = string | ((fact: Fact) => string);

/** Everything about a check. Pages, commands, JSON, alerts and metrics are derived from it. */
interface Declaration<Fact, Parts> {
  /** Identifies the check in alerts and metrics, so it must stay the same across releases. */
  readonly id: string;
  /**
   * Returns what is wrong: one fact, or one for each finding. Nothing, false, 0 or an empty list means that all is
   * well.
   */
  measure(parts: Parts): Fact | readonly Fact[] | Nothing;
  readonly level: Level | ((fact: Fact) => Level);
  readonly sentence: Words<Fact>;
  readonly remedy: Words<Fact>;
  since?(fact: Fact): Date | null | undefined;
  detail?(fact: Fact): string | undefined;
  /** Ids of checks whose findings are mere consequences of this one, so their remedies would mislead. */
  readonly hides?: readonly string[];
}

/** A fact that brings its own words. */
export type Told = Omit<Finding, 'check' | 'since'> & { readonly since?: Date | null };

/** The words of a check whose facts bring them. */
export const asTold = {
  level: ({ level }: Told) => level,
  sentence: ({ sentence }: Told) => sentence,
  remedy: ({ remedy }: Told) => remedy,
  since: ({ since }: Told) => since,
  detail: ({ detail }: Told) => detail,
};

/** A check that can be run. */
export interface HealthCheck<Fact = unknown, Parts = Snapshot> {
  readonly id: string;
  readonly hides: readonly string[];
  find(parts: Parts): Finding[];
  /** The finding for a fact that was measured elsewhere. */
  findingOf(fact: Fact): Finding;
}

export function defineCheck<Fact, Parts = Snapshot>(declared: Declaration<Fact, Parts>): HealthCheck<Fact, Parts> {
  const { id, level, sentence, remedy, hides = [] } = declared;
  const say = (words: Words<Fact>, fact: Fact) => (typeof words === 'string' ? words : words(fact));
  const findingOf = (fact: Fact): Finding => ({
    check: id,
    level: typeof level === 'string' ? level : level(fact),
    sentence: say(sentence, fact),
    remedy: say(remedy, fact),
    detail: declared.detail?.(fact),
    since: declared.since?.(fact) ?? undefined,
  });
  return {
    ...{ id, hides, findingOf },
    find(parts) {
      const measured = declared.measure(parts);
      if (!measured) return [];
      return (Array.isArray(measured) ? (measured as readonly Fact[]) : [measured as Fact]).map(findingOf);
    },
  };
}
