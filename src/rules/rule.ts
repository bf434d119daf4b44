import { type AccountLimits, type Mode, modes, type RuleLimits } from '../ledger/limits.ts';
import type { CallBackNeed } from '../warehouse/call-facts.ts';
import type { Calendars } from './business-hours.ts';
import type { Condition } from './conditions/condition.ts';
import type { Template } from './conditions/template.ts';
import type { FilePosition, RulesProblem } from './file/problems.ts';
import type { Idle, TriggerKind } from './triggers.ts';

export { type Mode, modes };

/** The mode of a rule that is evaluated. */
export type ActiveMode = Exclude<Mode, 'off'>;

/** Why a rule that depends on local times is held back while nobody has chosen their zone. */
export const heldBackWords = 'it speaks of hours, and TIME_ZONE is not set (time_zone_unset)';

/** The more restrictive of two modes. */
export function lesserMode(a: Mode, b: Mode): Mode {
  return modes[Math.min(modes.indexOf(a), modes.indexOf(b))] ?? 'off';
}

/**
 * Whom to assign to. `line`: the first user of the line. `agent`: the user who talked longest on the call, or the first
 * user of the line if none is known. `named`: the user with this username or e-mail.
 */
export type Assignee =
  | { readonly kind: 'user'; readonly userId: number }
  | { readonly kind: 'line' }
  | { readonly kind: 'agent' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'named'; readonly name: string };

type StepWith<Text, Told> =
  /** `from`: the line that sends it; default: the line that was called or written to. */
  | { readonly kind: 'reply'; readonly text: Text; readonly from?: string | undefined }
  | { readonly kind: 'resolve'; readonly comment?: Text | undefined }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'assign'; readonly to: Assignee }
  | { readonly kind: 'comment'; readonly text: Text }
  | { readonly kind: 'notify'; readonly to: string; readonly text: Text }
  | { readonly kind: 'webhook'; readonly to: string; readonly facts?: Told };
/** `facts` of a webhook are names of facts and of groups; default: all of the trigger. */
export type Step = StepWith<Template, readonly string[] | undefined>;
/** A step with its texts rendered, and with the facts themselves. */
export type Action = StepWith<string, object>;

/** The target in NOTIFY_TARGETS that a step notifies. */
export function targetOf(step: Step | Action): string | undefined {
  return step.kind === 'notify' || step.kind === 'webhook' ? step.to : undefined;
}

/** A step in short: `resolve`, or with its target `notify support`. */
export function stepName(step: Step | Action): string {
  return [step.kind, targetOf(step) ?? []].flat().join(' ');
}

/** At most so many times within so many seconds. */
export interface Allowance {
  readonly count: number;
  readonly seconds: number;
}

/** What a limit counts in; `contact` is the outside number on whatever line. */
export const scopes = ['thread', 'contact'] as const;
export type Scope = (typeof scopes)[number];

export interface Rule {
  readonly name: string;
  readonly on: TriggerKind;
  /** Only with thread_idle. */
  readonly idle?: Idle | undefined;
  /** Seconds between the event of the trigger and the evaluation. */
  readonly afterSeconds?: number | undefined;
  /** Without one, every trigger matches. */
  readonly condition?: Condition | undefined;
  readonly steps: readonly Step[];
  readonly limits: { readonly [S in Scope]?: Allowance | undefined };
  readonly maxAgeSeconds: number;
  /** Limits that the ledger applies to the rule's replies. */
  readonly replyLimits: RuleLimits;
  /** Later rules aren't evaluated on a trigger that this one matched. */
  readonly stops: boolean;
  /** The position of a rule that depends on local times of TIME_ZONE. */
  readonly hoursAt?: FilePosition | undefined;
  readonly mode: Mode;
  /** Why its mode is `dry-run` although the file says `live`. */
  readonly heldBack?: 'time_zone_unset' | undefined;
}

/** A user that the file names by id, username or e-mail. */
export interface NamedUser extends FilePosition {
  readonly user: number | string;
}

/** A line that the file names, normalised. `isSender`: it sends replies. */
export interface NamedLine extends FilePosition {
  readonly number: string;
  readonly isSender: boolean;
}

/** A reply, with the segments that its text takes with sample facts. */
export interface SampleReply extends FilePosition {
  readonly rule: string;
  readonly segments: number;
}

/** A target that the file names. */
export interface NamedTarget extends FilePosition {
  readonly name: string;
  readonly kind: 'notify' | 'webhook';
}

/** A valid rules file. */
export interface RuleSet {
  /** The version in force. For a file that isn't applied, the fingerprint of its text. */
  readonly version: string;
  readonly rules: readonly Rule[];
  readonly hours: Calendars;
  /** The first calendar whose dated holidays end, and its last date. Undefined if all are yearly. */
  readonly datesEnd: (FilePosition & { readonly last: string }) | undefined;
  /** What a trigger of `call_missed` is. */
  readonly missed: CallBackNeed;
  /** TIME_ZONE; undefined while nobody has chosen one. */
  readonly timeZone: string | undefined;
  /** The account's budgets that the file sets. The ledger has defaults for the rest. */
  readonly accountLimits: Partial<AccountLimits>;
  /** Users that the file names, to be checked against the directory. */
  readonly users: readonly NamedUser[];
  readonly replies: readonly SampleReply[];
  /** Lines that replies, offices and conditions name: to be checked against the directory. */
  readonly lines: readonly NamedLine[];
  /** Targets that its steps name, to be checked against NOTIFY_TARGETS. */
  readonly targets: readonly NamedTarget[];
  /** What is valid but probably not meant. */
  readonly warnings: readonly RulesProblem[];
}
