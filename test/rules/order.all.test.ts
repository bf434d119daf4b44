import { afterAll, expect, test } from 'vitest';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { locksHere } from '../world/database.ts';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* Events come late, out of order, together or not at all; people write on meanwhile, and owners turn their rules off. */

const rules = `
rules:
  - name: missed
    on: call_missed
    if: call.direction == "inbound" && line.can_text
    do: [{ reply: Sorry that we missed your call. }]
    limits: { per_thread: 1 per 24h, quiet_hours: none }
  - name: greeting
    on: message_received
    if: message.plain.startsWith("hello")
    do: [{ reply: 'Hello, {{ message.text }}' }]
    limits: { per_thread: 1 per 12h, quiet_hours: none }
  - name: first
    on: message_received
    if: message.plain.startsWith("good morning") && replies.count == 0
    do: [{ reply: 'Good morning, {{ message.text }}' }]
    limits: { quiet_hours: none }
  - name: daily
    on: message_received
    if: message.plain == "good evening"
    do: [{ reply: Good evening. }]
    limits: { per_contact: 1 per 24h, quiet_hours: none }
  - name: thanks
    on: message_received
    if: message.plain == "thanks"
    do: [{ resolve: true }]
  - name: silent
    on: thread_idle
    for: 3s
    if: thread.last_direction == "out"
    do: [{ resolve: true }]
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query, value, context } = world;
const line = '16465550100';
afterAll(() => world.close());

const actsOn = (number: string) =>
  query<{ act: string }>(
    `select concat_ws(' ', r.rule, a.kind, a.state, a.reason) as act
     from ops.rule_actions a join ops.rule_runs r using (run_id) where r.number = $1 order by a.run_id, a.ordinal`,
    number,
  ).then((rows) => rows.map(({ act }) => act));
const chargesOf = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
const textsOf = (number: string) =>
  query<{ body: string }>(`select body from ops.sends where number = $1 and state = 'SENT'`, number).then((rows) =>
    rows.map(({ body }) => body),
  );
const runsOf = (number: string) =>
  query<{ reason: string }>(
    `select reason from ops.rule_runs where number = $1 and rule = 'greeting' order by run_id`,
    number,
  ).then((rows) => rows.map(({ reason }) => reason));
const resolvesOf = (number: string) =>
  sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith(`/${number}/resolve`)).length;

/** Whether its resolve was refused, and is to be asked for again later. */
const isPutOff = async (number: string) =>
  (
    await query(
      `select from ops.rule_actions join ops.rule_runs using (run_id)
       where number = $1 and state = 'waiting' and tries > 0 and claimed_until < now()`,
      number,
    )
  ).length === 1;

test('a call that is told of after a later one is within the same limit', async () => {
  const number = '12125550401';
  const call: CallEvent = {
    direction: 'inbound',
    status: 'missed',
    group: 'Service',
    number,
    legs: [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }],
  };
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
  const earlier = await sandbox.emit.call({ ...call, startTime: ago(300), announce: false });
  const later = await sandbox.emit.call({ ...call, startTime: ago(30), announce: false });
  await world.deliver('AccountEndedCalls', { callId: later.id });
  await world.rulesSettled();
  await world.deliver('AccountEndedCalls', { callId: earlier.id });
  await until(async () => (await world.runs('missed')).length === 2);
  await world.rulesSettled();
  expect((await world.runs('missed')).map(({ reason }) => reason)).toEqual(['matched', 'limit:thread']);
  expect(chargesOf(number)).toBe(1);
});

test('a limit by contact counts on every line', async () => {
  const number = '12125550413';
  for (const each of [line, '16465550101']) {
    await sandbox.emit.sms({ line: each, number, text: 'Good evening!' });
    await world.rulesSettled();
  }
  await sandbox.emit.sms({ line, number: '12125550414', text: 'Good evening!' });
  await world.rulesSettled();
  expect((await world.runs('daily')).map(({ reason }) => reason)).toEqual(['matched', 'limit:contact', 'matched']);
});

test('of two texts in a row the newer one is answered, once', async () => {
  const number = '12125550402';
  await sandbox.emit.sms({ line, number, text: 'hello' });
  await sandbox.emit.sms({ line, number, text: 'hello again' });
  await world.rulesSettled();
  expect(chargesOf(number)).toBe(1);
  expect(await textsOf(number)).toEqual(['Hello, hello again']);
  await sandbox.emit.sms({ line, number, text: 'hello, hello' });
  await world.rulesSettled();
  expect((await world.runs('greeting')).at(-1)?.reason).toBe('limit:thread');
  expect(chargesOf(number)).toBe(1);
});

test('of two texts in a row the older one is answered where no rule answers the newer', async () => {
  const number = '12125550411';
  await sandbox.emit.sms({ line, number, text: 'hello' });
  await sandbox.emit.sms({ line, number, text: 'just a moment' });
  await until(() => chargesOf(number) === 1);
  await world.rulesSettled();
  expect(await textsOf(number)).toEqual(['Hello, hello']);
  const stopped = '12125550412';
  await sandbox.emit.sms({ line, number: stopped, text: 'hello', announce: false });
  await sandbox.emit.sms({ line, number: stopped, text: 'STOP' });
  await world.rulesSettled();
  expect(chargesOf(stopped)).toBe(0);
});

test('so it is where the rule goes by the replies so far', async () => {
  const number = '12125550406';
  await sandbox.emit.sms({ line, number, text: 'good morning' });
  await sandbox.emit.sms({ line, number, text: 'good morning again' });
  await world.rulesSettled();
  expect(await textsOf(number)).toEqual(['Good morning, good morning again']);
  expect(chargesOf(number)).toBe(1);
});

test.each([
  { step: 'reserves it', state: 'RESERVED', number: '12125550407', other: '12125550408', fault: [] },
  {
    step: 'writes down that it was not sent',
    state: 'NOT_SENT',
    number: '12125550409',
    other: '12125550410',
    fault: [{ kind: 'answer' as const, status: 500, operation: 'sendMessage' as const, times: 1 }],
  },
])('so it is where a worker stands still while it $step, and nobody else waits', async (given) => {
  const { state, number, other, fault } = given;
  sandbox.faults(...fault);
  // The worker's transaction hangs until the lock is free.
  await query(`create or replace function ops.hang() returns trigger language plpgsql as $$ begin
    if new.number = '${number}' and new.state = '${state}' then perform pg_advisory_xact_lock(4071); end if; return new; end $$`);
  await query('create trigger hang before update on ops.sends for each row execute function ops.hang()');
  const holder = await context.database.pool.connect();
  try {
    await holder.query('select pg_advisory_lock(4071)');
    await sandbox.emit.sms({ line, number, text: 'hello' });
    await until(
      async () =>
        Number(
          await value(`select count(*) from ${locksHere} where locktype = 'advisory' and objid = 4071 and not granted`),
        ) > 0,
    );
    await sandbox.emit.sms({ line, number, text: 'hello again' });
    const mirrored = 'select count(*) from warehouse.sms_messages where number = $1';
    await until(async () => Number(await value(mirrored, number)) === 2);
    await sandbox.emit.sms({ line, number: other, text: 'hello' });
    await until(async () => (await runsOf(other)).length === 1);
    expect(await runsOf(number)).toEqual(['matched']);
  } finally {
    await holder.query('select pg_advisory_unlock(4071)');
    holder.release();
    await query('drop trigger hang on ops.sends');
    sandbox.faults();
  }
  await world.rulesSettled();
  expect(await runsOf(number)).toEqual(['matched', 'matched']);
  expect(await textsOf(number)).toEqual(['Hello, hello again']);
  expect(chargesOf(number)).toBe(1);
});

test('a text that no event told of keeps the thread open', async () => {
  const number = '12125550403';
  // Without a receipt, nothing has the thread read before the silence is long enough.
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'It is ready for you.', delivery: null });
  await world.settled();
  await sandbox.emit.sms({ line, number, text: 'It is broken, please help!', announce: false });
  await until(async () => (await actsOn(number)).some((act) => !act.includes('waiting')));
  expect(await actsOn(number)).toEqual(['silent resolve skipped the other party has written again']);
  expect(resolvesOf(number)).toBe(0);
});

test('a text of the same second as the thanks keeps the thread open', async () => {
  const number = '12125550404';
  const sentAt = new Date().toISOString();
  sandbox.faults({ kind: 'answer', status: 500, operation: 'resolveConversation' });
  await sandbox.emit.sms({ line, number, text: 'thanks', sentAt });
  await until(() => isPutOff(number));
  await sandbox.emit.sms({ line, number, text: 'But it still leaks, come back!', sentAt });
  await world.settled();
  sandbox.faults();
  const asked = resolvesOf(number);
  await until(async () => !(await actsOn(number)).some((act) => act.includes('waiting')));
  expect(await actsOn(number)).toEqual([expect.stringContaining('thanks resolve skipped')]);
  expect(resolvesOf(number)).toBe(asked);
});

test('what waits of a rule that is turned off is not done', async () => {
  const number = '12125550405';
  sandbox.faults({ kind: 'answer', status: 500, operation: 'resolveConversation' });
  await sandbox.emit.sms({ line, number, text: 'thanks' });
  await until(() => isPutOff(number));
  await world.rules(rules.replace('message.plain == "thanks"', 'message.plain == "thanks"\n    mode: dry-run'));
  sandbox.faults();
  const asked = resolvesOf(number);
  await until(async () => !(await actsOn(number)).some((act) => act.includes('waiting')));
  expect(await actsOn(number)).toEqual([expect.stringContaining('the rule is not live any more')]);
  expect(resolvesOf(number)).toBe(asked);
});
