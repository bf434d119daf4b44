import { beforeEach, expect, test } from 'vitest';
import { openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

/* A group goes by the number of its first member: what the others say in it is not said by that one. */

const { clear, database, sandbox } = await openStage();
beforeEach(clear);

const [first, second] = ['12125559001', '12125559002'];
const participants = [first, second];

/** Says words in the group, one after the other, and answers what the first member says to us alone. */
async function answerAfter(said: readonly { number: string; text: string }[]): Promise<string> {
  const ledger = await openLedger(database, sandbox);
  const line = String((await ledger.answer()).line);
  for (const [at, each] of said.entries()) {
    const sentAt = new Date(Date.now() - 60_000 + at * 10_000).toISOString();
    await sandbox.emit.sms({ line, participants, announce: false, sentAt, ...each });
  }
  await ledger.parts.look({ line, number: first, participants });
  const { sendId } = await ledger.answer({ number: first });
  await ledger.dispatcher.turn(sendId);
  return ledger.state(sendId);
}

test('a member of a group is not out because another one opted out in it', async () => {
  expect(await answerAfter([{ number: second, text: 'STOP' }])).toBe('SENT');
});

test('a member who opted out in a group stays out when another one opts in', async () => {
  const said = [
    { number: first, text: 'STOP' },
    { number: second, text: 'START' },
  ];
  expect(await answerAfter(said)).toBe('DENIED gate:opted_out');
});
