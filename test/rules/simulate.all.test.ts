import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import type { AccountLimits } from '../../src/ledger/limits.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { type SimulationOptions, simulate } from '../../src/rules/simulate/simulate.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { until } from '../world.ts';
import { createRulesWorld, type RulesWorld } from './rules-world.ts';

const text = `
business_hours: {}
rules:
  - name: thanks
    on: message_received
    if: message.plain.matches("^(thanks|thank you)$") && thread.outbound_count > 0
    do: [{ resolve: { comment: Thanks. } }]
    stop: true
  - name: closed
    on: message_received
    if: '!hours.is_open'
    do: [{ reply: 'We are closed. {{ contact.number }}' }]
    limits: { per_thread: 1 per 1h, quiet_hours: none }
  - name: second
    on: message_received
    if: replies.count > 0 && thread.last_direction == "in"
    do: [{ comment: 'Again, {{ replies.count }}.' }]
  - name: missed
    on: call_missed
    if: call.direction == "inbound" && line.can_text
    do: [{ reply: 'Sorry that we missed you.' }]
    limits: { per_thread: 1 per 1h, quiet_hours: none }
  - name: silent
    on: thread_idle
    for: 2s
    if: thread.last_direction == "out" && !(has(thread.is_resolved) && thread.is_resolved)
    do: [{ resolve: true }]
`;

const rang: CallEvent['legs'] = [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }];
const world = await createRulesWorld(text, 'live', 'postgres');
const { sandbox, query, value } = world;
afterAll(() => world.close());

const span = async (): Promise<Pick<SimulationOptions, 'from' | 'to'>> => {
  const [row] = await query<{ from: Date; to: Date }>(
    `select date_trunc('second', min(at)) as "from", clock_timestamp() as "to" from (
       select min(sent_at) as at from warehouse.sms_messages union all select min(ended_at) from warehouse.calls) a`,
  );
  return row as { from: Date; to: Date };
};

await until(async () => (await value('select min(line) from warehouse.sms_lines')) !== null);
const line = String(await value('select min(line) from warehouse.sms_lines'));
const say = (number: string, said: string, direction: 'in' | 'out' = 'in') =>
  sandbox.emit.sms({ line, number, text: said, direction });

/**
 * Resolves when a rule was tried on the silence after the newest text of each thread, so that a slow machine does not cut short what
 * the simulation sees whole.
 */
async function silencesTried({ value, rulesSettled }: RulesWorld, rule: string): Promise<void> {
  await rulesSettled();
  const untried = `select count(*)::int from warehouse.sms_conversations c cross join lateral (
      select message_id, direction, send_id from warehouse.sms_messages m where m.conversation_id = c.conversation_id
      order by sent_at desc, message_id desc limit 1) m
    where m.direction = 'out' and m.send_id is null or not exists (select from ops.rule_runs r
      where r.rule = '${rule}' and r.trigger_key = c.conversation_id || '/' || m.message_id)`;
  const unsettled = `select count(*)::int from ops.sends where state not in ('SENT', 'DENIED') or state = 'SENT' and linked_at is null`;
  await until(async () => (await value(untried)) === 0 && (await value(unsettled)) === 0);
  await rulesSettled();
}

const nap = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a simulation does what live rules then did on the same history', async () => {
  await say('17185550201', 'Are you open?');
  await say('17185550202', 'STOP');
  await say('17185550203', 'hello there');
  await sandbox.emit.call({ direction: 'inbound', status: 'missed', number: '17185550204', legs: rang });
  await silencesTried(world, 'silent');
  // Whoever writes within four seconds of our text looks like a machine to the ledger.
  await nap(4_500);
  await say('17185550201', 'Hm, when then?');
  await say('17185550203', 'thank you');
  await sandbox.emit.call({ direction: 'inbound', status: 'missed', number: '17185550204', legs: rang });
  await silencesTried(world, 'silent');

  const live = await query<{ rule: string; key: string; fate: string | null }>(
    `select r.rule, r.trigger_kind || ' ' || split_part(r.trigger_key, '/', 1) as key,
       case s.state when 'SENT' then 'sent' when 'DENIED' then s.reason end as fate
     from ops.rule_runs r left join ops.rule_actions a on a.run_id = r.run_id and a.kind = 'reply' left join ops.sends s using (send_id)
     where r.is_matched`,
  );
  expect(live.length).toBeGreaterThan(4);
  const set = parseRules(text, { file: 'rules.yaml', timeZone: 'UTC' });
  const report = await simulate(world.context.database.db, { set, ...(await span()) });
  const tallied = (rule: string) => {
    const own = live.filter((each) => each.rule === rule);
    const denied = own.flatMap(({ fate }) => (fate === null || fate === 'sent' ? [] : [fate]));
    return {
      rule,
      matched: own.length,
      messages: own.filter(({ fate }) => fate === 'sent').length,
      denied: denied.sort(),
    };
  };
  expect(
    report.rules.map(({ rule, matched, messages, blocked }) => ({
      rule,
      matched,
      messages,
      denied: Object.entries(blocked)
        .flatMap(([gate, count]) => Array(count).fill(gate))
        .sort(),
    })),
  ).toEqual(set.rules.map(({ name }) => tallied(name)));
  const sent = live.filter(({ fate }) => fate === 'sent').length;
  expect(sent).toBeGreaterThan(1);
  expect(sandbox.sends()).toHaveLength(sent);
  expect(report.segments).toBe(report.messages);
  expect(report.micros).toBeGreaterThan(0);
});

test('a simulation writes nothing', async () => {
  const counts = () =>
    query(
      `select (select count(*) from ops.rule_runs) as runs, (select count(*) from ops.sends) as sends, (select count(*) from ops.rule_actions) as actions,
         (select count(*) from warehouse.sms_conversation_events) as events, (select sum(sends_count) from ops.send_budgets) as budgets`,
    );
  const before = await counts();
  const set = parseRules(await readFile('config/rules.yaml', 'utf8'), {
    file: 'rules.yaml',
    timeZone: 'America/New_York',
  });
  const report = await simulate(world.context.database.db, { set, ...(await span()) });
  expect(report.rules.map(({ tried }) => tried).some((tried) => tried > 0)).toBe(true);
  expect(await counts()).toEqual(before);
});

test('what was really sent before the span has used up its part of the day', async () => {
  // Texts carry whole seconds.
  const from = new Date(Math.ceil(Date.now() / 1_000) * 1_000);
  await until(() => Date.now() >= from.getTime());
  const set = parseRules(text, { file: 'rules.yaml', timeZone: 'UTC' });
  // The texts of the tests before may lie on the other side of midnight.
  const [spent] = await query<{ texts: number; micros: number }>(
    `select count(*)::integer as texts, coalesce(sum(settled_micros), 0)::integer as micros from ops.sends
     where state = 'SENT' and budget_date = ($1::timestamptz at time zone 'UTC')::date`,
    from.toISOString(),
  );
  await say('17185550209', 'And now?');
  await until(
    async () => Number(await value(`select count(*) from warehouse.sms_messages where body = 'And now?'`)) === 1,
  );
  const to = new Date(Date.now() + 1_000);
  const within = (accountLimits: Partial<AccountLimits>) =>
    simulate(world.context.database.db, { set: { ...set, accountLimits }, from, to });
  const free = await within({});
  expect(free.messages).toBe(1);
  const full = await within({ perAccount: spent?.texts ?? 0 });
  expect(full.messages).toBe(0);
  expect(full.rules.find(({ rule }) => rule === 'closed')?.blocked).toEqual({ 'gate:budget_account': 1 });
  const poor = await within({ dailyMicros: (spent?.micros ?? 0) + 49_999 });
  expect(poor.rules.find(({ rule }) => rule === 'closed')?.blocked).toEqual({ 'gate:budget_money': 1 });
});

test('what rules did before the span counts against their limits', async () => {
  const act = async () => {
    await say('17185550212', 'Are you there?');
    const number = '17185550213';
    await sandbox.emit.call({ direction: 'inbound', status: 'missed', number, legs: rang, group: 'Service' });
    await world.rulesSettled();
  };
  await act();
  const from = new Date(Math.ceil(Date.now() / 1_000) * 1_000);
  await until(() => Date.now() >= from.getTime());
  await act();
  const set = parseRules(text, { file: 'rules.yaml', timeZone: 'UTC' });
  const report = await simulate(world.context.database.db, { set, from, to: new Date(Date.now() + 60_000) });
  for (const name of ['closed', 'missed']) {
    expect(report.rules.find(({ rule }) => rule === name)).toMatchObject({
      matched: 0,
      unmatched: { 'limit:thread': 1 },
    });
  }
});

test('a text that came within the same second, but later, keeps no reply back', async () => {
  const from = new Date(Math.ceil(Date.now() / 1_000) * 1_000);
  await until(() => Date.now() >= from.getTime());
  const sentAt = from.toISOString();
  for (const said of ['Are you there?', 'thanks']) {
    await sandbox.emit.sms({ line, number: '17185550210', text: said, sentAt });
  }
  await until(
    async () =>
      Number(
        await value(`select count(*) from warehouse.sms_messages where number = '17185550210' and direction = 'in'`),
      ) > 1,
  );
  const set = parseRules(text, { file: 'rules.yaml', timeZone: 'UTC' });
  const report = await simulate(world.context.database.db, { set, from, to: new Date(from.getTime() + 1_000) });
  const [, closed] = report.rules;
  expect(closed).toMatchObject({ rule: 'closed', messages: 1, blocked: {} });
});

test('a call that went on when a text came was not known then', async () => {
  const number = '17185550211';
  // An hour ago, where no text of another test lies: the text comes ten seconds into the call.
  const from = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000);
  const startTime = new Date(from.getTime() - 10_000).toISOString();
  await sandbox.emit.sms({ line, number, text: 'At your door', sentAt: from.toISOString() });
  await sandbox.emit.call({ direction: 'inbound', status: 'missed', number, startTime, legs: rang });
  await until(
    async () => Number(await value(`select count(*) from warehouse.calls where external_number = '${number}'`)) === 1,
  );
  await until(
    async () => Number(await value(`select count(*) from warehouse.sms_messages where number = '${number}'`)) >= 1,
  );
  const welcome = `
rules:
  - name: welcome
    on: message_received
    if: contact.is_new
    do: [{ reply: Welcome. }]
`;
  const set = parseRules(welcome, { file: 'rules.yaml', timeZone: 'UTC' });
  const report = await simulate(world.context.database.db, { set, from, to: new Date(from.getTime() + 1_000) });
  expect(report.rules[0]).toMatchObject({ tried: 1, matched: 1 });
});

test('what is counted is counted by day, with examples that name nobody', async () => {
  const set = parseRules(text, { file: 'rules.yaml', timeZone: 'UTC' });
  const report = await simulate(world.context.database.db, { set, ...(await span()) });
  for (const rule of report.rules) {
    const days = Object.values(rule.days);
    expect(days.reduce((sum, { matched }) => sum + matched, 0)).toBe(rule.matched);
    expect(days.reduce((sum, { micros }) => sum + micros, 0)).toBe(rule.micros);
    expect(rule.examples.length).toBeLessThanOrEqual(3);
    for (const { thread } of rule.examples) expect(thread).toMatch(/^…\d{4}\/…\d{4}$/);
  }
});

test('what rules would have said counts for limits and cost, and changes no later fact or silence', async () => {
  const rules = `
rules:
  - name: at-night
    on: message_received
    if: contact.number == "17185550601"
    do: [{ reply: One moment. }]
    limits: { per_thread: 2 per 1h, quiet_hours: "00:00-23:59" }
  - name: beside
    on: message_received
    if: contact.number == "17185550601"
    do: [{ reply: Never beside the first. }]
    limits: { quiet_hours: none }
  - name: after-ours
    on: message_received
    if: contact.number == "17185550601" && thread.last_direction == "in" && thread.outbound_count == 0
    do: [{ comment: No text of ours. }]
  - name: silence
    on: thread_idle
    for: 2m
    if: contact.number == "17185550601" && thread.last_direction == "in"
    do: [{ comment: Nobody answered. }]
`;
  const number = '17185550601';
  const from = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 1_800_000);
  for (const minute of [0, 1, 2]) {
    const sentAt = new Date(from.getTime() + minute * 60_000).toISOString();
    await sandbox.emit.sms({ line, number, text: `Hello ${minute}`, sentAt });
  }
  await until(
    async () => Number(await value(`select count(*) from warehouse.sms_messages where number = '${number}'`)) >= 3,
  );
  const set = parseRules(rules, { file: 'rules.yaml', timeZone: 'UTC' });
  const to = new Date(from.getTime() + 600_000);
  const { rules: reports, ...sum } = await simulate(world.context.database.db, { set, from, to });
  expect(reports.map(({ rule, matched, messages, held, blocked }) => [rule, matched, messages, held, blocked])).toEqual(
    [
      ['at-night', 2, 2, 2, {}],
      ['beside', 3, 1, 0, { answered_before: 2 }],
      ['after-ours', 3, 0, 0, {}],
      ['silence', 1, 0, 0, {}],
    ],
  );
  expect(sum.micros).toBe(reports.reduce((total, { micros }) => total + micros, 0));
  expect(sum.micros).toBeGreaterThan(0);
});
