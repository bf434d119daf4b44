import { beforeEach, expect, test } from 'vitest';
import { type LedgerWorld, openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

const { clear, database, sandbox } = await openStage();
beforeEach(clear);

/** May do everything in the portal. */
const manager = 4156;

/** A ledger that sends in the name of a user who logged in. */
async function loggedIn(): Promise<LedgerWorld> {
  const answer = await fetch(`${sandbox.url}/_sandbox/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userId: manager }),
  });
  const { data } = (await answer.json()) as { data: { access_token: string } };
  return openLedger(database, sandbox, { key: data.access_token, actsFor: 'user' });
}

/** Sends an answer in a thread and mirrors it, as the sync does when it is told. */
async function sendAndMirror(ledger: LedgerWorld, number: string): Promise<void> {
  const { sendId, line } = await ledger.answer({ number });
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
  await ledger.mirror(line, number);
  await ledger.dispatcher.sweep(10);
}

const cutAnswer = () =>
  sandbox.faults({ answers: [{ kind: 'reset', when: 'after', times: 1, operations: ['sendMessage'] }] });

test('what went out in our user’s name is not a person’s text: a rule may answer again', async () => {
  const ledger = await loggedIn();
  const number = '12125550170';
  await sendAndMirror(ledger, number);
  expect(await database.query(`select sent_by from warehouse.sms_messages where direction = 'out'`)).toEqual([
    { sent_by: String(manager) },
  ]);
  const sentAt = new Date(Date.now() + 10_000).toISOString();
  const { sendId } = await ledger.answer({ number }, { text: 'And on Sunday?', sentAt });
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
});

test('what the same user writes by hand is a person’s text', async () => {
  const ledger = await loggedIn();
  const number = '12125550171';
  await sendAndMirror(ledger, number);
  const line = String(await database.value('select line from ops.sends'));
  const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const text = 'I will look into it.';
  await sandbox.emit.sms({ line, number, direction: 'out', text, sentBy: manager, announce: false, sentAt: at(5) });
  const { sendId } = await ledger.answer({ number }, { text: 'Thank you, and on Sunday?', sentAt: at(10) });
  await ledger.dispatcher.turn(sendId);
  expect(await ledger.state(sendId)).toBe('DENIED gate:human_wrote');
});

test('a lost answer is found in the name that earlier sends went out in', async () => {
  const ledger = await loggedIn();
  await sendAndMirror(ledger, '12125550172');
  const { sendId, number } = await ledger.answer();
  cutAnswer();
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
  expect(await ledger.texts(number)).toHaveLength(1);
});

test('while no answer has shown in whose name sends go out, no user’s text is taken for one', async () => {
  const ledger = await loggedIn();
  const { sendId } = await ledger.answer();
  cutAnswer();
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
});

test('with an API key no user’s text is taken for a send, whoever was logged in before', async () => {
  await sendAndMirror(await loggedIn(), '12125550173');
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer();
  sandbox.faults({ answers: [{ kind: 'reset', when: 'before', times: 1, operations: ['sendMessage'] }] });
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  const text = `An answer to ${triggerId}`;
  await sandbox.emit.sms({ line, number, direction: 'out', text, sentBy: manager, announce: false });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
});
