import { afterAll, expect, test } from 'vitest';
import { message } from '../../src/api-client/entities/texts.ts';
import { hasOptedOut } from '../../src/ledger/gates/gates.ts';
import { readGateInputs } from '../../src/ledger/gates/inputs.ts';
import { countWaiting, decideOptOut } from '../../src/ledger/opt-outs.ts';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { asRead, ignored, readNumber } from '../warehouse/reads.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, value } = database;
afterAll(() => database[Symbol.asyncDispose]());

const line = '15550000001';
const queues = { forget: async () => 0 };
let seq = 0;

/** What members of a group wrote there, a minute apart. */
async function mirrorGroup(participants: readonly string[], said: readonly { from: string; text: string }[]) {
  const [number = ''] = participants;
  const messages = asRead(
    message,
    said.map(({ from, text }, at) => ({
      ...{ id: ++seq, direction: 'in', from, to: line, text, groupParticipants: participants },
      sentAt: new Date(Date.UTC(2026, 3, 21, 0, at)).toISOString(),
    })),
  );
  const thread = { line, number, participants };
  await db
    .transaction()
    .execute((tx) => writeThreads(tx, ignored, [{ thread, messages, isComplete: true, read: readNumber(seq) }]));
}

async function isOut(number: string, from: string, kind?: 'unsure'): Promise<boolean> {
  const subject = { line: from, number, trigger: { kind: 'message', id: '1', at: new Date() } } as const;
  const { optOuts } = await db.transaction().execute((tx) => readGateInputs(tx, subject));
  return hasOptedOut(from, optOuts, kind);
}

test('a group goes with one of its members, but not that another one opted out there', async () => {
  const [gone, out, back, other] = ['15557710001', '15557710002', '15557710003', '15557710004'];
  await mirrorGroup(
    [gone, out, back, other],
    [
      { from: gone, text: 'STOP' },
      { from: out, text: 'please stop' },
      { from: back, text: 'STOP' },
      { from: back, text: 'START' },
      { from: other, text: 'Stop by at five' },
    ],
  );
  const all = [gone, out, back, other];
  const outs = () => Promise.all(all.map((number) => isOut(number, line)));
  expect(await outs()).toEqual([true, true, false, false]);
  expect(await isOut(other, line, 'unsure')).toBe(true);
  await eraseNumber({ db, queues, knownAfterMs: 0 }, gone);
  expect(await value('select count(*)::integer from warehouse.sms_messages')).toBe(0);
  expect(await outs()).toEqual([false, true, false, false]);
  expect(await isOut(other, line, 'unsure'), 'still waits for a decision').toBe(true);
  expect(await isOut(back, line, 'unsure')).toBe(false);
  expect(await isOut(out, '15550000009'), 'from any line').toBe(true);
  await eraseNumber({ db, queues, knownAfterMs: 0 }, out);
  await eraseNumber({ db, queues, knownAfterMs: 0 }, other);
  expect(await value('select count(*)::integer from ops.opt_outs')).toBe(0);
});

test.each([
  ['5215512345678', '525512345678'],
  ['5491123456789', '541123456789'],
  ['5511987654321', '551187654321'],
])('%s and %s are one person to the gates and to decisions', async (wrote, other) => {
  const said = async (text: string) => {
    const messages = asRead(message, [
      {
        id: ++seq,
        direction: 'in',
        from: wrote,
        to: line,
        text,
        sentAt: new Date(Date.UTC(2026, 4, 1, 0, seq)).toISOString(),
      },
    ]);
    const thread = { line, number: wrote, participants: [] };
    await db
      .transaction()
      .execute((tx) => writeThreads(tx, ignored, [{ thread, messages, isComplete: false, read: readNumber(seq) }]));
  };
  const outs = (kind?: 'unsure') => Promise.all([wrote, other].map((number) => isOut(number, line, kind)));
  await said('Stop by at five');
  expect(await outs('unsure')).toEqual([true, true]);
  expect(await decideOptOut(db, other, 'confirm', { by: 'test' })).toBe('done');
  expect(await countWaiting(db)).toBe(0);
  expect(await outs()).toEqual([true, true]);
  expect(await decideOptOut(db, other, 'clear', { by: 'test' })).toBe('done');
  expect(await outs()).toEqual([false, false]);
  await said('STOP');
  expect(await outs()).toEqual([true, true]);
});
