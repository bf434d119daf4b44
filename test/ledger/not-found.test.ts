import { beforeEach, expect, test } from 'vitest';
import { openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

/* Whether a thread without texts is empty or not found is not specified: the sandbox shows it empty. */

const { database, sandbox } = await openStage();
beforeEach(() => sandbox.reset());

const notFound = () => sandbox.faults({ answers: [{ kind: 'error', status: 404, operations: ['readThread'] }] });

test.each([
  { caller: 'a caller who never wrote', number: '12125550777', isCandidate: false },
  { caller: 'one who was asked for as a candidate', number: '12125550778', isCandidate: true },
])('a thread that is not found keeps no text from $caller', async ({ number, isCandidate }) => {
  const ledger = await openLedger(database, sandbox);
  const { line } = await ledger.answer();
  notFound();
  if (isCandidate) {
    await database.query(
      `insert into ops.thread_candidates (line, number, evidence, probed_at) values ($1, $2, 'call', now())`,
      line,
      number,
    );
  }
  await ledger.plan({
    rule: 'call',
    line,
    number,
    trigger: { kind: 'call', id: '1776772800.1', at: new Date() },
    text: 'We saw your call.',
    mode: 'live',
    limits: { quietHours: 'none' },
  });
  const sendId = String(
    await database.value(`select send_id from ops.sends where rule = 'call' and number = $1`, number),
  );
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
});

test('a thread that is held and not found lets nothing out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  notFound();
  expect(await ledger.dispatcher.turn(sendId)).toBe('taken_back');
  expect(await ledger.state(sendId)).toBe('PLANNED the thread could not be read');
});
