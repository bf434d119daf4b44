import { beforeEach, expect, test } from 'vitest';
import { openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

/* The clock of the service need not be ours: what it shows is compared with what else it shows. */

const { clear, database, sandbox } = await openStage();
beforeEach(clear);

const behind = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString();

test.each([
  { name: 'after the text that it answers is the send', textMs: 240_000, sentMs: 239_000, end: 'sent' },
  { name: 'before that is not', textMs: 240_000, sentMs: 241_000, end: 'unknown' },
])('by a clock that is minutes behind, a message from $name', async ({ textMs, sentMs, end }) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer({}, { sentAt: behind(textMs) });
  sandbox.faults({ answers: [{ kind: 'reset', when: 'before', times: 1, operations: ['sendMessage'] }] });
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  const text = `An answer to ${triggerId}`;
  await sandbox.emit.sms({ line, number, direction: 'out', text, announce: false, sentAt: behind(sentMs) });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe(end);
});

test.each([
  { name: 'soon after the text that it answers is the send', sentMs: 1_000, end: 'sent' },
  { name: 'an hour after that is not', sentMs: 3_600_000, end: 'unknown' },
])('by a clock that is hours ahead, a message from $name', async ({ sentMs, end }) => {
  const ahead = 3 * 3_600_000;
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer({}, { sentAt: behind(-ahead) });
  sandbox.faults({ answers: [{ kind: 'reset', when: 'before', times: 1, operations: ['sendMessage'] }] });
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  const text = `An answer to ${triggerId}`;
  await sandbox.emit.sms({ line, number, direction: 'out', text, announce: false, sentAt: behind(-ahead - sentMs) });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe(end);
});
