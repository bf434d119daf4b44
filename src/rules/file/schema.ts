import { z } from 'zod';
import {
  type AccountLimits,
  ceilings,
  defaultAccountLimits as defaults,
  defaultRuleLimits as ruleDefaults,
} from '../../ledger/limits.ts';
import { dayMs } from '../../shared/time-range.ts';
import { zoneRemedy } from '../../shared/time-zone.ts';
import { type CallBackNeed, reachedValues } from '../../warehouse/call-facts.ts';
import { typedNumber } from '../../warehouse/phone-numbers.ts';
import { type Opening, weekdays } from '../business-hours.ts';
import { type FactGroup, groupsOf, unknownFact } from '../facts/declared.ts';
import { type Allowance, modes } from '../rule.ts';
import { triggerKinds } from '../triggers.ts';

/* The schema of the rules file. The first line of an `error` is the problem, the second the remedy. */

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds of a duration such as `90s`, `10m`, `48h` or `7d`. */
function secondsOf(text: string): number {
  return Number(text.slice(0, -1)) * (unitSeconds[text.slice(-1)] ?? Number.NaN);
}

/** Seconds as a duration of the file, in the largest unit that fits. */
export function durationOf(seconds: number): string {
  const [unit, size] = Object.entries(unitSeconds).findLast(([, each]) => seconds % each === 0) ?? ['s', 1];
  return `${seconds / size}${unit}`;
}

const noDuration = {
  error: 'This is not a duration.\nWrite a whole number and s, m, h or d, such as 90s, 10m, 48h or 7d.',
};
const duration = z
  .string(noDuration)
  .regex(/^[1-9]\d{0,4}[smhd]$/, noDuration)
  .transform(secondsOf);

/** Runs that matched are kept for longer than this. */
const maxAllowanceSeconds = 366 * 86_400;

const businessTime = /^([1-9]\d{0,3}) business (minute|hour)s?$/;

/** A time by the clock, or of business hours. */
const idle = z
  .string()
  .regex(new RegExp(`^[1-9]\\d{0,4}[smhd]$|${businessTime.source}`), {
    error: 'This is not a duration.\nWrite one such as 90s, 10m, 48h or 7d; 30 business minutes, 4 business hours.',
  })
  .transform((text) => {
    const [, count, unit = ''] = businessTime.exec(text) ?? [];
    if (count === undefined) return { seconds: secondsOf(text), isBusiness: false };
    return { seconds: Number(count) * (unitSeconds[unit.charAt(0)] ?? Number.NaN), isBusiness: true };
  })
  .refine(({ seconds, isBusiness }) => !isBusiness || seconds <= maxBusinessSeconds, {
    error: 'This is longer than 500 business hours.\nWrite less, or a time by the clock, such as 60d.',
  });
const maxBusinessSeconds = 500 * 3_600;

const maxDelaySeconds = 30 * 86_400;

const allowance = z
  .string()
  .regex(/^([1-9]\d{0,5}) per ([1-9]\d{0,4}[smhd])$/, {
    error: 'This is not a limit.\nWrite how often and in what time, such as "1 per 12h".',
  })
  .transform((text): Allowance => {
    const [count = '', time = ''] = text.split(' per ');
    return { count: Number(count), seconds: secondsOf(time) };
  })
  .refine(({ seconds }) => seconds <= maxAllowanceSeconds, {
    error: 'This is longer than a year.\nWrite 366d or less.',
  });

const clockSpan = /^([01]\d|2[0-3]):([0-5]\d)-(([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

/** Minutes since midnight of a span such as `09:00-17:30`. */
function openingOf(text: string): Opening {
  const [from = 0, to = 0] = text.split('-').map((time) => {
    const [hours = 0, minutes = 0] = time.split(':').map(Number);
    return hours * 60 + minutes;
  });
  return { from, to };
}

const opening = z
  .string()
  .regex(clockSpan, { error: 'This is not a time span.\nWrite two times of 24 hours, such as "09:00-17:30".' })
  .transform(openingOf)
  .refine(({ from, to }) => to > from, {
    error:
      'It ends before it begins.\nSplit a span over midnight in two: one until 24:00, one from 00:00 the next day.',
  });
const openings = z
  .union([opening, z.array(opening)])
  .transform((given) => (Array.isArray(given) ? given : [given]).sort((a, b) => a.from - b.from));

const quietHours = z
  .string()
  .regex(new RegExp(`^none$|${clockSpan.source}`), {
    error: 'These are not quiet hours.\nWrite a span such as "21:00-08:00", or none for rules that answer at once.',
  })
  .transform((text) => {
    const [from = '', to = ''] = text.split('-');
    return text === 'none' ? text : { from, to: to === '24:00' ? '00:00' : to };
  })
  // A span that ends where it begins would be empty, although a whole day was probably meant.
  .refine((given) => given === 'none' || given.from !== given.to, {
    error: 'These quiet hours start and end at the same time.\nWrite a span of less than a day, or mode: off.',
  });

/** A date, or a day of each year as one of a leap year. */
function dateOf(text: string): number {
  const written = /^\d\d-\d\d$/.test(text) ? `2000-${text}` : text;
  const at = Date.parse(`${/^\d{4}-\d\d-\d\d$/.test(written) ? written : ''}T00:00Z`);
  return at > 0 && new Date(at).toJSON().slice(0, 10) === written ? at : Number.NaN;
}

const maxDays = 366;

/** The days of `2026-12-25`, `12-25` or a range such as `2026-12-24..2027-01-02`. Undefined for anything else. */
function daysOf(text: string): string[] | undefined {
  const [first = '', last = first, ...more] = text.split('..').map((each) => each.trim());
  const [from, to] = [dateOf(first), dateOf(last)];
  if (more.length > 0 || first.length !== last.length || !(to >= from) || (to - from) / dayMs >= maxDays)
    return undefined;
  const count = (to - from) / dayMs + 1;
  return Array.from({ length: count }, (_, at) => new Date(from + at * dayMs).toJSON().slice(10 - first.length, 10));
}

const dayError = {
  error:
    'This is not a date.\nWrite 2026-12-25, 12-25 for every year, or a range such as 2026-12-24..2027-01-02 or 12-24..12-31.',
};
const holidays = z
  .array(z.string().refine((text) => daysOf(text) !== undefined, dayError))
  .transform((given) => given.flatMap((text) => daysOf(text) ?? []));
const days = z.record(
  z.string().refine((text) => Number.isFinite(dateOf(text)), dayError),
  openings,
);
const timeZone = z.string().refine((name) => zoneRemedy(name) === undefined, {
  error: ({ input }) => `This is not a time zone.\n${zoneRemedy(String(input))}`,
});

const calendar = {
  ...(Object.fromEntries(weekdays.map((name) => [name, openings.optional()])) as Record<
    (typeof weekdays)[number],
    z.ZodOptional<typeof openings>
  >),
  holidays: holidays
    .optional()
    .describe('Local days on which it is closed: 2026-12-25, 12-25 for every year, 2026-12-24..2027-01-02.'),
  days: days
    .optional()
    .describe(
      'Local days with hours of their own, such as half days: 12-24: 09:00-12:00. A date goes before a day of every year.',
    ),
};

const microsPerDollar = 1_000_000;

const budget = (type: z.ZodInt | z.ZodNumber, max: number) =>
  type
    .min(0, { error: 'This is below 0.\nWrite 0 to send none, or more.' })
    .max(max, { error: `This is more than a day may use.\nWrite ${max} or less: every budget has a limit.` });
const replies = (max: number) => budget(z.int(), max);
const dollars = (maxMicros: number) => budget(z.number(), maxMicros / microsPerDollar);

const budgets = z
  .strictObject({
    daily_dollars: dollars(ceilings.dailyMicros).describe(
      `What replies may cost a day, in US dollars. Default: ${defaults.dailyMicros / microsPerDollar}.`,
    ),
    per_thread: replies(ceilings.perThread).describe(`Replies into one thread a day. Default: ${defaults.perThread}.`),
    per_account: replies(ceilings.perAccount).describe(`Replies a day. Default: ${defaults.perAccount}.`),
  })
  .partial();

// YAML reads an unquoted +44 as a number.
const countries = z
  .array(
    z.union([z.string(), z.number()]).refine((given) => /^\+?(?:[2-9]\d{0,2}|1(?:\d{3})?)$/.test(String(given)), {
      error:
        'This is not a calling code.\nWrite the digits that the country\u2019s numbers begin with, such as "+1" or "+44"; "+1876" for a country with an area code of +1.',
    }),
  )
  .min(1, {
    error: 'The list is empty.\nName a country, or remove the key to allow those of the account\u2019s own lines.',
  });

/** The account's budgets as the ledger takes them, without those that the file leaves out. */
export function accountLimitsOf({ budgets: written = {}, countries: allowed }: RulesFile): Partial<AccountLimits> {
  const microsOf = (amount: number | undefined) =>
    amount === undefined ? undefined : Math.round(amount * microsPerDollar);
  const limits = {
    perThread: written.per_thread,
    perAccount: written.per_account,
    dailyMicros: microsOf(written.daily_dollars),
    countries: allowed?.map((code) => String(code).replace('+', '')),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

const template = z.string().min(1, { error: 'The text is empty.\nWrite a text.' });

// YAML reads an unquoted number as a number.
const ownLine = z.union([z.string(), z.number()]).transform((given, context) => {
  const typed = typedNumber(String(given));
  if ('number' in typed) return typed.number;
  const message = `This is not a line, but ${typed.problem}.\nWrite one of the account’s numbers that can text, such as "16465550100".`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const target = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/, {
    error: 'This is not the name of a target.\nWrite one of the names in NOTIFY_TARGETS, such as support.',
  })
  .describe('A name in NOTIFY_TARGETS.');

/** An error for anything but `true` and, if allowed, keys: it names what to write. */
const onlyTrue = (written: string) => z.literal(true, { error: `This is not \`true\`.\nWrite ${written}.` });

const maxApprovalSeconds = 7 * 86_400;

const approve = z.strictObject({
  expires: duration
    .refine((seconds) => seconds <= maxApprovalSeconds, {
      error: 'This is longer than a week.\nWrite 7d or less: an answer that late helps nobody.',
    })
    .optional()
    .describe('How long it waits. Default: 24h.'),
  notify: target.optional().describe('Whom to tell that it waits: a name in NOTIFY_TARGETS.'),
});
const reply = z.strictObject({
  text: template.describe('Text to send (Liquid).'),
  approve: z
    .union([onlyTrue('approve: true, or keys such as approve: { expires: 4h }'), approve])
    .optional()
    .describe('Wait until a person approves the text; without an approval it expires.'),
  from: ownLine
    .optional()
    .describe(
      'The line that sends it, for rules on calls. Default: the line that was called, which has to be one that can text.',
    ),
});

const resolve = z.strictObject({
  comment: template.optional().describe('Internal note (Liquid), never shown to the other party.'),
});

/** An error for a value that isn't a mapping: it names what to write. */
const writtenAs = (example: string) => ({
  error: ({ code }: { code: string }) =>
    code === 'invalid_type' ? `This step needs keys of its own.\nWrite ${example}.` : undefined,
});
const notify = z.strictObject(
  { to: target, text: template.describe('What to say (Liquid).') },
  writtenAs('notify: { to: support, text: … }'),
);
const webhook = z.strictObject(
  {
    to: target,
    facts: z
      .array(z.string())
      .min(1, { error: 'The list is empty.\nName a fact, or remove the key to send all of the trigger.' })
      .optional()
      .describe(
        'Facts to send, such as `transcript.summary`, or whole groups, such as `call`. Default: all of the trigger.',
      ),
  },
  writtenAs('webhook: { to: crm }'),
);

const noUser = {
  error:
    'This is no user.\nWrite a user’s id, username or e-mail, line, agent or nobody right after `assign:`, such as assign: pat@example.com.',
};

/** One step of `do`: an object with a single key. */
const step = z
  .strictObject({
    reply: z
      .union([template, reply])
      .describe('Text to send (Liquid). Costs money; goes through the ledger. At most one a rule.'),
    resolve: z
      .union([onlyTrue('resolve: true, or resolve: { comment: … }'), resolve])
      .describe('Resolve the conversation; waits for the rule’s reply.'),
    reopen: onlyTrue('reopen: true').describe('Reopen the conversation.'),
    assign: z
      .union([z.int(noUser).min(1, noUser), z.string().min(1, noUser)])
      .describe(
        'A user’s id, username or e-mail; `agent` for whoever talked on the call; `line` for the first user of the line; `nobody`.',
      ),
    comment: template.describe('Internal note (Liquid), never shown to the other party.'),
    notify: notify.describe('Tell people of yours, by Slack, e-mail or a webhook. At most 60 an hour for each target.'),
    webhook: webhook.describe('Post facts of the trigger as JSON to a system, signed.'),
  })
  .partial()
  .refine((given) => Object.keys(given).length === 1, {
    error: 'A step does one thing.\nGive it one key, and write other steps as items of their own.',
  });

/** One item of `rules`. */
const ruleSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,62}$/, {
        error: 'This is not a rule name.\nUse lower-case letters, digits and dashes, beginning with a letter.',
      })
      .describe('Identifies the rule: what it did is recorded under this name.'),
    on: z.enum(triggerKinds).describe('What the rule waits for.'),
    for: idle
      .optional()
      .describe(
        'How long the thread was idle; with `on: thread_idle`, and only there. `30 business minutes` and `4 business hours` count while `hours.is_open`.',
      ),
    after: duration
      .refine((seconds) => seconds <= maxDelaySeconds, { error: 'This is longer than a month.\nWrite 30d or less.' })
      .optional()
      .describe('Evaluates the rule so long after the event, on the facts of then.'),
    if: z
      .string()
      .min(1, { error: 'The condition is empty.\nWrite one, or remove `if`: without it, every trigger matches.' })
      .optional()
      .describe('CEL over the facts of the trigger. Without it, every trigger matches.'),
    do: z
      .array(step)
      .min(1, { error: 'There is nothing to do.\nWrite at least one step.' })
      .describe('Steps, in order.'),
    limits: z
      .strictObject({
        per_thread: allowance.describe('How often it acts on one thread: a line and an outside number.'),
        per_contact: allowance.describe('How often it acts on one outside number, on whatever line.'),
        max_age: duration
          .refine((seconds) => seconds <= 86_400, {
            error: 'This is longer than a day.\nWrite 24h or less: rules never act on older triggers.',
          })
          .describe(
            `An older trigger is ignored. Default: ${durationOf(ruleDefaults.maxAgeSeconds)}; 24h for thread_idle.`,
          ),
        human_pause: duration.describe(
          `No reply within this time after a text by a user of the account. Default: ${ruleDefaults.humanMinutes}m.`,
        ),
        quiet_hours: quietHours.describe(
          `Local times of the recipient between which a reply waits. Default: ${ruleDefaults.quietHours.from}-${ruleDefaults.quietHours.to}.`,
        ),
      })
      .partial()
      .optional(),
    stop: z.boolean().default(false).describe('When it matches, later rules are not evaluated on the same trigger.'),
    mode: z.enum(modes).default('live').describe('Limits the rule; it never does more than RULES_MODE allows.'),
  })
  .superRefine((given, context) => {
    const problem = (path: PropertyKey[], message: string) =>
      context.addIssue({ code: 'custom', path, message, input: given });
    if (given.on === 'thread_idle' && given.for === undefined) {
      problem(['on'], 'thread_idle needs `for`.\nSay how long, such as for: 48h.');
    }
    if (given.on !== 'thread_idle' && given.for !== undefined) {
      problem(['for'], '`for` belongs to thread_idle.\nRemove it, or use on: thread_idle.');
    }
    if (given.on === 'thread_idle' && given.after !== undefined) {
      problem(['after'], 'An idle thread is late already.\nRemove `after`, and say in `for` how long it was idle.');
    }
    for (const [at, { assign }] of given.do.entries()) {
      if (assign !== 'agent' || (given.on !== 'message_received' && given.on !== 'thread_idle')) continue;
      const remedy = 'Write line, nobody, or a user’s id, username or e-mail.';
      problem(['do', at, 'assign'], `${given.on} has no call, and so no agent.\n${remedy}`);
    }
    for (const [at, { reply }] of given.do.entries()) {
      if (typeof reply !== 'object' || reply.from === undefined) continue;
      if (given.on !== 'message_received' && given.on !== 'thread_idle') continue;
      problem(['do', at, 'reply', 'from'], `${given.on} is answered in its own thread.\nRemove from.`);
    }
    for (const [at, { webhook }] of given.do.entries()) {
      for (const [index, path] of (webhook?.facts ?? []).entries()) {
        const [group = '', fact] = path.split('.');
        const isGroup = path === 'now' || (fact === undefined && groupsOf[given.on].includes(group as FactGroup));
        const unknown = isGroup ? undefined : unknownFact(given.on, group, fact);
        if (unknown) problem(['do', at, 'webhook', 'facts', index], `${unknown.message}\n${unknown.remedy}`);
      }
    }
    const [, second] = given.do.flatMap(({ reply }, at) => (reply === undefined ? [] : [at]));
    if (second !== undefined) {
      problem(['do', second], 'A rule sends one reply at most.\nWrite one text, or a second rule.');
    }
  });

const defaultNeed = { reached: ['queue', 'rang', 'mailbox'], seconds: 5 } as const satisfies CallBackNeed;

const missed = z
  .strictObject({
    reached: z
      .array(z.enum(reachedValues))
      .min(1, { error: 'No call would ever need a call-back.\nName at least one value, or remove `reached`.' })
      .describe(`How far the caller came: a value of \`call.reached\`. Default: ${defaultNeed.reached.join(', ')}.`),
    at_least: duration.describe(`How long the call lasted. Default: ${defaultNeed.seconds}s.`),
  })
  .partial();

/** What the file says about missed calls, with defaults. */
export function callBackNeedOf({ missed: { reached, at_least: seconds } = {} }: RulesFile): CallBackNeed {
  return { reached: reached ?? defaultNeed.reached, seconds: seconds ?? defaultNeed.seconds };
}

/** The whole file. `config/rules.schema.json` says the same to editors. */
export const rulesSchema = z.strictObject({
  business_hours: z
    .strictObject({ ...calendar, time_zone: timeZone.optional().describe('Default: TIME_ZONE.') })
    .optional()
    .describe(
      'When `hours.is_open` is true, and business time in the reports; a day that is left out is closed. Default: Monday to Friday, 09:00-17:00.',
    ),
  offices: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, {
        error: 'This is not a name.\nUse lower-case letters, digits and dashes, beginning with a letter.',
      }),
      z.strictObject({
        lines: z
          .array(ownLine)
          .min(1, { error: 'The office has no line.\nName at least one.' })
          .describe('Lines whose hours these are, for texts and calls.'),
        time_zone: timeZone.optional(),
        ...calendar,
      }),
    )
    .optional()
    .describe(
      'Hours of other lines, by name. What an office leaves out (its time zone, all weekdays, holidays, days) is that of `business_hours`.',
    ),
  missed: missed
    .optional()
    .describe(
      'Which inbound calls that nobody answered need a call-back. Only these are a trigger of `call_missed`, and the reports count them.',
    ),
  budgets: budgets
    .optional()
    .describe('What automatic texts may use in a day (UTC), whatever rules say. Each has a default.'),
  countries: countries
    .optional()
    .describe(
      'Calling codes of the countries that replies may go to, such as "+44"; "+1" is the United States and Canada. Default: the countries of the account\u2019s own lines. Premium-rate and satellite numbers are never texted.',
    ),
  rules: z.array(ruleSchema).max(500).describe('Evaluated in this order.'),
});

export type RulesFile = z.output<typeof rulesSchema>;
export type WrittenRule = RulesFile['rules'][number];
