import type { AccountLimits, RuleLimits } from '../ledger/limits.ts';
import type { Condition } from './conditions/condition.ts';
import type { Template } from './conditions/template.ts';
import type { BusinessHours } from './facts/hours.ts';
import type { Allowance } from './file/durations.ts';
import type { Place } from './file/places.ts';
import type { RulesProblem } from './file/problem.ts';
import type { TriggerKind } from './triggers.ts';

/** How far rules may go: not tried; tried and noted; tried, noted and acting. */
export const modes = ['off', 'dry-run', 'live'] as const;
export type Mode = (typeof modes)[number];

/** The more careful of two modes. */
export function lesserMode(a: Mode, b: Mode): Mode {
  return modes[Math.min(modes.indexOf(a), modes.indexOf(b))] ?? 'off';
}

/**
 * Whom to assign to: a user; the first user of the line; whoever of us talked the longest on the call, and where nobody is
 * known to have, as for the line; nobody; or whoever has a username or e-mail.
 */
export type Assignee =
  | { readonly kind: 'user'; readonly userId: number }
  | { readonly kind: 'line' }
  | { readonly kind: 'agent' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'named'; readonly name: string };

/** One thing that a rule does. */
export type Step =
  | { readonly kind: 'reply'; readonly text: Template }
  | { readonly kind: 'resolve'; readonly comment?: Template | undefined; readonly userId?: number | undefined }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'assign'; readonly to: Assignee }
  | { readonly kind: 'comment'; readonly text: Template }
  | { readonly kind: 'block'; readonly reason?: Template | undefined };

export const scopes = ['thread', 'line', 'account'] as const;
export type Scope = (typeof scopes)[number];

export interface Rule {
  readonly name: string;
  readonly description?: string | undefined;
  readonly on: TriggerKind;
  /** Of a rule on thread_idle. */
  readonly idleSeconds?: number | undefined;
  /** Without one, every trigger matches. */
  readonly condition?: Condition | undefined;
  readonly steps: readonly Step[];
  readonly limits: { readonly [S in Scope]?: Allowance };
  readonly maxAgeSeconds: number;
  /** What the ledger is told of the rule's replies. */
  readonly replyLimits: Pick<RuleLimits, 'humanMinutes' | 'quietHours' | 'sameTexts' | 'quickAnswers'>;
  readonly stops: boolean;
  readonly mode: Mode;
}

/** A user named in the file: an id, or a username or e-mail. */
export interface NamedUser extends Place {
  readonly user: number | string;
}

/** A rules file that was found good. */
export interface RuleSet {
  /** Fingerprint of the file's text. */
  readonly version: string;
  readonly rules: readonly Rule[];
  readonly hours: BusinessHours;
  /** What the file says of the account's budgets; the ledger has a default for each that is left out. */
  readonly accountLimits: Partial<AccountLimits>;
  /** Users whom rules name, for whoever has a directory to look them up in. */
  readonly users: readonly NamedUser[];
  /** What is probably not meant as it is written, though the file can be used. */
  readonly warnings: readonly RulesProblem[];
}
