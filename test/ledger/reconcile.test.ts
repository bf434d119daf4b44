import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Message } from '../../src/api-client/client.ts';
import { ServiceError } from '../../src/api-client/client.ts';
import { pauseSends, readControl, resumeSends } from '../../src/ledger/control.ts';
import { settleManually } from '../../src/ledger/outcome.ts';
import { findSend } from '../../src/ledger/send.ts';
import type { FaultInput } from '../../src/sandbox/faults/spec.ts';
import { bareRefusal, proxyPage, redirect, truncated } from '../sandbox/presets.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { type LedgerWorld, openLedger, type PlannedSend } from './ledger-world.ts';

const { ask, clear, database, posts, sandbox } = await openLedgerStores();
beforeEach(clear);

/** By their messages: a request of an earlier test can be answered, and written down, as late as during this one. */
const chargesTo = (number: string) =>
  new Set(sandbox.sends().flatMap(({ charge }) => (charge?.to.includes(number) ? charge.messageIds : []))).size;

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
    expect((await database.query('select reserved_micros::int from ops.send_budgets'))[0]).toEqual({
      reserved_micros: 50_000,
    });
    await ledger.makeDue(sendId);
    expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
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

test('two messages that match need a person', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.advance(sendId);
  await sandbox.emit.sms({ line, number, direction: 'out', text: `An answer to ${triggerId}`, announce: false });
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('needs_human');
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
  await ledger.dispatcher.advance(sendId);
  const [user] = await ask<{ id: number }[]>('GET', '/api/public/v1/users');
  const { sentBy, ...rest } = event as { sentBy?: string };
  await sandbox.emit.sms({
    line,
    number,
    direction: 'out',
    text: `An answer to ${triggerId}`,
    announce: false,
    ...rest,
    ...(sentBy && { sentBy: user?.id ?? 0 }),
  });
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
});

test('a message of before is not taken for the send, nor one that another send became', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({ text: 'The same words' });
  await ledger.dispatcher.advance(first.sendId);
  await ledger.mirror(first.line, first.number);
  await database.query(`update ops.sends set dispatched_at = dispatched_at - interval '1 minute'`);
  const second = await ledger.answer(
    { text: 'The same words', number: first.number },
    { text: 'Another question', sentAt: new Date(Date.now() + 10_000).toISOString() },
  );
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('unknown');
  await ledger.makeDue(second.sendId);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('unknown');
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

test('a look on a hint does not use up the schedule', async () => {
  const ledger = await openLedger(database, sandbox, { timing: { reconcileAtMs: [60_000, 120_000] } });
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  await ledger.dispatcher.advance(sendId);
  for (let look = 0; look < 4; look += 1) {
    await ledger.makeDue(sendId);
    expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  }
  expect(await database.value('select round(extract(epoch from due_at - dispatched_at))::int from ops.sends')).toBe(60);
});

test('the last look does not count while the thread cannot be read', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.advance(sendId);
  sandbox.faults({ kind: 'answer', status: 503, operation: 'readThread' });
  await ledger.reconcileToTheEnd(sendId);
  expect(await ledger.state(sendId)).toMatch(/^UNKNOWN/);
  sandbox.faults();
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
});

/** As if so many minutes had passed since the request. */
async function waitMinutes(sendId: string, minutes: number): Promise<void> {
  await database.query(
    `update ops.sends set dispatched_at = dispatched_at - $2 * interval '1 minute', due_at = now() where send_id = $1`,
    sendId,
    minutes,
  );
}

const refused = new ServiceError('permission_denied', 'refused', { operation: 'conversations.read', effect: 'none' });

const unreadable = [
  { name: 'may not be whole', readThread: async () => false },
  { name: 'is refused', readThread: () => Promise.reject(refused) },
];

test('one message that matches is enough, also where the read may not be whole', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number } = await ledger.answer();
  strike({ kind: 'reset', when: 'after' } as Strike);
  await ledger.dispatcher.advance(sendId);
  await ledger.mirror(line, number);
  const { dispatcher } = await openLedger(database, sandbox, { readThread: async () => false });
  await ledger.makeDue(sendId);
  expect(await dispatcher.advance(sendId)).toBe('sent');
  expect(await ledger.state(sendId)).toBe('SENT reconciled');
});

test.each(unreadable)('a thread whose read $name for good is a person’s after some grace', async ({ readThread }) => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  strike({ kind: 'reset', when: 'before' } as Strike);
  await ledger.dispatcher.advance(sendId);
  const { dispatcher } = await openLedger(database, sandbox, { readThread });
  await waitMinutes(sendId, 1);
  expect(await dispatcher.advance(sendId)).toBe('unknown');
  // It is asked the more rarely, the longer it lasts.
  expect(await database.value(`select due_at > clock_timestamp() + interval '5 seconds' from ops.sends`)).toBe(true);
  await waitMinutes(sendId, 1);
  expect(await dispatcher.advance(sendId)).toBe('needs_human');
  expect(await ledger.state(sendId)).toBe('NEEDS_HUMAN no message matches in a thread that cannot be read whole');
});

describe('the operator settles', () => {
  async function unknown(): Promise<{ ledger: LedgerWorld; sendId: string }> {
    const ledger = await openLedger(database, sandbox);
    const { sendId } = await ledger.answer();
    strike({ kind: 'reset', when: 'before' } as Strike);
    await ledger.dispatcher.advance(sendId);
    return { ledger, sendId };
  }

  test('what needs a person, but nothing that is still looked for', async () => {
    const { ledger, sendId } = await unknown();
    expect(await settleManually(database.db, sendId, 'NOT_SENT')).toBe(false);
    await ledger.reconcileToTheEnd(sendId);
    expect(await settleManually(database.db, sendId, 'NOT_SENT')).toBe(true);
    expect(await ledger.state(sendId)).toBe('NOT_SENT settled by hand');
  });

  test.each([
    { to: 'SENT', money: { sends_count: 1, reserved_micros: 0, spent_micros: 50_000 } },
    { to: 'NOT_SENT', money: { sends_count: 0, reserved_micros: 0, spent_micros: 0 } },
  ] as const)('as $to what is still looked for, when insisted on', async ({ to, money }) => {
    const { ledger, sendId } = await unknown();
    expect(await settleManually(database.db, sendId, to, { isInsisted: true })).toBe(true);
    expect(await ledger.state(sendId)).toBe(`${to} settled by hand`);
    const [account] = await database.query(
      `select sends_count, reserved_micros::int, spent_micros::int from ops.send_budgets where scope = 'account'`,
    );
    expect(account).toEqual(money);
    await ledger.makeDue(sendId);
    expect(await ledger.dispatcher.advance(sendId)).toBe('nothing_due');
    expect(posts()).toBe(1);
  });
});

test('a worker that wakes up after its lease lets nothing out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  const wake = Promise.withResolvers<void>();
  const sleepy = await openLedger(database, sandbox, {
    readThread: async (thread) => {
      const isWhole = await ledger.deps.readThread(thread);
      await wake.promise;
      return isWhole;
    },
  });
  const slept = sleepy.dispatcher.advance(sendId);
  await expect.poll(() => ledger.state(sendId)).toBe('RESERVED');
  await ledger.makeDue(sendId);
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  wake.resolve();
  expect(await slept).toBe('lost');
  expect(await ledger.texts(number)).toHaveLength(1);
});

test('three unknown outcomes within ten minutes pause everything, once, and a resume begins to count again', async () => {
  const ledger = await openLedger(database, sandbox);
  sandbox.faults({ kind: 'reset', when: 'after', operation: 'sendMessage' });
  const planned = await Promise.all(Array.from({ length: 5 }, () => ledger.answer()));
  const ended: string[] = [];
  for (const { sendId } of planned) ended.push(await ledger.dispatcher.advance(sendId));
  expect(ended).toEqual(['unknown', 'unknown', 'unknown', 'paused', 'paused']);
  expect(await readControl(database.db)).toMatchObject({
    isPaused: true,
    by: 'ledger',
    reason: '3 sends within 10 minutes had an unknown outcome',
  });
  sandbox.faults();
  await pauseSends(database.db, 'a person looks into it');
  await ledger.dispatcher.drain();
  expect(posts()).toBe(3);
  await resumeSends(database.db);
  await ledger.dispatcher.drain();
  const states = await database.query<{ state: string }>(`select state from ops.sends where state = 'SENT'`);
  expect(states.length).toBeGreaterThanOrEqual(2);
  expect(posts()).toBe(5);
});

describe('a pause for lost answers', () => {
  async function loseThree(): Promise<{ ledger: LedgerWorld; sends: readonly PlannedSend[] }> {
    const ledger = await openLedger(database, sandbox);
    sandbox.faults({ kind: 'reset', when: 'after', operation: 'sendMessage' });
    const sends = [await ledger.answer(), await ledger.answer(), await ledger.answer()];
    for (const { sendId } of sends) expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
    sandbox.faults();
    expect(await readControl(database.db)).toMatchObject({ isPaused: true, by: 'ledger' });
    return { ledger, sends };
  }

  async function find(ledger: LedgerWorld, sends: readonly PlannedSend[]): Promise<void> {
    for (const { sendId } of sends) {
      await ledger.makeDue(sendId);
      expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
    }
    await ledger.dispatcher.sweep(10);
  }

  test('ends by itself when fewer than three are unknown, which count again with the next one', async () => {
    const { ledger, sends } = await loseThree();
    await ledger.dispatcher.sweep(10);
    expect(await readControl(database.db)).toMatchObject({ isPaused: true });
    await find(ledger, sends.slice(0, 1));
    expect(await readControl(database.db)).toMatchObject({ isPaused: false, by: null });
    const [next, fourth] = [await ledger.answer(), await ledger.answer()];
    expect(await ledger.dispatcher.advance(next.sendId)).toBe('sent');
    strike({ kind: 'reset', when: 'before' } as Strike);
    expect(await ledger.dispatcher.advance(fourth.sendId)).toBe('unknown');
    expect(await readControl(database.db)).toMatchObject({ isPaused: true, by: 'ledger' });
    await find(ledger, sends.slice(1, 2));
    expect(await readControl(database.db)).toMatchObject({ isPaused: false });
  });

  test('ends when a person records one of the outcomes', async () => {
    const { ledger, sends } = await loseThree();
    await settleManually(database.db, sends[0]?.sendId ?? '', 'NOT_SENT', { isInsisted: true });
    await ledger.dispatcher.sweep(10);
    expect(await readControl(database.db)).toMatchObject({ isPaused: false });
  });

  test('stays when a person has paused too', async () => {
    const { ledger, sends } = await loseThree();
    await pauseSends(database.db, 'a person looks into it');
    await find(ledger, sends);
    expect(await readControl(database.db)).toMatchObject({ isPaused: true, by: 'operator' });
  });

  test('does not come while each was found before the next', async () => {
    const ledger = await openLedger(database, sandbox);
    for (let lost = 0; lost < 4; lost += 1) {
      const send = await ledger.answer();
      strike({ kind: 'reset', when: 'after' } as Strike);
      expect(await ledger.dispatcher.advance(send.sendId)).toBe('unknown');
      await find(ledger, [send]);
    }
    expect(await readControl(database.db)).toMatchObject({ isPaused: false });
  });
});

describe.each([500, 503, 429, 400])('a text that is charged and answered %i, against the specification', (status) => {
  const fault = { kind: 'answer', when: 'after', status } as Strike;
  const booksOf = async () =>
    (
      await database.query(
        `select sends_count, reserved_micros::int, spent_micros::int from ops.send_budgets where scope = 'account'`,
      )
    )[0];

  test('is found before it is sent again, and its cost is counted', async () => {
    const ledger = await openLedger(database, sandbox);
    const { sendId, number } = await ledger.answer();
    strike(fault);
    await ledger.dispatcher.advance(sendId);
    if (status !== 400) await ledger.makeDue(sendId);
    else await ledger.mirror((await findSend(database.db, sendId))?.line ?? '', number);
    await ledger.dispatcher.drain();
    expect(await ledger.state(sendId)).toBe('SENT reconciled');
    expect([posts(), chargesTo(number)]).toEqual([1, 1]);
    expect(await booksOf()).toEqual({ sends_count: 1, reserved_micros: 0, spent_micros: 50_000 });
  });

  test('is found after it was refused or became too old', async () => {
    const ledger = await openLedger(database, sandbox);
    const { sendId, line, number } = await ledger.answer();
    strike(fault);
    await ledger.dispatcher.advance(sendId);
    if (status !== 400) {
      await database.query(`update ops.sends set expires_at = now() - interval '1 minute', due_at = now()`);
      expect(await ledger.dispatcher.advance(sendId)).toBe('expired');
    }
    expect(await booksOf()).toEqual({ sends_count: 0, reserved_micros: 0, spent_micros: 0 });
    await ledger.mirror(line, number);
    await ledger.dispatcher.drain();
    expect(await ledger.state(sendId)).toBe('SENT reconciled');
    expect(await booksOf()).toEqual({ sends_count: 1, reserved_micros: 0, spent_micros: 50_000 });
  });
});

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
  await database.query(
    `create function ops.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`,
  );
  await database.query(
    `create trigger refuse before update of send_id on warehouse.sms_messages execute function ops.refuse()`,
  );
  onTestFinished(async () => void (await database.query('drop function ops.refuse cascade')));
  await ledger.mirror(first.line, first.number);
  const { sendId } = await ledger.answer();
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toBe('SENT');
  expect(ledger.logged()).toContain('A chore of the ledger failed');
});

test('a refused text is not taken for one that a user sent', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number } = await ledger.answer({ text: 'We are open.' });
  strike({ kind: 'answer', status: 400 } as Strike);
  await ledger.dispatcher.advance(sendId);
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'We are open.', sentBy: 4100, announce: false });
  await ledger.mirror(line, number);
  await ledger.dispatcher.drain();
  expect(await ledger.state(sendId)).toMatch(/^REJECTED/);
});

describe('one lost answer', () => {
  const searchesMs = [10_000, 20_000, 40_000, 600_000];
  const text = 'The same words';

  /** A send whose answer was lost, with so many of its scheduled reads taken. */
  async function lost(
    when: 'before' | 'after',
    searches: number,
  ): Promise<{ ledger: LedgerWorld; first: PlannedSend }> {
    const ledger = await openLedger(database, sandbox, { timing: { reconcileAtMs: searchesMs } });
    const first = await ledger.answer({ text }, { sentAt: new Date(Date.now() - 90_000).toISOString() });
    strike({ kind: 'reset', when } as Strike);
    expect(await ledger.dispatcher.advance(first.sendId)).toBe('unknown');
    if (searches > 0) await searchAgain(ledger, first.sendId, searchesMs[searches - 1] ?? 0);
    return { ledger, first };
  }

  async function searchAgain(ledger: LedgerWorld, sendId: string, ms: number): Promise<void> {
    await database.query(
      `update ops.sends set dispatched_at = dispatched_at - $2 * interval '1 ms', due_at = now() where send_id = $1`,
      sendId,
      ms,
    );
    await ledger.dispatcher.advance(sendId);
  }

  test('keeps its thread busy for three reads, and not for a day', async () => {
    const early = await lost('before', 2);
    expect((await early.ledger.answer({ number: early.first.number, text })).planned).toBe('thread_busy');
    const { ledger, first } = await lost('before', 3);
    const second = await ledger.answer({ number: first.number, text });
    expect(second.planned).toBe('planned');
    expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
    // The text of the second is not taken for the first, though it has the same words.
    await ledger.makeDue(first.sendId);
    expect(await ledger.dispatcher.advance(first.sendId)).toBe('unknown');
    await searchAgain(ledger, first.sendId, 600_000);
    expect(await ledger.state(first.sendId)).toBe('NEEDS_HUMAN no message matches');
    expect(await ledger.texts(first.number)).toEqual([text]);
    expect(posts()).toBe(3);
  });

  test('is not found in a text that another send of the thread may have become', async () => {
    const { ledger, first } = await lost('before', 3);
    const second = await ledger.answer({ number: first.number, text });
    strike({ kind: 'reset', when: 'after' } as Strike);
    expect(await ledger.dispatcher.advance(second.sendId)).toBe('unknown');
    for (const { sendId } of [first, second]) {
      await ledger.makeDue(sendId);
      expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
    }
    await searchAgain(ledger, first.sendId, 600_000);
    expect(await ledger.state(first.sendId)).toBe('NEEDS_HUMAN a message matches that another send may have become');
    expect([posts(), chargesTo(first.number)]).toEqual([2, 1]);
  });

  test('that comes very late and proves that nothing was sent sends nothing beside a later answer', async () => {
    const ledger = await openLedger(database, sandbox, { timing: { reconcileAtMs: searchesMs } });
    const first = await ledger.answer({ text }, { sentAt: new Date(Date.now() - 90_000).toISOString() });
    const refusal = Promise.withResolvers<never>();
    const slow = await openLedger(database, sandbox, {
      timing: { reconcileAtMs: searchesMs },
      messages: { send: () => refusal.promise },
    });
    const turn = slow.dispatcher.advance(first.sendId);
    await expect.poll(() => ledger.state(first.sendId)).toBe('DISPATCHED');
    await ledger.makeDue(first.sendId);
    expect(await ledger.dispatcher.advance(first.sendId)).toBe('unknown');
    await searchAgain(ledger, first.sendId, searchesMs[2] ?? 0);
    const second = await ledger.answer({ number: first.number, text: 'Other words' });
    expect(second.planned).toBe('planned');
    refusal.reject(new ServiceError('server', 'as told', { operation: 'messages.send', effect: 'none', status: 503 }));
    expect(await turn).toBe('not_sent');
    expect(await ledger.state(first.sendId)).toBe('NOT_SENT server (503)');
    expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
    expect(posts()).toBe(1);
  });
});

/* A send that went out without an id in the answer, and the next one of the same words in its thread. */

/** The service does not show yet what went out. */
async function hideTexts(line: string, number: string): Promise<void> {
  const thread = `/api/public/v1/sms/conversations/${line}/${number}`;
  const { messages } = await ask<{ messages: Message[] }>('GET', thread);
  for (const { id, direction } of messages) if (direction === 'out') await ask('DELETE', `${thread}/messages/${id}`);
}

test('a message that a send without an id may have become, shown late, is not taken for the next one', async () => {
  const ledger = await openLedger(database, sandbox);
  const text = 'The same words';
  const first = await ledger.answer({ text });
  const { line, number } = first;
  strike({ kind: 'edit', path: 'data.messages.*.id' } as Strike);
  expect(await ledger.dispatcher.advance(first.sendId)).toBe('sent');
  await hideTexts(line, number);
  const second = await ledger.answer(
    { text, number },
    { text: 'Another question', sentAt: new Date(Date.now() + 10_000).toISOString() },
  );
  strike({ kind: 'reset', when: 'before' } as Strike);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('unknown');
  await sandbox.emit.sms({ line, number, direction: 'out', text, announce: false });
  await ledger.makeDue(second.sendId);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('unknown');
  await ledger.dispatcher.sweep(10);
  expect(await database.value(`select send_id from warehouse.sms_messages where direction = 'out'`)).toBe(first.sendId);
  await ledger.reconcileToTheEnd(second.sendId);
  expect(await ledger.state(second.sendId)).toBe('NEEDS_HUMAN no message matches');
});

test('a send without an id, whose message is shown and not linked yet, leaves the next one its own', async () => {
  const ledger = await openLedger(database, sandbox);
  const text = 'The same words';
  const first = await ledger.answer({ text });
  const { number } = first;
  strike({ kind: 'edit', path: 'data.messages.*.id' } as Strike);
  expect(await ledger.dispatcher.advance(first.sendId)).toBe('sent');
  const second = await ledger.answer(
    { text, number },
    { text: 'Another question', sentAt: new Date(Date.now() + 10_000).toISOString() },
  );
  strike({ kind: 'reset', when: 'after' } as Strike);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('unknown');
  await ledger.makeDue(second.sendId);
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
  await ledger.dispatcher.sweep(10);
  const sends = database.query(
    'select send_id from warehouse.sms_messages where direction = $1 order by message_id',
    'out',
  );
  expect(await sends).toEqual([{ send_id: first.sendId }, { send_id: second.sendId }]);
});

/* The clock of the service need not be ours: what it shows is compared with what else it shows. */

const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

const hours = 3_600_000;

test.each([
  {
    clock: 'minutes behind',
    aheadMs: -240_000,
    name: 'after the text that it answers is the send',
    afterMs: 1_000,
    end: 'sent',
  },
  { clock: 'minutes behind', aheadMs: -240_000, name: 'before that is not', afterMs: -1_000, end: 'unknown' },
  {
    clock: 'hours ahead',
    aheadMs: 3 * hours,
    name: 'soon after the text that it answers is the send',
    afterMs: 1_000,
    end: 'sent',
  },
  { clock: 'hours ahead', aheadMs: 3 * hours, name: 'an hour after that is not', afterMs: hours, end: 'unknown' },
])('by a clock that is $clock, a message from $name', async ({ aheadMs, afterMs, end }) => {
  const ledger = await openLedger(database, sandbox);
  const textAt = Date.now() + aheadMs;
  const { sendId, line, number, triggerId } = await ledger.answer({}, { sentAt: iso(textAt) });
  sandbox.faults({ kind: 'reset', when: 'before', times: 1, operation: 'sendMessage' });
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  const text = `An answer to ${triggerId}`;
  await sandbox.emit.sms({ line, number, direction: 'out', text, announce: false, sentAt: iso(textAt + afterMs) });
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe(end);
});

/** May do everything in the portal. */
const manager = 4156;

/** Sends an answer in a thread and mirrors it, as the sync does when it is told. */
async function sendAndMirror(ledger: LedgerWorld, number: string): Promise<void> {
  const { sendId, line } = await ledger.answer({ number });
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  await ledger.mirror(line, number);
  await ledger.dispatcher.sweep(10);
}

test('what a user writes by hand is a person’s text', async () => {
  const ledger = await openLedger(database, sandbox);
  const number = '12125550171';
  await sendAndMirror(ledger, number);
  const line = String(await database.value('select line from ops.sends'));
  const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const text = 'I will look into it.';
  await sandbox.emit.sms({ line, number, direction: 'out', text, sentBy: manager, announce: false, sentAt: at(5) });
  const { sendId } = await ledger.answer({ number }, { text: 'Thank you, and on Sunday?', sentAt: at(10) });
  await ledger.dispatcher.advance(sendId);
  expect(await ledger.state(sendId)).toBe('DENIED gate:human_wrote');
});

test('no user’s text is taken for a send', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, line, number, triggerId } = await ledger.answer();
  sandbox.faults({ kind: 'reset', when: 'before', times: 1, operation: 'sendMessage' });
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
  const text = `An answer to ${triggerId}`;
  await sandbox.emit.sms({ line, number, direction: 'out', text, sentBy: manager, announce: false });
  await ledger.makeDue(sendId);
  expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
});
