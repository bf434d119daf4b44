import * as z from 'zod';
import type { Database } from '../db/database.ts';
import { approveSend, listProposals, type Proposal } from '../ledger/approvals.ts';
import { pauseSends, readControl, resumeSends } from '../ledger/control.ts';
import { decideOptOut, type OptOutDecision } from '../ledger/opt-outs.ts';
import { settleManually } from '../ledger/outcome.ts';
import { cancelSend, rejectSend } from '../ledger/plans.ts';
import { readSend, type SendHistory } from '../ledger/send.ts';
import { decidedWords } from '../ledger/words.ts';
import { toType } from '../shared/command-name.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { price } from '../shared/format.ts';
import { maskNumbers } from '../shared/masking.ts';
import { typedNumber } from '../warehouse/phone-numbers.ts';
import { action, longestReason } from './action.ts';

/* Texts of rules: the kill switch, decisions of people about one text, and opt-outs. */

const id = z
  .string('Name a send by its id.')
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'The id of a send has 36 characters, as its page shows it.');
const why = z
  .string()
  .trim()
  .max(...longestReason)
  .transform((text) => maskNumbers(text))
  .optional()
  .describe('the reason, for the history');
const aboutSend = { words: '<id>', isSigned: true, page: ({ id }: { id: string }) => `/sends/${id}` } as const;

async function sendOf(db: Database, id: string): Promise<SendHistory> {
  const found = await readSend(db, id);
  if (!found) throw new UserError(`There is no send ${id}: the page /sends lists them.`);
  return found;
}

/** Throws why a decision was refused: a worker or another person has decided before, or a request has left. */
async function refuseUnless(isDone: boolean, db: Database, id: string): Promise<void> {
  if (!isDone) throw new UserError(decidedWords(await sendOf(db, id)));
}

async function proposalOf(db: Database, id: string): Promise<Proposal> {
  const [proposal] = await listProposals(db, 1, id);
  if (proposal) return proposal;
  throw new UserError(decidedWords(await sendOf(db, id)));
}

function decideOn(decision: OptOutDecision, help: string) {
  return action({
    name: `opt-outs ${decision}`,
    help,
    words: '<number>',
    args: z.object({
      number: z.string('Name a number, with its country code.'),
      /** When the newest text on the page became known, in milliseconds. */
      seen: z.coerce.number().int().nonnegative().max(8.64e15).optional(),
    }),
    isSigned: true,
    async run({ db }, { number: given, seen }, by) {
      // Pages send a number as it is stored; a command's number is typed.
      const typed = seen === undefined ? typedNumber(given, { orShortCode: true }) : { number: given };
      if ('problem' in typed) throw new WrongUse(`This is ${typed.problem}.`);
      const { number } = typed;
      if (!/^\d{3,15}$/.test(number)) throw new WrongUse('This is no phone number.');
      const decided = { by, ...(seen !== undefined && { seenAt: new Date(seen) }) };
      const result = await decideOptOut(db, number, decision, decided);
      if (result === 'newer_text') throw new UserError('They wrote again meanwhile. Read it first.');
      if (result === 'not_waiting')
        throw new UserError(`${number} waits for no decision, and no opt-out was confirmed: nothing to clear.`);
    },
    done: 'Recorded for all lines, with your name.',
    page: () => '/opt-outs',
  });
}

export const sendActions = [
  action({
    name: 'sends pause',
    help: `The kill switch: nothing is sent until ${toType('sends resume')}. Planned texts wait until they expire.`,
    words: '[why...]',
    args: z.object({ why }),
    isSigned: true,
    run: ({ db }, { why }, by) => pauseSends(db, why === undefined ? `by ${by}` : `${why}, by ${by}`),
    done: 'All texts are paused. Requests under way finish.',
    page: () => '/sends',
  }),
  action({
    name: 'sends resume',
    help: 'Ends the pause.',
    args: z.object({}),
    isSigned: true,
    run: ({ db }, _, by) => resumeSends(db, `by ${by}`),
    done: 'Texts are resumed, as far as RULES_MODE allows.',
    page: () => '/sends',
  }),
  action({
    ...aboutSend,
    name: 'sends approve',
    help: 'Approves a text that waits for it. It leaves if every gate still lets it pass.',
    args: z.object({
      id,
      text: z
        .string()
        .trim()
        .min(1, 'The text is empty: reject it instead.')
        .max(1_600, 'The text has more than 1,600 characters.')
        .optional(),
      /** Identifies what was shown, from {@link listProposals}. */
      seen: z.string().optional(),
    }),
    async question({ db }, { id, text }) {
      const { answers, newerCount, number, seen, ...proposal } = await proposalOf(db, id);
      const { isPaused } = await readControl(db);
      const lines = [
        isPaused && `All texts are paused: it would wait until ${toType('sends resume')}, or expire.`,
        answers !== null && `They wrote: ${answers}`,
        newerCount > 0 && `Texts of theirs since: ${newerCount}. Read the thread first.`,
        `This would be sent to ${number}:\n${text ?? proposal.text}`,
      ];
      return { sentence: lines.filter((line) => line !== false).join('\n'), seen };
    },
    async run({ db }, { id, text, seen }, by) {
      const result = await approveSend(db, id, { by, text, seen: seen ?? (await proposalOf(db, id)).seen });
      if (result === 'changed')
        throw new UserError('Nothing was approved: the text was changed, or they wrote again. Read it again first.');
      await refuseUnless(result === 'done', db, id);
    },
    done: 'Approved. It leaves within seconds, unless all texts are paused, a gate refuses it, or quiet hours hold it: the page /sends shows it.',
  }),
  action({
    ...aboutSend,
    name: 'sends reject',
    help: 'Rejects a text that waits for approval: it is never sent.',
    args: z.object({ id, why }),
    run: async ({ db }, { id, why }, by) => refuseUnless(await rejectSend(db, id, { by, why }), db, id),
    done: 'Rejected: it will never be sent.',
  }),
  action({
    ...aboutSend,
    name: 'sends cancel',
    help: 'Cancels a text of which no request has left.',
    args: z.object({ id }),
    run: async ({ db }, { id }, by) => refuseUnless(await cancelSend(db, id, { by }), db, id),
    done: 'Cancelled: it will never be sent.',
  }),
  action({
    ...aboutSend,
    name: 'sends settle',
    help: 'Records whether a text that needs manual review was sent. Read its thread first; nothing is sent again.',
    words: '<id> <outcome>',
    args: z.object({
      id,
      outcome: z.enum(['sent', 'not-sent'], 'The outcome is sent or not-sent.'),
      force: z.boolean().default(false).describe('also while it is still looked for in its thread (UNKNOWN)'),
    }),
    async question({ db }, { id, outcome, force }) {
      const found = await sendOf(db, id);
      const { state, reservedMicros } = found.send;
      if (state === 'UNKNOWN' && !force)
        throw new UserError('This send is UNKNOWN: it is still looked for in its thread. --force settles it anyway.');
      if (state !== 'UNKNOWN' && state !== 'NEEDS_HUMAN') throw new UserError(decidedWords(found));
      const money = outcome === 'sent' ? 'count as spent' : 'are free again';
      return { sentence: `It would be settled as ${outcome}: ${price(reservedMicros)} ${money}.` };
    },
    async run({ db }, { id, outcome, force }, by) {
      const to = outcome === 'sent' ? 'SENT' : 'NOT_SENT';
      await refuseUnless(await settleManually(db, id, to, { isInsisted: force, by }), db, id);
    },
    done: 'Settled, and nothing was sent again.',
  }),
  decideOn('confirm', 'Records that a number opted out, also one that told you otherwise. A START or `clear` ends it.'),
  decideOn('clear', 'Records that the texts of a number are no opt-out, or ends a confirmed one. It ends no STOP.'),
];
