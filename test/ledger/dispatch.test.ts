import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { lines as ourLines } from '../../src/warehouse/lines.ts';
import { beginRead } from '../../src/warehouse/upsert.ts';
import { json, listen, open, refuse } from '../api-client/endpoint.ts';
import { openLedgerStores } from './ledger-stores.ts';
import { type LedgerWorld, openLedger, type PlannedSend } from './ledger-world.ts';

const { ask, books, clear, database, posts, sandbox } = await openLedgerStores();
beforeEach(clear);

const charges = () => sandbox.sends().filter(({ charge }) => charge !== null).length;
const unsent = '0 sends, 0 reserved, 0 spent';

/** Plans a reply to a call from a number, and answers with the send. */
async function planForCall(ledger: LedgerWorld, line: string, number: string): Promise<string> {
  const trigger = { kind: 'call', id: '1776772800.1', at: new Date() } as const;
  const limits = { quietHours: 'none' } as const;
  await ledger.plan({ rule: 'call', line, number, trigger, text: 'We saw your call.', mode: 'live', limits });
  return String(await database.value(`select send_id from ops.sends where rule = 'call' and number = $1`, number));
}

/** Lets a send grow older until it is due, by no more than an hour. */
function passUntilDue(sendId: string): Promise<unknown> {
  return database.query(
    `update ops.sends set due_at = due_at - wait, expires_at = expires_at - wait
     from (select least(due_at - now(), interval '1 hour') as wait from ops.sends where send_id = $1) as time where send_id = $1`,
    sendId,
  );
}

test('a planned send goes out once, and what it cost is settled', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId, number } = await ledger.answer();
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  expect(await ledger.history(sendId)).toEqual(['PLANNED', 'RESERVED', 'DISPATCHED', 'SENT']);
  expect(await ledger.texts(number)).toHaveLength(1);
  expect(posts()).toBe(1);
  expect(
    await database.query('select units, settled_micros::int, reserved_micros::int, message_type from ops.sends'),
  ).toEqual([{ units: 1, settled_micros: 10_000, reserved_micros: 0, message_type: 'sms' }]);
  expect(await books()).toBe('1 sends, 0 reserved, 10000 spent');
});

test.each(['its id', 'no id'])(
  'its message carries the send as soon as it is mirrored, when the answer told %s',
  async (told) => {
    const ledger = await openLedger(database, sandbox);
    const { sendId, line, number } = await ledger.answer();
    if (told === 'no id') {
      sandbox.faults({ kind: 'edit', path: 'data.messages.*.id', operation: 'sendMessage', times: 1 });
    }
    await ledger.dispatcher.advance(sendId);
    expect((await database.value('select message_id from ops.sends')) === null).toBe(told === 'no id');
    await ledger.mirror(line, number);
    expect(await ledger.dispatcher.hasWork()).toBe(true);
    await ledger.dispatcher.sweep(10);
    expect(await database.value(`select send_id from warehouse.sms_messages where direction = 'out'`)).toBe(sendId);
    expect(await ledger.dispatcher.hasWork()).toBe(false);
  },
);

test('two sends whose answers hold the same id are both settled, and it counts once', async () => {
  const id = 7;
  const ledger = await openLedger(database, sandbox);
  const alike = await openLedger(database, sandbox, {
    messages: {
      async send(...asked) {
        const { data, ...answer } = await ledger.deps.messages.send(...asked);
        return { ...answer, data: { ...data, messages: (data.messages ?? []).map((message) => ({ ...message, id })) } };
      },
    },
  });
  for (const { sendId } of [await ledger.answer(), await ledger.answer()]) {
    expect(await alike.dispatcher.advance(sendId)).toBe('sent');
  }
  const rows = await database.query('select message_id from ops.sends order by planned_at');
  expect(rows.map(({ message_id }) => message_id)).toEqual(['7', null]);
  expect(await books()).toBe('2 sends, 0 reserved, 20000 spent');
});

test('the same rule answers one trigger once, and a thread has one send under way', async () => {
  const ledger = await openLedger(database, sandbox);
  const { line, number, triggerId } = await ledger.answer();
  const trigger = { kind: 'message', id: triggerId, at: new Date() } as const;
  const plan = { line, number, text: 'x', mode: 'live', trigger } as const;
  expect(await ledger.plan({ ...plan, rule: 'test' })).toBe('duplicate');
  expect(await ledger.plan({ ...plan, rule: 'another' })).toBe('thread_busy');
});

test('a send that waits gives way to one on a newer trigger', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer();
  const second = await ledger.answer({ number: first.number }, { text: 'And tomorrow?' });
  expect(second.planned).toBe('planned');
  expect(await ledger.state(first.sendId)).toBe('DENIED superseded');
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('sent');
});

test('a send that is reserved gives way too, and its worker lets nothing out', async () => {
  const limits = { perThread: 1 };
  const ledger = await openLedger(database, sandbox, { limits });
  const sentAt = new Date(Date.now() - 3_000).toISOString();
  const first = await ledger.answer({}, { sentAt });
  const { number } = first;
  let second: PlannedSend | undefined;
  const interrupted = ledger.meanwhile(async () => {
    second = await ledger.answer({ number }, { text: 'And tomorrow?' });
  });
  expect(await interrupted.advance(first.sendId)).toBe('lost');
  expect(second?.planned).toBe('planned');
  expect(await ledger.state(first.sendId)).toBe('DENIED superseded');
  // What the first had reserved of the thread's only send is the second's to use.
  expect(await ledger.dispatcher.advance(second?.sendId ?? '')).toBe('sent');
  expect(posts()).toBe(1);
  expect(await books()).toBe('1 sends, 0 reserved, 10000 spent');
});

test('what a superseded send had reserved is given back when nothing comes of the other', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({}, { sentAt: new Date(Date.now() - 3_000).toISOString() });
  await ledger.hangIn('RESERVED', first.sendId);
  const second = await ledger.answer({ number: first.number }, { text: 'STOP' });
  expect(second.planned).toBe('planned');
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('denied');
  await ledger.dispatcher.sweep(10);
  expect(await books()).toBe(unsent);
  await ledger.dispatcher.sweep(10);
  expect(await books()).toBe(unsent);
});

test('a send whose request may have left does not give way', async () => {
  const ledger = await openLedger(database, sandbox);
  const first = await ledger.answer({}, { sentAt: new Date(Date.now() - 3_000).toISOString() });
  await ledger.hangIn('DISPATCHED', first.sendId);
  const second = await ledger.answer({ number: first.number }, { text: 'And tomorrow?' });
  expect(second.planned).toBe('thread_busy');
  expect(await ledger.state(first.sendId)).toBe('DISPATCHED');
});

test('a rule on trial keeps nothing back: not a live answer to the same text, nor one that waits', async () => {
  const ledger = await openLedger(database, sandbox);
  const trial = await ledger.answer({ rule: 'trial', mode: 'dry-run' });
  const { line, number, triggerId } = trial;
  const trigger = { kind: 'message', id: triggerId, at: new Date() } as const;
  const plan = { line, number, text: 'x', trigger, limits: { quietHours: 'none' } } as const;
  expect(await ledger.plan({ ...plan, rule: 'live', mode: 'live' })).toBe('planned');
  const later = { ...trigger, id: '999999999', at: new Date(Date.now() + 5_000) };
  expect(await ledger.plan({ ...plan, rule: 'trial', mode: 'dry-run', trigger: later })).toBe('planned');
  expect(await database.query('select rule, state, reason from ops.sends order by planned_at')).toEqual([
    { rule: 'trial', state: 'DENIED', reason: 'superseded' },
    { rule: 'live', state: 'PLANNED', reason: null },
    { rule: 'trial', state: 'PLANNED', reason: null },
  ]);
  await ledger.dispatcher.drain();
  expect(await ledger.texts(number)).toEqual(['x']);
});

describe('an answer that proves that nothing was sent', () => {
  test('that asks for a pause of years holds it back until it is too old, and no longer', async () => {
    const headers = { 'retry-after': '999999999' };
    sandbox.faults({ kind: 'answer', status: 429, headers, operation: 'sendMessage' });
    const ledger = await openLedger(database, sandbox);
    const { sendId } = await ledger.answer();
    expect(await ledger.dispatcher.advance(sendId)).toBe('not_sent');
    expect(await ledger.state(sendId)).toBe('PLANNED rate_limited (429)');
    await passUntilDue(sendId);
    expect(await ledger.dispatcher.advance(sendId)).toBe('expired');
    expect(await ledger.state(sendId)).toBe('EXPIRED gate:too_old');
    expect(posts()).toBe(1);
  });

  test('lets a send be tried as long as what it answers is timely, in waits that grow', async () => {
    sandbox.faults({ kind: 'answer', status: 503, times: 9, operation: 'sendMessage' });
    const ledger = await openLedger(database, sandbox, { timing: { retryMs: 5_000 } });
    const { sendId } = await ledger.answer();
    const waits: number[] = [];
    for (let turn = 0; turn < 9; turn += 1) {
      expect(await ledger.dispatcher.advance(sendId)).toBe('not_sent');
      expect(await books()).toBe(unsent);
      waits.push(Number(await database.value('select extract(epoch from due_at - clock_timestamp()) from ops.sends')));
      await ledger.makeDue(sendId);
    }
    // 5 s at first, a quarter more each time, and a fifth more or less of that by chance.
    expect(waits[0]).toBeLessThan(6.1);
    expect(waits[8]).toBeGreaterThan(15);
    expect(await database.value('select tries from ops.sends')).toBe(9);
    expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
    expect(charges()).toBe(1);
  });

  test('counts no try while the service throttles, and sends once the pause is over', async () => {
    sandbox.faults({ kind: 'answer', status: 429, times: 3, operation: 'sendMessage' });
    const ledger = await openLedger(database, sandbox);
    const { sendId } = await ledger.answer();
    const advance = async () => {
      const result = await ledger.dispatcher.advance(sendId);
      await ledger.makeDue(sendId);
      return result;
    };
    expect(await advance()).toBe('not_sent');
    expect(await books()).toBe(unsent);
    await vi.waitFor(async () => expect(await advance()).toBe('sent'), { timeout: 10_000 });
    expect(await database.value('select tries from ops.sends')).toBe(0);
    expect(posts()).toBe(4);
    expect(charges()).toBe(1);
  });

  test('is also a connection that nobody takes', async () => {
    const closed = await createSandbox({ calls: 0, threads: 0 });
    const ledger = await openLedger(database, closed);
    const { sendId } = await ledger.answer();
    const { readThread: look, isBlocked } = ledger.deps;
    const late = await openLedger(database, closed, {
      readThread: async (thread) => {
        const isWhole = await look(thread);
        await isBlocked(thread.line, thread.number);
        await closed.close();
        return isWhole;
      },
      isBlocked: async () => false,
    });
    expect(await late.dispatcher.advance(sendId)).toBe('not_sent');
    expect(await ledger.history(sendId)).toEqual(['PLANNED', 'RESERVED', 'DISPATCHED', 'NOT_SENT', 'PLANNED']);
  });
});

test.each([{}, { messages: [], skipped: [] }, { messages: [], billing: { billed: true } }])(
  'a 200 that says of nobody that they were skipped, nor that it was free, leaves the outcome unknown: %j',
  async (data) => {
    const { url } = await listen((response) => json(response, 200, { data }));
    const ledger = await openLedger(database, sandbox, { messages: open(url).messages });
    const { sendId } = await ledger.answer();
    expect(await ledger.dispatcher.advance(sendId)).toBe('unknown');
    expect(await ledger.state(sendId)).toBe('UNKNOWN status 200 does not fit its answer');
  },
);

test('a refusal with the envelope is final and costs nothing', async () => {
  const ledger = await openLedger(database, sandbox, { limits: { countries: ['49'] } });
  const { sendId } = await ledger.answer({ number: '4915112345678' });
  expect(await ledger.dispatcher.advance(sendId)).toBe('rejected');
  expect(await ledger.state(sendId)).toBe('REJECTED invalid_request (422)');
  expect(await books()).toBe(unsent);
});

test('a recipient whom the service skips as opted out is remembered for the whole account', async () => {
  const ledger = await openLedger(database, sandbox);
  const [, other] = await ask<{ number: string }[]>('GET', '/api/public/v1/sms/lines');
  const first = await ledger.answer();
  // The service knows of an opt-out that the mirror has never seen.
  const long = { announce: false, sentAt: '2020-01-01T00:00:00Z' };
  await sandbox.emit.sms({ line: first.line, number: first.number, text: 'STOP', ...long });
  await database.query(`update warehouse.sms_messages set body = 'x' where body = 'STOP'`);
  const blind = await openLedger(database, sandbox, { readThread: async () => true });
  expect(await blind.dispatcher.advance(first.sendId)).toBe('skipped');
  const second = await ledger.answer({ number: first.number, line: other?.number ?? '' });
  expect(await ledger.dispatcher.advance(second.sendId)).toBe('denied');
  expect(await ledger.state(second.sendId)).toBe('DENIED gate:opted_out');
});

test('a dry run records what would have been sent, asks nothing of the service and reserves nothing', async () => {
  const ledger = await openLedger(database, sandbox, { mode: 'dry-run' });
  const { sendId } = await ledger.answer({ mode: 'dry-run' });
  const before = sandbox.requests().length;
  expect(await ledger.dispatcher.advance(sendId)).toBe('denied');
  expect(await database.query('select state, reason, units, reserved_micros::int from ops.sends')).toEqual([
    { state: 'DENIED', reason: 'dry_run', units: 1, reserved_micros: 0 },
  ]);
  expect(sandbox.requests().length).toBe(before);
  expect(await books()).toBeUndefined();
});

test.each(['dry-run', 'off'] as const)('a worker that is %s leaves live sends to live ones', async (mode) => {
  const live = await openLedger(database, sandbox);
  const [waiting, late, unapproved] = [
    await live.answer(),
    await live.answer(),
    await live.answer({ limits: { quietHours: 'none', approval: { expiresSeconds: 600, notify: undefined } } }),
  ];
  expect(await live.dispatcher.advance(unapproved.sendId)).toBe('awaiting');
  await database.query(`update ops.sends set due_at = now(), enqueued_at = '-infinity'`);
  await database.query(`update ops.sends set expires_at = now() - interval '1 second' where send_id = $1`, late.sendId);
  const { dispatcher } = await openLedger(database, sandbox, { mode });
  expect(await dispatcher.sweep(10)).toEqual([late.sendId]);
  expect(await dispatcher.advance(late.sendId)).toBe('expired');
  expect(await dispatcher.advance(waiting.sendId)).toBe('nothing_due');
  expect(await dispatcher.advance(unapproved.sendId)).toBe('nothing_due');
  expect(await live.state(waiting.sendId)).toBe('PLANNED');
  expect(await live.state(unapproved.sendId)).toMatch(/^AWAITING_APPROVAL/);
  expect(await live.dispatcher.advance(waiting.sendId)).toBe('sent');
});

test('a thread that cannot be read whole lets nothing out', async () => {
  const ledger = await openLedger(database, sandbox, { readThread: async () => false });
  const { sendId } = await ledger.answer();
  expect(await ledger.dispatcher.advance(sendId)).toBe('replanned');
  expect(await ledger.state(sendId)).toBe('PLANNED the thread could not be read whole');
  expect(posts()).toBe(0);
});

describe('a text that came meanwhile and is seen by the fresh read', () => {
  const later = () => ({ announce: false, sentAt: new Date(Date.now() + 2_000).toISOString() });

  test('holds the answer until the rules were tried on it, and when none answers it, the answer goes out', async () => {
    const ledger = await openLedger(database, sandbox);
    const { sendId, line, number } = await ledger.answer();
    await sandbox.emit.sms({ line, number, text: 'never mind', ...later() });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await ledger.dispatcher.advance(sendId)).toBe('held');
      expect(await ledger.state(sendId)).toBe('HELD gate:newer_inbound');
      expect(await books()).toBe(unsent);
      await ledger.makeDue(sendId);
    }
    expect(posts()).toBe(0);
    await ledger.evaluateRules();
    expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
  });

  test.each([
    ['an opt-out', { text: 'STOP' }, 'opted_out'],
    ['what may be an opt-out', { text: 'not interested' }, 'opt_out_unsure'],
    ['a person’s answer', { direction: 'out', text: 'I am on it', sentBy: 4156 }, 'answered'],
  ] as const)('keeps the answer back when it is %s', async (_, event, reason) => {
    const ledger = await openLedger(database, sandbox);
    const { sendId, line, number } = await ledger.answer();
    await sandbox.emit.sms({ line, number, text: 'never mind', ...later() });
    await sandbox.emit.sms({ line, number, ...event, ...later() });
    expect(await ledger.dispatcher.advance(sendId)).toBe('denied');
    expect(await ledger.state(sendId)).toBe(`DENIED gate:${reason}`);
    expect(posts()).toBe(0);
  });
});

// Ten digits with their country code, as in Norway: to be compared, they get another one.
test('a send names its line in the form in which the service lists it', async () => {
  const number = '4721555014';
  const { url, seen } = await listen((response, { method, body }) => {
    if (method === 'GET') return json(response, 200, { data: [{ number, name: '', userIds: [], bulkEnabled: false }] });
    if (JSON.parse(body).from !== number) return refuse(response, 403, 'permission_denied');
    json(response, 201, { data: { from: number, messages: [{ id: 7 }] } });
  });
  const { lines, messages } = open(url);
  const { data } = await lines.list();
  const read = await beginRead(database.db, 'lines.list');
  await database.db.transaction().execute((tx) => ourLines.write(tx, () => undefined, { rows: data, read }));

  const deps = { messages, readThread: async () => true, isBlocked: async () => false };
  const ledger = await openLedger(database, sandbox, deps);
  await planForCall(ledger, number, '12125550123');
  await ledger.dispatcher.drain();
  expect(await database.query('select state, reason from ops.sends')).toEqual([{ state: 'SENT', reason: null }]);
  expect(seen.map(({ method }) => method)).toEqual(['GET', 'POST']);
});

/* Whether a thread without texts is empty or not found is not specified: the sandbox shows it empty. */

const notFound = () => sandbox.faults({ kind: 'answer', status: 404, operation: 'readThread' });

test.each([
  ['a caller who never wrote', '12125550777', false],
  ['one who was asked for as a candidate', '12125550778', true],
])('a thread that is not found keeps no text from %s', async (_, number, isCandidate) => {
  const ledger = await openLedger(database, sandbox);
  const { line } = await ledger.answer();
  notFound();
  if (isCandidate) {
    const candidate = `insert into ops.thread_candidates (line, number, evidence, probed_at) values ($1, $2, 'call', now())`;
    await database.query(candidate, line, number);
  }
  const sendId = await planForCall(ledger, line, number);
  expect(await ledger.dispatcher.advance(sendId)).toBe('sent');
});

test('a thread that is held and not found lets nothing out', async () => {
  const ledger = await openLedger(database, sandbox);
  const { sendId } = await ledger.answer();
  notFound();
  expect(await ledger.dispatcher.advance(sendId)).toBe('replanned');
  expect(await ledger.state(sendId)).toBe('PLANNED the thread could not be read');
});
