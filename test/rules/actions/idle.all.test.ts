import { afterAll, expect, test, vi } from 'vitest';
import { explain } from '../../../src/rules/explain.ts';
import { parseRules } from '../../../src/rules/file/parse.ts';
import { simulate } from '../../../src/rules/simulate/simulate.ts';
import { weekdays } from '../../../src/shared/business-hours.ts';
import { until } from '../../world.ts';
import { createRulesWorld } from '../rules-world.ts';

/* What happens in a thread, and to the read of it, between the moment a rule matched and the resolve that it asks for. */

const dayMs = 86_400_000;
const weekdayOf = (at: number) => weekdays[(new Date(at).getUTCDay() + 6) % 7];
const yesterday = weekdayOf(Date.now() - dayMs);

const rules = `
business_hours:
${weekdays.map((day) => `  ${day}: ${day === yesterday ? '[]' : '00:00-24:00'}`).join('\n')}
rules:
  - name: business
    on: thread_idle
    for: 1 business minute
    if: thread.last_direction == "in" && contact.number == "12125550509"
    do: [{ comment: Nobody answered. }]
  - name: unless-asked
    on: thread_idle
    for: 2h
    if: thread.last_direction == "out" && !message.text.contains("?")
    do: [{ comment: Not asked. }]
  - name: unanswered
    on: message_received
    if: thread.unanswered_count == 3
    do: [{ comment: 'They wrote {{ thread.unanswered_count }} times.' }]
  - name: noted
    on: message_received
    if: message.plain == "close"
    do: [{ resolve: { comment: Closed. } }]
  - name: silence
    on: thread_idle
    for: 1h
    if: thread.last_direction == "out"
    do: [{ resolve: true }]
  - name: farewell
    on: thread_idle
    for: 1h
    if: thread.last_direction == "in"
    do: [{ reply: We close this for now. }, { resolve: true }]
    limits: { quiet_hours: none }
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query, value } = world;
await until(async () => (await value('select count(*)::integer from warehouse.sms_lines')) !== 0);
const line = String(await value('select min(line) from warehouse.sms_lines'));
afterAll(() => world.close());

const anHourAgo = () => new Date(Date.now() - 61 * 60_000).toISOString();
const resolvesOf = (number: string) =>
  sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith(`/${number}/resolve`));
const readsOf = (number: string) =>
  sandbox.requests().filter(({ method, path }) => method === 'GET' && path.includes(`/${number}`));

/** Keeps the resolves of rules back until they are let go. */
await query(
  `create function ops.hold() returns trigger language plpgsql as $$
   begin
     if new.kind = 'resolve' then new.due_at = 'infinity'; end if;
     return new;
   end $$`,
);
await query('create trigger hold before insert on ops.rule_actions for each row execute function ops.hold()');
const letGo = () => query(`update ops.rule_actions set due_at = now() where state = 'waiting' and due_at = 'infinity'`);
const resolvesWaiting = async (rule: string) =>
  (await world.actions(rule)).filter(({ kind, state }) => kind === 'resolve' && state === 'waiting').length;

test('a silence that one of us has broken, of which no event told, is not resolved', async () => {
  const number = '12125550501';
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'Bye', sentAt: anHourAgo() });
  await world.settled();
  await world.age();
  await until(async () => (await resolvesWaiting('silence')) === 1);
  await sandbox.emit.sms({ line, number, direction: 'out', text: 'Are you still coming?', announce: false });
  await letGo();
  await until(async () => (await resolvesWaiting('silence')) === 0);
  expect(await world.actions('silence')).toEqual([
    { kind: 'resolve', state: 'skipped', reason: 'the thread is no longer idle' },
  ]);
  expect(resolvesOf(number)).toHaveLength(0);
});

test.each([
  { name: '', number: '12125550502', change: undefined },
  {
    name: ', nor one without an id',
    number: '12125550504',
    change: 'update ops.sends set message_id = null, linked_at = now()',
  },
])('a rule’s own reply to a silence is nothing that keeps the thread open$name', async ({ number, change }) => {
  const ofThread = `in (select run_id from ops.rule_runs where number = '${number}')`;
  const settled = (kind: string) =>
    value(`select state from ops.rule_actions where run_id ${ofThread} and kind = '${kind}' and state <> 'waiting'`);
  await sandbox.emit.sms({ line, number, text: 'Hm', sentAt: anHourAgo() });
  await world.settled();
  await world.age();
  await until(async () => (await settled('reply')) === 'done');
  if (change) await query(`${change} where number = '${number}'`);
  await letGo();
  await until(async () => (await settled('resolve')) !== undefined);
  expect(await settled('resolve')).toBe('done');
  expect(resolvesOf(number)).toHaveLength(1);
});

test('a look that is cut off costs a resolve its turn, not its note', async () => {
  const number = '12125550503';
  await sandbox.emit.sms({ line, number, text: 'close' });
  await until(async () => (await resolvesWaiting('noted')) === 1);
  await world.settled();
  const { service } = world.context;
  if (!service) throw new Error('A world has a service');
  const resolve = vi.spyOn(service.conversations, 'resolve');
  const before = readsOf(number).length;
  sandbox.faults({
    kind: 'reset',
    when: 'after',
    operation: `GET /sms/conversations/${line}/${number}`,
    times: 3,
  });
  await letGo();
  await until(async () => (await resolvesWaiting('noted')) === 0);
  sandbox.faults();
  expect(readsOf(number).length).toBeGreaterThan(before + 3);
  expect(resolve.mock.calls.map(([, wishes]) => wishes)).toEqual([{ comment: 'Closed.' }]);
  expect(resolvesOf(number)).toHaveLength(1);
});

test('business minutes go on when the business opens again: a text before a closed day matches on the day after', async () => {
  const number = '12125550509';
  const midnight = Math.floor(Date.now() / dayMs) * dayMs;
  await sandbox.emit.sms({ line, number, text: 'Hello?', sentAt: new Date(midnight - dayMs - 30_000).toISOString() });
  await world.settled();
  await world.age();
  const runs = () =>
    query(`select reason, trigger_at from ops.rule_runs where number = $1 and rule = 'business'`, number);
  await until(async () => (await runs()).length > 0);
  expect(await runs()).toEqual([{ reason: 'matched', trigger_at: new Date(midnight + 30_000) }]);
  const set = parseRules(rules, { file: 'rules.yaml', timeZone: 'UTC' });
  const { rules: explained } = (await explain(world.context.database.db, set, { line, number }, 'live')) ?? {};
  expect(explained?.find(({ rule }) => rule === 'business')).toMatchObject({ outcome: 'matched' });
  const report = await simulate(world.context.database.db, {
    ...{ set, from: new Date(midnight - 2 * dayMs), to: new Date() },
  });
  expect(report.rules.find(({ rule }) => rule === 'business')).toMatchObject({ matched: 1 });
});

test('the last text of theirs is a fact of an idle thread', async () => {
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  const texts = ['Can you come at five?', 'Fine, thanks', undefined];
  for (const [at, text] of texts.entries()) {
    const number = `1212555052${at}`;
    if (text) await sandbox.emit.sms({ line, number, text: 'What?', sentAt: hoursAgo(5) });
    if (text) await sandbox.emit.sms({ line, number, text, sentAt: hoursAgo(4) });
    await sandbox.emit.sms({ line, number, direction: 'out', text: 'Bye?', sentAt: hoursAgo(3) });
  }
  await world.settled();
  await world.age();
  const runs = () =>
    query(
      `select number, reason from ops.rule_runs where rule = 'unless-asked' and number like '1212555052%' order by number`,
    );
  await until(async () => (await runs()).length === 3);
  expect(await runs()).toEqual([
    { number: '12125550520', reason: 'condition_false' },
    { number: '12125550521', reason: 'matched' },
    { number: '12125550522', reason: 'matched' },
  ]);
});

test('the third text since the last answer is told from others; a reply of a rule is no answer', async () => {
  const number = '12125550530';
  const say = async (text: string, direction: 'in' | 'out' = 'in') => {
    await sandbox.emit.sms({ line, number, text, direction });
    await world.settled();
  };
  for (const text of ['one', 'two']) await say(text);
  await say('Hello', 'out');
  for (const text of ['three', 'four', 'five', 'six']) await say(text);
  await world.rulesSettled();
  const facts = () =>
    query(
      `select m.body, r.facts from ops.rule_runs r join warehouse.sms_messages m on m.message_id::text = split_part(r.trigger_key, '/', 2)
       where r.rule = 'unanswered' and r.number = $1`,
      number,
    );
  expect(await facts()).toEqual([{ body: 'five', facts: { 'thread.unanswered_count': 3 } }]);
});
