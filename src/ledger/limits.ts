/** What a rule may say about its sends. It tightens the account's limits; none of them can be switched off by it. */
export interface RuleLimits {
  /** A trigger older than so many seconds is not answered; hours of quiet do not count. Default 900. */
  readonly maxAgeSeconds?: number;
  /** Minutes in which a person wrote in the thread, and the rule keeps out of it. Default 30. */
  readonly humanMinutes?: number;
  /** Local times of the recipient between which nothing is sent, `HH:MM`; `none` for rules that answer at once. */
  readonly quietHours?: QuietHours | 'none';
  /** Sends into one thread a day. */
  readonly perThread?: number;
  /** The same text so often within a day, while we answer, comes from a machine. Default 3. */
  readonly sameTexts?: number;
  /** So many sends of ours in a row, each followed by a text within seconds, are answered by a machine. Default 2. */
  readonly quickAnswers?: number;
  /** The send is about a silence: it is denied once they have written again. */
  readonly needsSilence?: boolean;
}

/** From one local time to another, `HH:MM`, usually over midnight. */
export interface QuietHours {
  readonly from: string;
  readonly to: string;
}

/** The budgets of a day (UTC), and whom replies may go to. There is no value that means "without a limit". */
export interface AccountLimits {
  readonly perThread: number;
  readonly perLine: number;
  readonly perAccount: number;
  /** Micro-dollars a day. */
  readonly dailyMicros: number;
  /** Micro-dollars: no segment is counted on to cost less. What the service charges can only raise it. */
  readonly unitMicros: number;
  /** Countries that may be texted, as {@link countryOf} names them; default: those of the account's own lines. */
  readonly countries?: readonly string[];
}

type Amounts = Omit<AccountLimits, 'countries'>;

export const defaultAccountLimits: Amounts = {
  perThread: 3,
  perLine: 500,
  perAccount: 2_000,
  dailyMicros: 5_000_000,
  unitMicros: 50_000,
};

/** Not beyond these, whatever was asked for. */
export const ceilings: Amounts = {
  perThread: 10,
  perLine: 10_000,
  perAccount: 50_000,
  dailyMicros: 1_000_000_000,
  unitMicros: 10_000_000,
};

/** The account's limits as they hold: what is no whole number from 0 is the default, what is beyond reason the ceiling. */
export function accountLimits(given: Partial<AccountLimits> = {}): AccountLimits {
  const limit = (name: keyof Amounts): number => {
    const value = given[name];
    if (value === undefined || !Number.isInteger(value) || value < 0) return defaultAccountLimits[name];
    return Math.min(value, ceilings[name]);
  };
  return {
    perThread: limit('perThread'),
    perLine: limit('perLine'),
    perAccount: limit('perAccount'),
    dailyMicros: limit('dailyMicros'),
    unitMicros: Math.max(1, limit('unitMicros')),
    ...(given.countries !== undefined && { countries: given.countries }),
  };
}

/** The defaults of what a rule may set. */
export const defaultRuleLimits = {
  maxAgeSeconds: 900,
  humanMinutes: 30,
  sameTexts: 3,
  quickAnswers: 2,
  quietHours: { from: '21:00', to: '08:00' },
} as const satisfies RuleLimits;
