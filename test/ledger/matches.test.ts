import { expect, test } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { defaultLedgerTiming, type Ledger } from '../../src/ledger/ledger.ts';
import { findMessage, reconcile } from '../../src/ledger/reconcile.ts';
import { findSend, type Send } from '../../src/ledger/send.ts';
import { createLog } from '../../src/shared/log.ts';
import { factsDatabase } from '../reporting/facts.ts';

/* Which text of a thread a send became, by what the mirror and the ledger hold: section 2.6. */

const facts = await factsDatabase();
const { db, insert, lines, query, value } = facts;

const line = '15559990000';
const minutes = 60;
let threads = 0;

/** By the second since the request left. */
const at = (seconds: number) => new Date(Date.UTC(2026, 4, 5, 12) + seconds * 1_000).toISOString();

/** What is said of a text of ours beside its second. */
const marks: Readonly<Record<string, object>> = {
  ...{ user: { sent_by: 7 }, other: { body: 'Other words' }, elsewhere: { to_number: '15551999999' } },
  ...{ scheduled: { is_scheduled: true }, timeless: { sent_at: null }, in: { direction: 'in' } },
};

interface Story {
  /** Texts of the thread as in `3 | 9 user`, by the second at which they left; ids are 1, 2, … */
  readonly texts: string;
  /** When the text that it answers was sent, by the service's clock. Default: 10 s before. */
  readonly triggerAt?: number;
  readonly isCall?: boolean;
  readonly baseline?: readonly number[];
  /** Other sends of the thread, by state, second, and the id of their message where it is known. */
  readonly others?: readonly (readonly [state: string, seconds: number, messageId?: number])[];
}

/** Writes the thread and the sends; answers with the send of unknown outcome, and the id before that of the first text. */
async function write({ texts, triggerAt = -10, isCall = false, baseline = [], others = [] }: Story) {
  threads += 1;
  const first = threads * 1_000;
  const number = `1555100${String(threads).padStart(4, '0')}`;
  const messages = texts.split(' | ').map((text) => {
    const [seconds = '', ...marked] = text.split(' ');
    const own = { body: 'We are open', to_number: number, ...Object.assign({}, ...marked.map((mark) => marks[mark])) };
    return [at(Number(seconds)), 'out', own] as const;
  });
  await facts.thread(threads, messages);
  const plain = { line, number, mode: 'live', body: 'We are open', trigger_kind: 'message', expires_at: at(600) };
  const idOf = (message: number) => first + message - 1;
  for (const [place, [state, seconds, message]] of others.entries()) {
    const times = { trigger_at: at(seconds - 10), planned_at: at(seconds - 5), dispatched_at: at(seconds) };
    const message_id = message === undefined ? null : idOf(message);
    const key = { rule: `other ${place}`, trigger_id: `${first}` };
    await insert('ops.sends', { ...plain, ...key, ...times, state, search_count: 3, message_id });
  }
  const trigger = { trigger_kind: isCall ? 'call' : 'message', trigger_id: `${first}`, trigger_at: at(triggerAt) };
  const times = { planned_at: at(-5), dispatched_at: at(0) };
  const own = { baseline_message_ids: baseline.map(idOf), state: 'UNKNOWN', rule: 'mine', ...trigger, ...times };
  await insert('ops.sends', { ...plain, ...own });
  const sendId = String(await value(`select send_id from ops.sends where number = $1 and rule = 'mine'`, number));
  return { sendId, idOf };
}

const find = (sendId: string): Promise<Send> =>
  findSend(db, sendId).then((send) => send ?? Promise.reject(new Error('no send')));

/** Says which texts match a send, and whether one of them is taken for it. */
async function matchesOf(story: Story): Promise<string> {
  const { sendId, idOf } = await write(story);
  const send = await find(sendId);
  const { matches, match, contested } = await inTransaction(db, (tx) => findMessage(tx, send));
  const ids = matches.map(({ messageId }) => Number(messageId) - idOf(0)).join(' ');
  return contested ? `contested ${ids}` : `${match ? 'is' : 'matches'} ${ids}`.trim();
}

test.each<[result: string, what: string, story: Story]>([
  ['is 1', 'the text that left with it', { texts: '1' }],
  ['is 2', 'the same words of before aside', { texts: '-60 | 1', baseline: [1] }],
  ['matches', 'a text that was there before it left', { texts: '1', baseline: [1] }],
  ['matches', 'a text that a person wrote', { texts: '1 user' }],
  ['matches', 'other words', { texts: '1 other' }],
  ['matches', 'to another number', { texts: '1 elsewhere' }],
  ['matches', 'a text for later', { texts: '1 scheduled' }],
  ['matches', 'a text without a time', { texts: '1 timeless' }],
  ['matches', 'a text of theirs', { texts: '1 in' }],
  ['matches 1 2', 'two texts', { texts: '1 | 2' }],
  // The service's clock need not be ours: an answer is later than its trigger, however far behind that clock is.
  ['is 1', 'the clock is two minutes behind', { texts: '-120' }],
  ['matches', 'it is older than that, and than its trigger', { texts: '-121' }],
  ['is 1', 'the clock is minutes behind, after its trigger', { texts: '-239', triggerAt: -240 }],
  ['matches', 'the clock is minutes behind, before its trigger', { texts: '-241', triggerAt: -240 }],
  ['is 1', 'a quarter of an hour behind', { texts: `${-15 * minutes}`, triggerAt: -3_600 }],
  ['matches', 'more than that', { texts: `${-15 * minutes - 1}`, triggerAt: -3_600 }],
  ['matches', 'the trigger of a call has our clock', { texts: '-239', triggerAt: -240, isCall: true }],
  ['is 1', 'a quarter of an hour ahead', { texts: `${15 * minutes}` }],
  ['matches', 'more than that', { texts: `${15 * minutes + 1}` }],
  ['is 1', 'hours ahead, soon after its trigger', { texts: `${180 * minutes + 1}`, triggerAt: 180 * minutes }],
  ['matches', 'hours ahead, an hour after its trigger', { texts: `${240 * minutes}`, triggerAt: 180 * minutes }],
  // Other sends of the thread with the same words.
  ['is 2', 'another send is known to have become the other', { texts: '1 | 2', others: [['SENT', -1, 1]] }],
  ['matches', 'another send is known to have become it', { texts: '1', others: [['SENT', -1, 1]] }],
  ['contested 1', 'another send without an id may have become it', { texts: '1', others: [['SENT', -1]] }],
  ['contested 1', 'another send of unknown outcome may have', { texts: '1', others: [['UNKNOWN', -1]] }],
  ['contested 1', 'a send that a person decides on may have', { texts: '1', others: [['NEEDS_HUMAN', -1]] }],
  ['is 1', 'another send did not leave', { texts: '1', others: [['NOT_SENT', -1]] }],
  ['is 1', 'another send was refused', { texts: '1', others: [['REJECTED', -1]] }],
  ['is 1', 'another send left much earlier', { texts: '1', others: [['SENT', -30 * minutes]] }],
  ['is 2', 'another has one of its own', { texts: '-60 | 1', baseline: [1], others: [['SENT', -61]] }],
  [
    'contested 2',
    'two others share one',
    {
      texts: '-60 | 1',
      baseline: [1],
      others: [
        ['SENT', -61],
        ['UNKNOWN', -62],
      ],
    },
  ],
])('%s: %s', async (result, _, story) => {
  expect(await matchesOf(story)).toBe(result);
});

type Reading = () => Promise<boolean>;

/** Looks for a send, by a read of the thread that is whole, may not be, or fails. */
async function search(sendId: string, readThread: Reading): Promise<string> {
  const ledger = { db, log: createLog('silent'), timing: defaultLedgerTiming, readThread } as unknown as Ledger;
  return reconcile(ledger, await find(sendId));
}

const readings: Readonly<Record<string, Reading>> = {
  whole: async () => true,
  'not whole': async () => false,
  refused: () => Promise.reject(new Error('refused')),
};

test.each<[read: string, end: string, story: Story]>([
  ['whole', 'SENT reconciled', { texts: '1' }],
  ['not whole', 'SENT reconciled', { texts: '1' }],
  ['refused', 'SENT reconciled', { texts: '1' }],
  ['whole', 'NEEDS_HUMAN 2 messages match', { texts: '1 | 2' }],
  ['not whole', 'NEEDS_HUMAN 2 messages match', { texts: '1 | 2' }],
  ['whole', 'NEEDS_HUMAN no message matches', { texts: '1 other' }],
  ['not whole', 'NEEDS_HUMAN no message matches in a thread that cannot be read whole', { texts: '1 other' }],
  ['refused', 'NEEDS_HUMAN no message matches in a thread that cannot be read whole', { texts: '1 other' }],
  ['whole', 'NEEDS_HUMAN a message matches that another send may have become', { texts: '1', others: [['SENT', -1]] }],
])('months after the request, by a read that is %s: %s', async (read, end, story) => {
  const { sendId } = await write(story);
  await search(sendId, readings[read] as Reading);
  expect(await find(sendId).then(({ state, reason }) => `${state} ${reason}`)).toBe(end);
});

/* Reads are due 15 s, 1, 5 and 30 minutes, 2 hours and a day after the request; another hour is for a read that is not whole. */
const [hours, day] = [60 * minutes, 24 * 60 * minutes];

test.each<[read: string, age: number, result: string, reads: number, due: (seconds: number) => boolean]>([
  ['whole', 5, 'unknown', 0, (due) => due === 15],
  ['whole', 3 * minutes, 'unknown', 2, (due) => due === 5 * minutes],
  ['whole', 23 * hours, 'unknown', 5, (due) => due === day],
  ['whole', day + 1, 'needs_human', 6, () => true],
  ['not whole', 20, 'unknown', 0, (due) => due >= 35 && due < 5 * minutes],
  // The longer it lasts, the more rarely it is read.
  ['not whole', 20 * hours, 'unknown', 0, (due) => due >= 22 * hours && due < 22.5 * hours],
  ['refused', day + 0.9 * hours, 'unknown', 0, (due) => due > day],
  ['not whole', day + 1.1 * hours, 'needs_human', 0, () => true],
])(
  'a read that is %s, %i s after the request: %s, after %i scheduled reads',
  async (read, age, result, reads, isDue) => {
    const { sendId } = await write({ texts: '1 other' });
    await query(
      `update ops.sends set dispatched_at = now() - $2 * interval '1 second' where send_id = $1`,
      sendId,
      age,
    );
    expect(await search(sendId, readings[read] as Reading)).toBe(result);
    const row = `select search_count, extract(epoch from due_at - dispatched_at)::float8 from ops.sends where send_id = $1`;
    const [count, due] = (await lines(row, sendId)).flatMap((line) => line.split(' | ').map(Number));
    expect(count).toBe(reads);
    expect(isDue(due ?? 0), `due ${due} s after the request`).toBe(true);
  },
);
