import { beforeEach, expect, test } from 'vitest';
import { approveSend, listProposals } from '../../src/ledger/approvals.ts';
import { cancelSend, rejectSend } from '../../src/ledger/plans.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { type LedgerWorld, openLedger, type PlannedSend, putInForce } from './ledger-world.ts';

const { database, sandbox, clear } = await openLedgerStores();
const { db } = database;
const approval = { quietHours: 'none', approval: { expiresSeconds: 3_600 } } as const;
beforeEach(clear);

/** A reply that waits for a person. */
async function waiting(ledger: LedgerWorld): Promise<PlannedSend> {
  const planned = await ledger.answer({ limits: approval });
  expect(await ledger.dispatcher.advance(planned.sendId)).toBe('awaiting');
  return planned;
}

/** What a person sees of it. */
async function read(sendId: string) {
  const [proposal] = await listProposals(db, 1, sendId);
  if (!proposal) throw new Error(`${sendId} does not wait`);
  return proposal;
}

async function approve(sendId: string) {
  return approveSend(db, sendId, { by: 'lea', seen: (await read(sendId)).seen });
}

test('waits for a person without a reservation, and leaves once as it was read', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number, triggerId } = await waiting(ledger);
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('awaiting');
  expect(await ledger.history(sendId)).toEqual(['PLANNED', 'AWAITING_APPROVAL']);
  expect(await database.value('select count(*)::int from ops.send_budgets')).toBe(0);
  const text = `An answer to ${triggerId}`;
  expect(await read(sendId)).toMatchObject({ text, answers: 'Are you open today?', newerCount: 0 });
  expect(await approve(sendId)).toBe('done');
  await ledger.dispatcher.drain();
  const steps = 'PLANNED AWAITING_APPROVAL PLANNED RESERVED DISPATCHED SENT';
  expect((await ledger.history(sendId)).join(' ')).toBe(steps);
  expect(await ledger.texts(number)).toEqual([text]);
  expect(await database.query('select decided_by from ops.send_events where decided_by is not null')).toEqual([
    { decided_by: 'lea' },
  ]);
});

test('of two persons at once one decides, whatever they decide', async () => {
  const ledger = await openLedger(database, sandbox);
  const [first, second] = [await waiting(ledger), await waiting(ledger)];
  const of = await read(first.sendId);
  const both = await Promise.all(['lea', 'sam'].map((by) => approveSend(db, first.sendId, { by, seen: of.seen })));
  expect(both.toSorted()).toEqual(['done', 'not_waiting']);
  const { seen } = await read(second.sendId);
  const [approved, rejected] = await Promise.all([
    approveSend(db, second.sendId, { by: 'lea', seen }),
    rejectSend(db, second.sendId, { by: 'sam' }),
  ]);
  expect([approved === 'done', rejected].toSorted()).toEqual([false, true]);
  await ledger.dispatcher.drain();
  expect(await ledger.texts(first.number)).toHaveLength(1);
  expect(await ledger.texts(second.number)).toHaveLength(approved === 'done' ? 1 : 0);
});

test('an approval counts for what was read: not for another text, nor after they wrote again', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number } = await waiting(ledger);
  const before = await read(sendId);
  await sandbox.emit.sms({ line, number, text: 'Never mind!', announce: false });
  await ledger.mirror(line, number);
  expect(await approveSend(db, sendId, { by: 'lea', seen: before.seen })).toBe('changed');
  const after = await read(sendId);
  expect(after.newerCount).toBe(1);
  await database.query(`update ops.sends set body = 'Other words' where send_id = $1`, sendId);
  expect(await approveSend(db, sendId, { by: 'lea', seen: after.seen })).toBe('changed');
  expect(await ledger.state(sendId)).toBe('AWAITING_APPROVAL');
});

test('other words of the person leave in the place of those that were read, past the same gates, at their own price', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await waiting(ledger);
  const { seen, text } = await read(sendId);
  const edited = 'Yes. '.repeat(40).trim();
  expect(await approveSend(db, sendId, { by: 'lea', seen: 'another', text: edited })).toBe('changed');
  expect(await read(sendId)).toMatchObject({ text, seen });
  expect(await approveSend(db, sendId, { by: 'lea', seen, text: edited })).toBe('done');
  await ledger.dispatcher.drain();
  expect(await ledger.texts(number)).toEqual([edited]);
  expect(await database.query('select body, units from ops.sends where send_id = $1', sendId)).toEqual([
    { body: edited, units: 2 },
  ]);
  expect(await database.query('select reason, to_state from ops.send_events where decided_by is not null')).toEqual([
    { reason: 'edited', to_state: 'PLANNED' },
  ]);

  const optedOut = await waiting(ledger);
  const { line } = optedOut;
  const of = await read(optedOut.sendId);
  expect(await approveSend(db, optedOut.sendId, { by: 'lea', seen: of.seen, text: 'Bye' })).toBe('done');
  await sandbox.emit.sms({ line, number: optedOut.number, text: 'STOP', announce: false });
  await ledger.mirror(line, optedOut.number);
  await ledger.dispatcher.drain();
  expect(await ledger.state(optedOut.sendId)).toBe('DENIED gate:opted_out');
});

test('every gate is judged when it is asked for, while it waits, and after the approval', async () => {
  const ledger = await openLedger(database, sandbox);
  const trial = await ledger.answer({ limits: approval, mode: 'dry-run' });
  expect(await ledger.dispatcher.advance(trial.sendId)).toBe('denied');
  expect(await ledger.state(trial.sendId)).toBe('DENIED dry_run');

  const answered = await waiting(ledger);
  const optedOut = await waiting(ledger);
  for (const { line, number, sendId } of [answered, optedOut]) {
    const isOptOut = sendId === optedOut.sendId;
    await sandbox.emit.sms({
      ...{ line, number, announce: false },
      ...(isOptOut ? { text: 'STOP' } : { text: 'I called you.', direction: 'out' }),
    });
    await ledger.mirror(line, number);
    await ledger.evaluateRules();
  }
  expect(await approve(optedOut.sendId)).toBe('done');
  await ledger.makeDue(answered.sendId);
  await ledger.dispatcher.drain();
  expect(await ledger.state(answered.sendId)).toBe('DENIED gate:answered');
  expect(await ledger.state(optedOut.sendId)).toBe('DENIED gate:opted_out');

  const used = await waiting(ledger);
  await putInForce(database, { limits: { perAccount: 0 } });
  expect(await approve(used.sendId)).toBe('done');
  await ledger.dispatcher.drain();
  expect(await ledger.state(used.sendId)).toBe('DENIED gate:budget_account');
  for (const { number } of [answered, optedOut, used]) {
    expect((await ledger.texts(number)).filter((text) => text.startsWith('An answer'))).toEqual([]);
  }
});

test('is not approved after it expired, was rejected, cancelled, superseded or erased', async () => {
  const ledger = await openLedger(database, sandbox);
  const expired = await waiting(ledger);
  const { seen } = await read(expired.sendId);
  await database.query(
    `update ops.sends set planned_at = planned_at - interval '1 hour', expires_at = now() - interval '1 second' where send_id = $1`,
    expired.sendId,
  );
  expect(await approveSend(db, expired.sendId, { by: 'lea', seen })).toBe('not_waiting');
  await ledger.makeDue(expired.sendId);
  await ledger.dispatcher.drain();
  expect(await ledger.state(expired.sendId)).toBe('EXPIRED not_approved');

  const ended = {
    rejected: (sendId: string) => rejectSend(db, sendId, { by: 'sam', why: 'wrong price' }),
    cancelled: (sendId: string) => cancelSend(db, sendId, { by: 'sam' }),
    superseded: async (_: string, { line, number }: PlannedSend) => ledger.answer({ line, number }),
    'gate:erased': async (_: string, { number }: PlannedSend) =>
      database.query('select from ops.erase_sends($1)', number),
  };
  for (const [reason, end] of Object.entries(ended)) {
    const planned = await waiting(ledger);
    const before = await read(planned.sendId);
    await end(planned.sendId, planned);
    expect(await ledger.state(planned.sendId)).toBe(`DENIED ${reason}`);
    expect(await approveSend(db, planned.sendId, { by: 'lea', seen: before.seen })).toBe('not_waiting');
    expect(await rejectSend(db, planned.sendId, { by: 'lea' })).toBe(false);
    await database.query('select from ops.erase_sends($1)', planned.number);
  }
  expect(await database.value('select count(why)::int from ops.send_events')).toBe(0);
});

test('needs no second approval when the worker that has it dies; that is as with any other', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await waiting(ledger);
  expect(await approve(sendId)).toBe('done');
  await ledger.hangIn('RESERVED', sendId);
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('replanned');
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  expect(await ledger.texts(number)).toHaveLength(1);
});
