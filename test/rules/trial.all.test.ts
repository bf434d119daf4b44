import { afterAll, expect, test } from 'vitest';
import { parseRules } from '../../src/rules/file/parse.ts';
import { simulate } from '../../src/rules/simulate/simulate.ts';
import { createRulesWorld } from './rules-world.ts';

/* A rule on trial in a live account: what live rules do is the same with it as without it. */

const trial = 'mode: dry-run';
const rules = `
rules:
  - name: trial-stops
    on: message_received
    if: message.plain == "hello"
    ${trial}
    do: [{ comment: A trial. }]
    stop: true
  - name: trial-after
    on: message_received
    if: message.plain == "hello"
    ${trial}
    do: [{ comment: Not reached. }]
  - name: live-after
    on: message_received
    if: message.plain == "hello"
    do: [{ reply: Hello. }]
    limits: { quiet_hours: none }
    stop: true
  - name: live-last
    on: message_received
    if: message.plain == "hello"
    do: [{ comment: Not reached either. }]
  - name: trial-replies
    on: message_received
    if: message.plain == "first"
    ${trial}
    do: [{ reply: A trial. }]
    limits: { quiet_hours: none }
  - name: live-once
    on: message_received
    if: message.plain == "second" && replies.count == 0
    do: [{ reply: 'After {{ replies.count }}.' }]
    limits: { quiet_hours: none }
  - name: trial-once
    on: message_received
    if: message.plain == "second" && replies.count == 1
    ${trial}
    do: [{ comment: 'After {{ replies.count }}.' }]
  - name: promoted
    on: message_received
    if: message.plain == "promoted"
    do: [{ reply: Once a day. }]
    ${trial}
    limits: { per_thread: 1 per 24h, quiet_hours: none }
`;

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query, value } = world;
const line = '16465550100';
afterAll(() => world.close());

const textsOf = (number: string) =>
  query<{ body: string }>(`select body from ops.sends where number = $1 and state = 'SENT'`, number);
const reasonsOf = async (number: string) =>
  Object.fromEntries(
    (
      await query<{ rule: string; reason: string }>(
        `select rule, reason from ops.rule_runs where number = $1 and reason <> 'condition_false' order by run_id`,
        number,
      )
    ).map(({ rule, reason }) => [rule, reason]),
  );

test('its stop keeps rules on trial from a trigger, and no live one', async () => {
  const number = '12125550501';
  await sandbox.emit.sms({ line, number, text: 'Hello' });
  await world.rulesSettled();
  expect(await reasonsOf(number)).toMatchObject({
    'trial-stops': 'matched',
    'trial-after': 'stopped:trial-stops',
    'live-after': 'matched',
    'live-last': 'stopped:live-after',
  });
  expect(await textsOf(number)).toEqual([{ body: 'Hello.' }]);
});

test('its reply is no reply to a live rule, and one to the rules on trial', async () => {
  const number = '12125550502';
  await sandbox.emit.sms({ line, number, text: 'First' });
  await world.rulesSettled();
  await sandbox.emit.sms({ line, number, text: 'Second' });
  await world.rulesSettled();
  expect(await reasonsOf(number)).toEqual({
    'trial-replies': 'matched',
    'live-once': 'matched',
    'trial-once': 'matched',
  });
  expect(await textsOf(number)).toEqual([{ body: 'After 0.' }]);
});

test('what it did not do uses up nothing of what it may do live', async () => {
  const number = '12125550503';
  for (const reason of ['matched', 'limit:thread']) {
    await sandbox.emit.sms({ line, number, text: 'promoted' });
    await world.rulesSettled();
    expect((await reasonsOf(number)).promoted).toBe(reason);
  }
  expect(await textsOf(number)).toEqual([]);
  await world.rules(rules.replace(`Once a day. }]\n    ${trial}`, 'Once a day. }]'));
  await sandbox.emit.sms({ line, number, text: 'promoted' });
  await world.rulesSettled();
  expect(await textsOf(number)).toEqual([{ body: 'Once a day.' }]);
  await sandbox.emit.sms({ line, number, text: 'promoted!' });
  await world.rulesSettled();
  expect((await reasonsOf(number)).promoted).toBe('limit:thread');
});

test('a simulation lets all rules meet as if they were live', async () => {
  const set = parseRules(rules, { file: 'rules.yaml', timeZone: 'UTC' });
  const from = new Date(
    Number(await value('select floor(extract(epoch from min(sent_at)) * 1000) from warehouse.sms_messages')),
  );
  const report = await simulate(world.context.database.db, { set, from, to: new Date() });
  const unmatched = Object.fromEntries(report.rules.map((each) => [each.rule, each.unmatched]));
  expect(unmatched['live-after']).toMatchObject({ 'stopped:trial-stops': 1 });
  expect(report.rules.find(({ rule }) => rule === 'live-once')?.matched).toBe(0);
  expect(report.rules.find(({ rule }) => rule === 'trial-once')?.matched).toBe(1);
});
