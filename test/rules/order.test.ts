import { afterAll, expect, test } from 'vitest';
import { until } from '../world.ts';
import { createDesk } from './desk.ts';

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

const desk = await createDesk(rules, 'live', 'postgres');
const { sandbox, query } = desk;
const line = '16465550100';
afterAll(() => desk.close());

const actsOn = (number: string) =>
  query<{ act: string }>(
    `select concat_ws(' ', r.rule, a.kind, a.state, a.reason) as act
     from ops.rule_actions a join ops.rule_runs r using (run_id) where r.number = $1 order by a.run_id, a.ordinal`,
    number,
  ).then((rows) => rows.map(({ act }) => act));
const chargesOf = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
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
  const call = { direction: 'inbound', status: 'missed', number, durationSeconds: 20, group: 'Service' } as const;
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
  const earlier = await sandbox.emit.call({ ...call, startTime: ago(300), announce: false });
  const later = await sandbox.emit.call({ ...call, startTime: ago(30), announce: false });
  await desk.deliver('AccountEndedCalls', { callId: later.id });
  await desk.acted();
  await desk.deliver('AccountEndedCalls', { callId: earlier.id });
  await until(async () => (await desk.runs('missed')).length === 2);
  await desk.acted();
  expect((await desk.runs('missed')).map(({ reason }) => reason)).toEqual(['matched', 'limit:thread']);
  expect(chargesOf(number)).toBe(1);
});

test('of two texts in a row the newer one is answered, once', async () => {
  const number = '12125550402';
  await sandbox.emit.sms({ line, number, text: 'hello' });
  await sandbox.emit.sms({ line, number, text: 'hello again' });
  await desk.acted();
  expect(chargesOf(number)).toBe(1);
  const [{ body } = { body: '' }, ...others] = await query<{ body: string }>(
    `select body from ops.sends where number = $1 and state = 'SENT'`,
    number,
  );
  expect([body, others]).toEqual(['Hello, hello again', []]);
  await sandbox.emit.sms({ line, number, text: 'hello, hello' });
  await desk.acted();
  expect((await desk.runs('greeting')).at(-1)?.reason).toBe('limit:thread');
  expect(chargesOf(number)).toBe(1);
});

test('a text that no event told of keeps the thread open', async () => {
  const number = '12125550403';
  // Without a receipt, nothing has the thread read before the silence is long enough.
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'It is ready for you.', delivery: null });
  await desk.settled();
  await sandbox.emit.sms({ line, number, text: 'It is broken, please help!', announce: false });
  await until(async () => (await actsOn(number)).some((act) => !act.includes('waiting')));
  expect(await actsOn(number)).toEqual(['silent resolve skipped they have written again']);
  expect(resolvesOf(number)).toBe(0);
});

test('a text of the same second as the thanks keeps the thread open', async () => {
  const number = '12125550404';
  const sentAt = new Date().toISOString();
  sandbox.faults({ answers: [{ kind: 'error', status: 500, operations: ['resolveConversation'] }] });
  await sandbox.emit.sms({ line, number, text: 'thanks', sentAt });
  await until(() => isPutOff(number));
  await sandbox.emit.sms({ line, number, text: 'But it still leaks, come back!', sentAt });
  await desk.settled();
  sandbox.faults({});
  const asked = resolvesOf(number);
  await until(async () => !(await actsOn(number)).some((act) => act.includes('waiting')));
  expect(await actsOn(number)).toEqual([expect.stringContaining('thanks resolve skipped')]);
  expect(resolvesOf(number)).toBe(asked);
});

test('what waits of a rule that is turned off is not done', async () => {
  const number = '12125550405';
  sandbox.faults({ answers: [{ kind: 'error', status: 500, operations: ['resolveConversation'] }] });
  await sandbox.emit.sms({ line, number, text: 'thanks' });
  await until(() => isPutOff(number));
  await desk.rules(rules.replace('message.plain == "thanks"', 'message.plain == "thanks"\n    mode: dry-run'));
  sandbox.faults({});
  const asked = resolvesOf(number);
  await until(async () => !(await actsOn(number)).some((act) => act.includes('waiting')));
  expect(await actsOn(number)).toEqual([expect.stringContaining('the rule is not live any more')]);
  expect(resolvesOf(number)).toBe(asked);
});
