import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../src/api-client/client.ts';
import { readControl } from '../../src/ledger/control.ts';
import { settleManually } from '../../src/ledger/outcome.ts';
import type { FaultInput } from '../../src/sandbox/faults/spec.ts';
import { bareRefusal, proxyPage, redirect, truncated } from '../sandbox/presets.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { openLedger, type PlannedSend } from './ledger-world.ts';

const { books, clear, database, posts, sandbox } = await openLedgerStores();
beforeEach(clear);

/** By their messages: a request of an earlier test can be answered, and written down, as late as during this one. */
const chargesTo = (number: string) =>
  new Set(sandbox.sends().flatMap(({ charge }) => (charge?.to.includes(number) ? charge.messageIds : []))).size;

const unsent = '0 sends, 0 reserved, 0 spent';
const paid = '1 sends, 0 reserved, 50000 spent';

type Strike = Partial<FaultInput> & Pick<FaultInput, 'kind'>;
const strike = (fault: Strike) => sandbox.faults({ times: 1, operation: 'sendMessage', ...fault } as FaultInput);

describe.each([
  { name: 'a reset in place of the answer', fault: { kind: 'reset', when: 'after' } },
  { name: 'a reset midway through the answer', fault: { kind: 'reset', when: 'midway' } },
  { name: 'an answer that comes too late', fault: { kind: 'slow', ms: 3_000 } },
  { name: 'half of an answer', fault: truncated },
  { name: 'a proxy that answers 502 afterwards', fault: { ...proxyPage(502), when: 'after' } },
  { name: 'a proxy that answers 403 without the envelope', fault: { ...bareRefusal, when: 'after' } },
  { name: 'a redirect afterwards', fault: { ...redirect, when: 'after' } },
  { name: 'a page posing as a success', fault: { ...proxyPage(200), when: 'after' } },
] as const)('$name', ({ fault }) => {
  test('leaves the outcome unknown, and the thread tells that it was sent', async () => {
    const ledger = await openLedger(database, sandbox, fault.kind === 'slow' ? { timing: { answerMs: 500 } } : {});
    const { sendId, number } = await ledger.answer();
    strike(fault as Strike);
    expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
    expect(await books()).toBe('1 sends, 50000 reserved, 0 spent');
    await ledger.makeDue(sendId);
    expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
    expect(await ledger.state(sendId)).toBe('SENT reconciled');
    expect(await ledger.texts(number)).toHaveLength(1);
    expect([posts(), chargesTo(number)]).toEqual([1, 1]);
    expect(await books()).toBe(paid);
  });
});

test('a request that broke before it was carried out needs a person, and is never sent again', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  await ledger.reconcileToTheEnd(sendId);
  expect(await ledger.state(sendId)).toBe('NEEDS_HUMAN no message matches');
  expect([posts(), chargesTo(number)]).toEqual([1, 0]);
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.drain()).toBe(0);
  expect(posts()).toBe(1);
});

test('any read of the thread makes an unknown send worth a look', async () => {
  const ledger = await openLedger(database, sandbox, { timing: { reconcileAtMs: [60_000, 120_000] } });
  const { sendId, line, number } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.dispatcher.sweep(10)).toEqual([]);
  await ledger.mirror(line, number);
  expect(await ledger.dispatcher.sweep(10)).toEqual([sendId]);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
});

test.each([
  ['SENT', '2 sends, 50000 reserved, 50000 spent', '2 sends, 0 reserved, 100000 spent'],
  ['NOT_SENT', '1 sends, 50000 reserved, 0 spent', unsent],
] as const)(
  'an operator settles what needs a person as %s, and only if insisted on what is looked for',
  async (to, one, both) => {
    const ledger = await openLedger(database, sandbox);
    const lose = async () => {
      const { sendId } = await ledger.answer();
      strike({ kind: 'reset', when: 'before' } as Strike);
      expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
      return sendId;
    };
    const settle = (sendId: string, how = {}) => settleManually(database.db, sendId, to, how);
    const [open, ended] = [await lose(), await lose()];
    expect(await settle(open)).toBe(false);
    await ledger.reconcileToTheEnd(ended);
    expect([await settle(ended), await settle(ended)], 'once').toEqual([true, false]);
    expect(await ledger.state(ended)).toBe(`${to} settled by hand`);
    expect(await books()).toBe(one);
    expect(await settle(open, { isInsisted: true })).toBe(true);
    expect(await books()).toBe(both);
    await ledger.makeDue(open);
    expect(await ledger.dispatcher.advance(open)).toBe('nothing_due');
    expect(posts()).toBe(2);
  },
);

test('a worker that wakes up after its lease lets nothing out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  const wake = Promise.withResolvers<void>();
  const sleepy = ledger.meanwhile(() => wake.promise);
  const slept = sleepy.advance(sendId);
  await expect.poll(() => ledger.state(sendId)).toBe('RESERVED');
  await ledger.makeDue(sendId);
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  wake.resolve();
  expect(await slept).toBe('lost');
  expect(await ledger.texts(number)).toHaveLength(1);
});

test('three unknown outcomes pause everything until the ledger finds one of them, and count again then', async () => {
  const ledger = await openLedger(database, sandbox);
  sandbox.faults({ kind: 'reset', when: 'after', operation: 'sendMessage' });
  const planned: PlannedSend[] = [];
  for (let at = 0; at < 5; at += 1) planned.push(await ledger.answer());
  const ended: string[] = [];
  for (const { sendId } of planned) ended.push(await ledger.dispatcher.advance(sendId));
  expect(ended).toEqual(['unknown', 'unknown', 'unknown', 'paused', 'paused']);
  await ledger.dispatcher.sweep(10);
  expect(await readControl(database.db)).toMatchObject({ isPaused: true, by: 'ledger' });
  const [first, , , fourth, fifth] = planned.map(({ sendId }) => sendId) as [string, string, string, string, string];
  await ledger.makeDue(first);
  expect(await ledger.dispatcher.advance(first)).toBe('sent');
  await ledger.dispatcher.sweep(10);
  expect(await ledger.dispatcher.advance(fourth)).toBe('unknown');
  expect(await ledger.dispatcher.advance(fifth)).toBe('paused');
  expect(posts()).toBe(4);
});

/* A text that is charged and answered as if it was not, against the specification. A 400 is final; the others are tried again. */

async function sendRefused(status: number) {
  const ledger = await openLedger(database, sandbox);
  const planned = await ledger.answer();
  strike({ kind: 'answer', when: 'after', status } as Strike);
  await ledger.dispatcher.advance(planned.sendId);
  return { ledger, ...planned };
}

test.each([500, 503, 429])('one that was answered %i is found before it is sent again', async (status) => {
  const { ledger, sendId, number } = await sendRefused(status);
  await ledger.makeDue(sendId);
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toBe('SENT reconciled');
  expect([posts(), chargesTo(number)]).toEqual([1, 1]);
  expect(await books()).toBe(paid);
});

test.each([500, 503, 429, 400])(
  'one that was answered %i is found after it ended, and its cost is counted',
  async (status) => {
    const { ledger, sendId, line, number } = await sendRefused(status);
    if (status !== 400) {
      await database.query(`update ops.sends set expires_at = now() - interval '1 minute', due_at = now()`);
      expect(await ledger.dispatcher.advance(sendId)).toBe('expired');
    }
    expect(await books()).toBe(unsent);
    await ledger.mirror(line, number);
    await ledger.dispatcher.drain();
    expect(await ledger.state(sendId)).toBe('SENT reconciled');
    expect([posts(), chargesTo(number)]).toEqual([1, 1]);
    expect(await books()).toBe(paid);
  },
);

test('one that is found beside another answer to its call stays as it is, and keeps no text back', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number } = await ledger.answer({ text: 'Sorry that we missed you.' });
  await database.query(`update ops.sends set trigger_kind = 'call', trigger_id = '1700000000.1'`);
  strike({ kind: 'answer', when: 'after', status: 400 } as Strike);
  await ledger.dispatcher.advance(sendId);
  await database.query(
    `insert into ops.sends (rule, line, number, trigger_kind, trigger_id, trigger_at, mode, state, expires_at, message_id, linked_at)
     values ('other', '16465550101', $1, 'call', '1700000000.1', now(), 'live', 'SENT', now(), 1, now())`,
    number,
  );
  await ledger.mirror(line, number);
  const next = await ledger.answer();
  await ledger.dispatcher.drain();
  expect(await ledger.state(next.sendId)).toBe('SENT');
  expect(await ledger.state(sendId)).toMatch(/^REJECTED/);
  expect(ledger.logged()).not.toContain('A chore of the ledger failed');
});

test('a failure of one chore keeps no text back', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer();
  await ledger.dispatcher.drain();
  await database.query(`create function ops.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
  onTestFinished(async () => void (await database.query('drop function ops.refuse cascade')));
  await database.query(
    'create trigger refuse before update of send_id on warehouse.sms_messages execute function ops.refuse()',
  );
  await ledger.mirror(first.line, first.number);
  const { sendId } = await ledger.answer();
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toBe('SENT');
  expect(ledger.logged()).toContain('A chore of the ledger failed');
});

test.each([
  { reads: 2, planned: 'thread_busy' },
  { reads: 3, planned: 'planned' },
])('a lost answer keeps its thread busy for three reads, and not for a day: $reads', async ({ reads, planned }) => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({}, { sentAt: new Date(Date.now() - 90_000).toISOString() });
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.advance(first.sendId)).toBe('unknown');
  await database.query('update ops.sends set search_count = $1', reads);
  expect((await ledger.answer({ number: first.number })).planned).toBe(planned);
});

test('a very late proof that nothing was sent sends nothing beside a later answer', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({}, { sentAt: new Date(Date.now() - 90_000).toISOString() });
  const refusal = Promise.withResolvers<never>();
  const slow = await openLedger(database, sandbox, { messages: { send: () => refusal.promise } });
  const turn = slow.dispatcher.advance(first.sendId);
  await expect.poll(() => ledger.state(first.sendId)).toBe('DISPATCHED');
  await ledger.makeDue(first.sendId);
  expect(await ledger.dispatcher.advance(first.sendId)).toBe('unknown');
  await database.query('update ops.sends set search_count = 3');
  const second = await ledger.answer({ number: first.number, text: 'Other words' });
  expect(second.planned).toBe('planned');
  refusal.reject(new ServiceError('server', 'as told', { operation: 'messages.send', effect: 'none', status: 503 }));
  expect(await turn).toBe('not_sent');
  expect(await ledger.state(first.sendId)).toBe('NOT_SENT server (503)');
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
  expect(posts()).toBe(1);
});
