import { z } from 'zod';
import { weekdays } from '../facts/hours.ts';
import { triggerKinds } from '../triggers.ts';
import { budgets, countries } from './budgets.ts';
import {
  allowanceOf,
  allowancePattern,
  clockSpan,
  clockSpanPattern,
  durationPattern,
  durationSeconds,
} from './durations.ts';

/** The first line of an `error` says what is wrong, the second what to do about it. */
const duration = z.string().regex(durationPattern, {
  error: 'This is no duration.\nWrite a whole number and s, m, h or d, such as 90s, 10m, 48h or 7d.',
});
/** What rules have done is remembered for longer than any allowance looks back. */
const longestAllowanceSeconds = 366 * 86_400;
const allowance = z
  .string()
  .regex(allowancePattern, {
    error: 'This is no allowance.\nWrite how often and in what time, such as "1 per 12h".',
  })
  .refine((text) => !allowancePattern.test(text) || allowanceOf(text).seconds <= longestAllowanceSeconds, {
    error: 'This looks back further than a year.\nWrite 366d or less.',
  });
const clock = z
  .string()
  .regex(clockSpanPattern, { error: 'This is no span of a day.\nWrite two times of 24 hours, such as "09:00-17:30".' })
  .refine((text) => !clockSpanPattern.test(text) || clockSpan(text).to > clockSpan(text).from, {
    error:
      'It ends before it begins.\nSplit a span over midnight in two: one until 24:00, one from 00:00 the next day.',
  });
const quietPattern = new RegExp(`^none$|${clockSpanPattern.source}`);

/** A span that ends where it begins would hold nothing back, where all was meant. */
function isWholeDay(text: string): boolean {
  if (!clockSpanPattern.test(text)) return false;
  const { from, to } = clockSpan(text);
  return from === to % 1_440;
}

const day = z
  .string()
  .refine((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.slice(0, 10) === text, {
    error: 'This is no day.\nWrite year, month and day, such as 2026-12-25.',
  });

const template = z.string().min(1, { error: 'The text is empty.\nWrite what is to be said.' });

const resolve = z.strictObject({
  comment: template.optional().describe('Internal note (Liquid), never shown to the other party.'),
  user: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Id of the user to credit, with an API key. With a login the service credits whoever logged in, and this is left out.',
    ),
});
const block = z.strictObject({
  reason: template.optional().describe('Kept with the block (Liquid), never shown to the other party.'),
});

/** What tells a machine from a person can be eased, not switched off. */
const machineCount = z
  .int()
  .min(2, { error: 'Once is no sign of a machine.\nWrite 2 or more.' })
  .max(20, { error: 'A machine would be answered too often.\nWrite 20 or less.' });

/** One step of `do`: an object with a single key. */
const step = z
  .strictObject({
    reply: template.describe('Text to send (Liquid). Costs money; goes through the ledger. At most one a rule.'),
    resolve: z.union([z.literal(true), resolve]).describe('Resolve the conversation; waits for the rule’s reply.'),
    reopen: z.literal(true).describe('Reopen the conversation.'),
    assign: z
      .union([z.int().min(1), z.string().min(1)])
      .describe(
        'A user’s id, username or e-mail; `agent` for whoever talked on the call; `line` for the first user of the line; `nobody`.',
      ),
    comment: template.describe('Internal note (Liquid), never shown to the other party.'),
    block: z.union([z.literal(true), block]).describe('Block the sender on this line. Nothing undoes it.'),
  })
  .partial()
  .refine((given) => Object.keys(given).length === 1, {
    error: 'A step does one thing.\nGive it one key, and write other steps as items of their own.',
  });

/** One item of `rules`. */
export const ruleSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,62}$/, {
        error: 'This is no name of a rule.\nUse lower-case letters, digits and dashes, beginning with a letter.',
      })
      .describe('Names the rule for good: what it did is remembered by it.'),
    description: z.string().optional().describe('For people.'),
    on: z.enum(triggerKinds).describe('What the rule waits for.'),
    for: duration.optional().describe('How long the thread was silent; with `on: thread_idle`, and only there.'),
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
        per_thread: allowance.describe('How often it acts on one thread.'),
        per_line: allowance.describe('How often it acts on one line.'),
        per_account: allowance.describe('How often it acts at all.'),
        max_age: duration
          .refine((text) => !durationPattern.test(text) || durationSeconds(text) <= 86_400, {
            error: 'This is longer than a day.\nWrite 24h or less: what is older makes no rule act.',
          })
          .describe('An older trigger is left alone. Default: 10m; 24h for thread_idle.'),
        human_pause: duration.describe('No reply within this time of a person’s own text. Default: 30m.'),
        quiet_hours: z
          .string()
          .regex(quietPattern, {
            error:
              'These are no quiet hours.\nWrite a span such as "21:00-08:00", or none for rules that answer at once.',
          })
          .refine((text) => !isWholeDay(text), {
            error: 'These hours have no begin and no end.\nWrite a span of less than a day, or mode: off.',
          })
          .describe('Local times of the recipient between which a reply waits. Default: those of the ledger.'),
        same_texts: machineCount.describe(
          'The same text so often within a day, while rules answer, is taken for a machine’s and not answered (loop_identical). Default: 3.',
        ),
        quick_answers: machineCount.describe(
          'So many replies of rules in a row, each followed by a text within 4 seconds, are taken to be answered by a machine, and no further one is sent (loop_too_fast). Default: 2.',
        ),
      })
      .partial()
      .optional(),
    stop: z.boolean().default(false).describe('When it matches, later rules are not tried on the same trigger.'),
    mode: z
      .enum(['off', 'dry-run', 'live'])
      .default('live')
      .describe('Holds the rule back; it never does more than RULES_MODE allows.'),
  })
  .superRefine((given, context) => {
    if (given.on === 'thread_idle' && given.for === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['on'],
        message: 'thread_idle needs `for`.\nSay how long, such as for: 48h.',
      });
    }
    if (given.on !== 'thread_idle' && given.for !== undefined) {
      context.addIssue({
        code: 'custom',
        path: ['for'],
        message: '`for` belongs to thread_idle.\nRemove it, or use on: thread_idle.',
      });
    }
    given.do.forEach((each, at) => {
      if (each.assign === 'agent' && (given.on === 'message_received' || given.on === 'thread_idle')) {
        context.addIssue({
          code: 'custom',
          path: ['do', at, 'assign'],
          message: `${given.on} has no call, and so no agent.\nWrite line, nobody, or a user’s id, username or e-mail.`,
        });
      }
    });
    const replies = given.do.flatMap((each, at) => (each.reply === undefined ? [] : [at]));
    if (replies[1] !== undefined) {
      context.addIssue({
        code: 'custom',
        path: ['do', replies[1]],
        message: 'A rule sends one reply at most.\nWrite one text, or a second rule.',
      });
    }
  });

const spans = z.union([clock, z.array(clock)]);

/** The whole file. The JSON Schema that editors complete with is generated from it. */
export const rulesSchema = z.strictObject({
  business_hours: z
    .strictObject({
      ...(Object.fromEntries(weekdays.map((name) => [name, spans.optional()])) as Record<
        (typeof weekdays)[number],
        z.ZodOptional<typeof spans>
      >),
      holidays: z.array(day).optional().describe('Local days on which it is closed.'),
    })
    .optional()
    .describe(
      'When `hours.is_open` is true, in TIME_ZONE; a day that is left out is closed. Default: Monday to Friday, 09:00-17:00.',
    ),
  budgets: budgets
    .optional()
    .describe('What automatic texts may use up in a day (UTC), whatever rules say. They hold with a default, too.'),
  countries: countries
    .optional()
    .describe(
      'Calling codes of the countries that replies may go to, such as "+44"; "+1" is the United States and Canada. Default: the countries of the account\u2019s own lines. Premium-rate and satellite numbers are never texted.',
    ),
  rules: z.array(ruleSchema).max(500).describe('Tried in this order.'),
});

export type RulesFile = z.output<typeof rulesSchema>;
export type WrittenRule = RulesFile['rules'][number];

/** The schema for editors, as `config/rules.schema.json` has it. */
export function rulesJsonSchema(): object {
  return z.toJSONSchema(rulesSchema, { target: 'draft-7', io: 'input' });
}
