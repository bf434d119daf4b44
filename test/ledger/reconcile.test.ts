import { beforeEach, describe, expect, test } from 'vitest';
import { readControl, resumeSends } from '../../src/ledger/control.ts';
import { settleByHand } from '../../src/ledger/operations.ts';
import type { AnswerFault } from '../../src/sandbox/faults/answers.ts';
import { type LedgerWorld, openLedger } from './ledger-world.ts';
import { openStage } from './stage.ts';

const { clear, database, posts, sandbox } = await openStage();
beforeEach(clear);

/** By their messages: a request of an earlier test can be answered, and written down, as late as during this one. */
const chargesTo = (number: string) =>
  new Set(sandbox.sends().flatMap(({ charge }) => (charge?.to.includes(number) ? charge.messageIds : []))).size;

type Strike = Partial<AnswerFault> & Pick<AnswerFault, 'kind'>;
const strike = (fault: Strike) =>
  sandbox.faults({ answers: [{ times: 1, operations: ['sendMessage'], ...fault } as AnswerFault] });

describe.each([
  { name: 'a reset in place of the answer', fault: { kind: 'reset', when: 'after' } },
  { name: 'a reset midway through the answer', fault: { kind: 'reset', when: 'midway' } },
  { name: 'an answer that comes too late', fault: { kind: 'slow', ms: 3_000 } },
  { name: 'half of an answer', fault: { kind: 'truncated' } },
  { name: 'a proxy that answers 502 afterwards', fault: { kind: 'html', status: 502, when: 'after' } },
  { name: 'a proxy that answers 403 without the envelope', fault: { kind: 'bare', status: 403, when: 'after' } },
  { name: 'a redirect afterwards', fault: { kind: 'redirect', status: 302, when: 'after' } },
  { name: 'a page posing as a success', fault: { kind: 'html', status: 200, when: 'after' } },
] as const)('$name', ({ fault }) => {
  test('leaves the outcome unknown, and the thread tells that it was sent', async () => {
    const ledger = await openLedger(database, sandbox);
    const { sendId, number } = await ledger.answer();
    strike(fault as Strike);
    expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
    expect((await database.query('select reserved_micros::int from ops.send_budgets'))[0]).toEqual({
      reserved_micros: 50_000,
    });
    await ledger.pass(sendId);
    expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
    expect(await ledger.state(sendId)).toBe('SENT reconciled');
    expect(await ledger.texts(number)).toHaveLength(1);
    expect([posts(), chargesTo(number)]).toEqual([1, 1]);
    const rows = await database.query('select reserved_micros::int, spent_micros::int from ops.send_budgets');
    expect(rows[0]).toEqual({ reserved_micros: 0, spent_micros: 50_000 });
  });
});

test('a request that broke before it was carried out needs a person, and is never sent again', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  await ledger.lookToTheEnd(sendId);
  expect(await ledger.state(sendId)).toBe('NEEDS_HUMAN no message matches');
  expect([posts(), chargesTo(number)]).toEqual([1, 0]);
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.round()).toBe(0);
  expect(posts()).toBe(1);
});

test('two messages that match need a person', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.turn(sendId);
  await sandbox.emit.sms({ line, number, direction: 'out', text: `An answer to ${triggerId}`, announce: false });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('needs_human');
  expect(await ledger.state(sendId)).toBe('NEEDS_HUMAN 2 messages match');
});

test.each([
  { name: 'a person wrote', event: { sentBy: 'user' } },
  { name: 'is of another text', event: { text: 'Something else' } },
  { name: 'went to another number', event: { number: '12125550999' } },
  { name: 'is much older', event: { sentAt: new Date(Date.now() - 600_000).toISOString() } },
])('a message that $name is not taken for the send', async ({ event }) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  await ledger.dispatcher.turn(sendId);
  const users = await fetch(`${sandbox.url}/api/public/v1/users`, {
    headers: { authorization: `Bearer ${sandbox.apiKey}` },
  });
  const { data } = (await users.json()) as { data: { id: number }[] };
  const { sentBy, ...rest } = event as { sentBy?: string };
  await sandbox.emit.sms({
    line,
    number,
    direction: 'out',
    text: `An answer to ${triggerId}`,
    announce: false,
    ...rest,
    ...(sentBy && { sentBy: data[0]?.id ?? 0 }),
  });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
});

test.each([
  { name: 'has its blanks drawn together', shown: 'Hi , we are closed.\n\nSee you' },
  { name: 'is one line', shown: 'Hi , we are closed. See you' },
  { name: 'has other line ends', shown: ' Hi ,  we are closed.\r\n\r\nSee you ' },
])('a message that $name on its way is the send', async ({ shown }) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number } = await ledger.answer({ text: 'Hi ,  we are closed.\n\nSee you\n' });
  strike({ kind: 'reset', when: 'before' } as Strike);
  await ledger.dispatcher.turn(sendId);
  await sandbox.emit.sms({ line, number, direction: 'out', text: shown, announce: false });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
});

test('a message of before is not taken for the send, nor one that another send became', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({ text: 'The same words' });
  await ledger.dispatcher.turn(first.sendId);
  await ledger.mirror(first.line, first.number);
  await database.query(`update ops.sends set dispatched_at = dispatched_at - interval '1 minute'`);
  const second = await ledger.answer(
    { text: 'The same words', number: first.number },
    { text: 'Another question', sentAt: new Date(Date.now() + 10_000).toISOString() },
  );
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.turn(second.sendId)).toBe('unknown');
  await ledger.pass(second.sendId);
  expect(await ledger.dispatcher.turn(second.sendId)).toBe('unknown');
});

test('any read of the thread makes an unknown send worth a look', async () => {
  const ledger = await openLedger(database, sandbox, { timing: { looksMs: [60_000, 120_000] } });
  const { sendId, line, number } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.turn(sendId);
  expect(await ledger.dispatcher.sweep(10)).toEqual([]);
  await ledger.mirror(line, number);
  expect(await ledger.dispatcher.sweep(10)).toEqual([sendId]);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
});

test('a look on a hint does not use up the schedule', async () => {
  const ledger = await openLedger(database, sandbox, { timing: { looksMs: [60_000, 120_000] } });
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  await ledger.dispatcher.turn(sendId);
  for (let look = 0; look < 4; look += 1) {
    await ledger.pass(sendId);
    expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  }
  expect(await database.value('select round(extract(epoch from due_at - dispatched_at))::int from ops.sends')).toBe(60);
});

test('the last look does not count while the thread cannot be read', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.turn(sendId);
  sandbox.faults({ answers: [{ kind: 'error', status: 503, operations: ['readThread'] }] });
  await ledger.lookToTheEnd(sendId);
  expect(await ledger.state(sendId)).toMatch(/^UNKNOWN/);
  sandbox.faults({});
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
});

/** As if so many minutes had passed since the request. */
async function waitMinutes(sendId: string, minutes: number): Promise<void> {
  await database.query(
    `update ops.sends set dispatched_at = dispatched_at - $2 * interval '1 minute', due_at = now() where send_id = $1`,
    sendId,
    minutes,
  );
}

const unreadable = [
  { name: 'may not be whole', fault: { kind: 'siblings' } },
  { name: 'is refused', fault: { kind: 'error', status: 403 } },
] as const;

test('one message that matches is enough, also where the read may not be whole', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.turn(sendId);
  sandbox.faults({ answers: [{ kind: 'siblings', operations: ['readThread'] }] });
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
  expect(await ledger.state(sendId)).toBe('SENT reconciled');
});

test.each(unreadable)('a thread whose read $name for good is a person’s after some grace', async ({ fault }) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  await ledger.dispatcher.turn(sendId);
  sandbox.faults({ answers: [{ ...fault, operations: ['readThread'] } as AnswerFault] });
  await waitMinutes(sendId, 1);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  // It is asked the more rarely, the longer it lasts.
  expect(await database.value(`select due_at > clock_timestamp() + interval '5 seconds' from ops.sends`)).toBe(true);
  await waitMinutes(sendId, 1);
  expect(await ledger.dispatcher.turn(sendId)).toBe('needs_human');
  expect(await ledger.state(sendId)).toBe('NEEDS_HUMAN no message matches in a thread that cannot be read whole');
});

describe('the operator settles', () => {
  async function unknown(): Promise<{ ledger: LedgerWorld; sendId: string }> {
    const ledger = await openLedger(database, sandbox);
    const { sendId } = await ledger.answer();
    strike({ kind: 'reset', when: 'before' } as Strike);
    await ledger.dispatcher.turn(sendId);
    return { ledger, sendId };
  }

  test('what needs a person, but nothing that is still looked for', async () => {
    const { ledger, sendId } = await unknown();
    expect(await settleByHand(database.db, sendId, 'NOT_SENT')).toBe(false);
    await ledger.lookToTheEnd(sendId);
    expect(await settleByHand(database.db, sendId, 'NOT_SENT')).toBe(true);
    expect(await ledger.state(sendId)).toBe('NOT_SENT settled by hand');
  });

  test.each([
    { to: 'SENT', money: { sends_count: 1, reserved_micros: 0, spent_micros: 50_000 } },
    { to: 'NOT_SENT', money: { sends_count: 0, reserved_micros: 0, spent_micros: 0 } },
  ] as const)('as $to what is still looked for, when insisted on', async ({ to, money }) => {
    const { ledger, sendId } = await unknown();
    expect(await settleByHand(database.db, sendId, to, { isInsisted: true })).toBe(true);
    expect(await ledger.state(sendId)).toBe(`${to} settled by hand`);
    const [account] = await database.query(
      `select sends_count, reserved_micros::int, spent_micros::int from ops.send_budgets where scope = 'account'`,
    );
    expect(account).toEqual(money);
    await ledger.pass(sendId);
    expect(await ledger.dispatcher.turn(sendId)).toBe('nothing_due');
    expect(posts()).toBe(1);
  });
});

test('a lease that is over takes a reservation back, and makes a dispatch unknown', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  const hung = await openLedger(database, sandbox, { look: () => new Promise(() => undefined) });
  void hung.dispatcher.turn(sendId);
  await expect.poll(() => ledger.state(sendId)).toBe('RESERVED');
  expect(await ledger.dispatcher.turn(sendId)).toBe('nothing_due');
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('taken_back');
  expect((await database.query('select sends_count, reserved_micros::int from ops.send_budgets'))[0]).toEqual({
    sends_count: 0,
    reserved_micros: 0,
  });

  const dead = await openLedger(database, sandbox, { messages: { send: () => new Promise(() => undefined) } });
  void dead.dispatcher.turn(sendId);
  await expect.poll(() => ledger.state(sendId)).toBe('DISPATCHED');
  await ledger.pass(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('unknown');
  expect(posts()).toBe(0);
});

test('a worker that wakes up after its lease lets nothing out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  const wake = Promise.withResolvers<void>();
  const sleepy = await openLedger(database, sandbox, {
    look: async (thread) => {
      const isWhole = await ledger.parts.look(thread);
      await wake.promise;
      return isWhole;
    },
  });
  const slept = sleepy.dispatcher.turn(sendId);
  await expect.poll(() => ledger.state(sendId)).toBe('RESERVED');
  await ledger.pass(sendId);
  await ledger.dispatcher.turn(sendId);
  expect(await ledger.dispatcher.turn(sendId)).toBe('sent');
  wake.resolve();
  expect(await slept).toBe('lost');
  expect(await ledger.texts(number)).toHaveLength(1);
});

test('three unknown outcomes within ten minutes pause everything, once, and a resume begins to count anew', async () => {
  const ledger = await openLedger(database, sandbox);
  sandbox.faults({ answers: [{ kind: 'reset', when: 'after', operations: ['sendMessage'] }] });
  const planned = await Promise.all(Array.from({ length: 5 }, () => ledger.answer()));
  const ended: string[] = [];
  for (const { sendId } of planned) ended.push(await ledger.dispatcher.turn(sendId));
  expect(ended).toEqual(['unknown', 'unknown', 'unknown', 'paused', 'paused']);
  expect(await readControl(database.db)).toMatchObject({
    isPaused: true,
    by: 'ledger',
    reason: '3 sends within 10 minutes had an unknown outcome',
  });
  sandbox.faults({});
  await resumeSends(database.db);
  await ledger.dispatcher.round();
  const states = await database.query<{ state: string }>(`select state from ops.sends where state = 'SENT'`);
  expect(states.length).toBeGreaterThanOrEqual(2);
  expect(posts()).toBe(5);
});
