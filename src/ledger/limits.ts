/**
 * What rules may do. `off`: nothing; `dry-run`: they are evaluated and recorded; `live`: their steps are also
 * performed.
 */
export const modes = ['off', 'dry-run', 'live'] as const;
export type Mode = (typeof modes)[number];

/** What a rule can set for its sends. None of these disables an account limit. */
export interface RuleLimits {
  /** Older triggers aren't answered; quiet hours don't count as age. Default 600. */
  readonly maxAgeSeconds?: number | undefined;
  /** The rule sends nothing to a thread in which a person of the account wrote within these minutes. Default 30. */
  readonly humanMinutes?: number | undefined;
  /** Recipient's local times between which nothing is sent. `none` for rules that may answer at any hour. */
  readonly quietHours?: QuietHours | 'none' | undefined;
  /** The send follows up on an idle thread. Deny it if the other party has written again. */
  readonly isFollowUp?: boolean | undefined;
  /** Seconds between the event and the trigger: texts written in between count as later. */
  readonly delaySeconds?: number | undefined;
  /**
   * A person has to approve the text before it leaves, within these seconds after it was planned. `notify`: the name in
   * NOTIFY_TARGETS to tell.
   */
  readonly approval?: { readonly expiresSeconds: number; readonly notify?: string | undefined } | undefined;
}

/** From one local time to another, `HH:MM`; usually spans midnight. */
export interface QuietHours {
  readonly from: string;
  readonly to: string;
}

/** The budgets of a day (UTC) and the allowed countries. No value means "unlimited". */
export interface AccountLimits {
  readonly perThread: number;
  readonly perAccount: number;
  /** Micro-dollars a day. */
  readonly dailyMicros: number;
  /** Micro-dollars: the minimum reserved per segment. Prices charged by the service can only raise it. */
  readonly unitMicros: number;
  /** Prefixes of countries that may be texted. Default: the countries of the account's own lines. */
  readonly countries?: readonly string[];
}

type Amounts = Omit<AccountLimits, 'countries'>;

export const defaultAccountLimits: Amounts = {
  perThread: 3,
  perAccount: 2_000,
  dailyMicros: 5_000_000,
  unitMicros: 50_000,
};

/** The maximum an owner can set. */
export const ceilings: Amounts = {
  perThread: 10,
  perAccount: 50_000,
  dailyMicros: 1_000_000_000,
  unitMicros: 10_000_000,
};

/** Fills in the limits. Replaces anything but a non-negative whole number by the default, and applies the ceilings. */
export function accountLimits(given: Partial<AccountLimits> = {}): AccountLimits {
  const limit = (name: keyof Amounts): number => {
    const value = given[name];
    if (value === undefined || !Number.isInteger(value) || value < 0) return defaultAccountLimits[name];
    return Math.min(value, ceilings[name]);
  };
  return {
    perThread: limit('perThread'),
    perAccount: limit('perAccount'),
    dailyMicros: limit('dailyMicros'),
    unitMicros: Math.max(1, limit('unitMicros')),
    ...(given.countries !== undefined && { countries: given.countries }),
  };
}

/** How long a text waits for a person to approve it. */
export const defaultApprovalSeconds = 86_400;

export const defaultRuleLimits = {
  maxAgeSeconds: 600,
  humanMinutes: 30,
  quietHours: { from: '21:00', to: '08:00' },
} as const satisfies RuleLimits;
