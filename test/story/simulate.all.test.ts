import { readFile } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import { parseRules } from '../../src/rules/file/parse.ts';
import { type SimulationOptions, simulate } from '../../src/rules/simulate/simulate.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { createStoryWorld } from './world.ts';

/* A simulation says of a history what live rules did in it, or would have done. */

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
    for: 48h
    if: thread.last_direction == "out" && !(has(thread.is_resolved) && thread.is_resolved)
    do: [{ resolve: true }]
`;

const world = await createStoryWorld();
const { sandbox, query, value } = world;
const { db } = world.context.database;
beforeEach(() => world.rules(text));

/** Texts carry whole seconds. */
const second = (ago = 0) => new Date(Math.floor(Date.now() / 1_000) * 1_000 - ago * 1_000);
const after = (from: Date, seconds: number) => new Date(from.getTime() + seconds * 1_000);

interface Simulated extends Partial<Pick<SimulationOptions, 'to'>> {
  readonly rules?: string;
  readonly timeZone?: string;
  readonly limits?: SimulationOptions['set']['accountLimits'] | undefined;
}
function simulated(
  from: Date,
  { rules = text, timeZone = 'UTC', to = new Date(Date.now() + 1_000), limits }: Simulated = {},
) {
  const set = parseRules(rules, { file: 'rules.yaml', timeZone });
  return simulate(db, { set: limits ? { ...set, accountLimits: limits } : set, from, to });
}

async function call(number: string, more: CallEvent = {}): Promise<void> {
  const legs: CallEvent['legs'] = [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }];
  await sandbox.emit.call({ direction: 'inbound', status: 'missed', number, group: 'Service', legs, ...more });
  await world.quiet();
}

/** Whoever writes within four seconds of our text looks like a machine to the ledger. */
async function live(): Promise<Date> {
  const from = second();
  await world.text('17185550201', 'Are you open?');
  await world.text('17185550202', 'STOP');
  await world.text('17185550203', 'hello there');
  await call('17185550204');
  await world.pass('5s');
  await world.text('17185550201', 'Hm, when then?');
  await world.text('17185550203', 'thank you');
  await call('17185550204');
  await world.away('49h');
  return from;
}

test('a simulation does what live rules then did on the same history, and writes nothing', async () => {
  const from = await live();
  const fates = await query<{ fate: string }>(
    `select concat_ws(' ', rule, fate, count(*)) as fate from (
       select rule, 'matched' as fate from ops.rule_runs where is_matched
       union all select rule, case state when 'SENT' then 'sent' else reason end from ops.sends) f group by rule, f.fate`,
  );
  const counts = () =>
    query(
      `select (select count(*) from ops.rule_runs) as runs, (select count(*) from ops.sends) as sends, (select count(*) from ops.rule_actions) as actions,
         (select count(*) from warehouse.sms_conversation_events) as events, (select sum(sends_count) from ops.send_budgets) as budgets`,
    );
  const before = await counts();
  const report = await simulated(from);
  const told = report.rules.flatMap(({ rule, matched, messages, blocked }) =>
    Object.entries({ matched, sent: messages, ...blocked }).map(([fate, count]) => `${rule} ${fate} ${count}`),
  );
  expect(told.filter((each) => !each.endsWith(' 0')).sort()).toEqual(fates.map(({ fate }) => fate).sort());
  expect(fates.length).toBeGreaterThan(6);
  expect(report.messages).toBe(sandbox.sends().length);
  expect(report.segments).toBe(report.messages);
  expect(report.micros).toBeGreaterThan(0);
  for (const rule of report.rules) {
    const days = Object.values(rule.days);
    expect(days.reduce((sum, { matched }) => sum + matched, 0)).toBe(rule.matched);
    expect(days.reduce((sum, { micros }) => sum + micros, 0)).toBe(rule.micros);
    expect(rule.examples.length).toBeLessThanOrEqual(3);
    for (const { thread } of rule.examples) expect(thread, 'names nobody').toMatch(/^…\d{4}\/…\d{4}$/);
  }
  const shipped = { rules: await readFile('config/rules.yaml', 'utf8'), timeZone: 'America/New_York' };
  expect((await simulated(from, shipped)).rules.some(({ tried }) => tried > 0)).toBe(true);
  expect(await counts()).toEqual(before);
});

test('what was really sent before the span has used up its part of the day', async () => {
  await world.text('17185550208', 'Are you open?');
  await world.pass('2s');
  const from = second();
  const spent = Number(await value('select sum(settled_micros) from ops.sends'));
  await world.text('17185550209', 'And now?');
  const blockedBy = async (limits: Simulated['limits']) =>
    (await simulated(from, { limits })).rules.find(({ rule }) => rule === 'closed')?.blocked;
  expect((await simulated(from)).messages).toBe(1);
  expect(await blockedBy({ perAccount: 1 })).toEqual({ 'gate:budget_account': 1 });
  expect(await blockedBy({ dailyMicros: spent + 49_999 })).toEqual({ 'gate:budget_money': 1 });
});

test('what rules did before the span counts against their limits', async () => {
  const act = async () => {
    await world.text('17185550212', 'Are you there?');
    await call('17185550213');
  };
  await act();
  await world.pass('2s');
  const from = second();
  await act();
  const { rules } = await simulated(from);
  for (const name of ['closed', 'missed'])
    expect(rules.find(({ rule }) => rule === name)).toMatchObject({ matched: 0, unmatched: { 'limit:thread': 1 } });
});

test('a text that came within the same second, but later, keeps no reply back', async () => {
  await world.pass('2s');
  const from = second();
  for (const said of ['Are you there?', 'thanks'])
    await world.text('17185550210', said, { sentAt: from.toISOString() });
  const [, closed] = (await simulated(from, { to: after(from, 1) })).rules;
  expect(closed).toMatchObject({ rule: 'closed', messages: 1, blocked: {} });
});

test('a call that went on when a text came was not known then', async () => {
  const number = '17185550211';
  const from = second(3_600);
  await world.text(number, 'At your door', { sentAt: from.toISOString() });
  await call(number, { startTime: after(from, -10).toISOString() });
  const rules = 'rules: [{ name: welcome, on: message_received, if: contact.is_new, do: [{ reply: Welcome. }] }]';
  const report = await simulated(from, { rules, to: after(from, 1) });
  expect(report.rules[0]).toMatchObject({ tried: 1, matched: 1 });
});

test('what rules would have said counts for limits and cost, and changes no later fact or silence', async () => {
  const rules = `
rules:
  - name: at-night
    on: message_received
    do: [{ reply: One moment. }]
    limits: { per_thread: 2 per 1h, quiet_hours: "00:00-23:59" }
  - name: beside
    on: message_received
    do: [{ reply: Never beside the first. }]
    limits: { quiet_hours: none }
  - name: after-ours
    on: message_received
    if: thread.last_direction == "in" && thread.outbound_count == 0
    do: [{ comment: No text of ours. }]
  - name: silence
    on: thread_idle
    for: 2m
    if: thread.last_direction == "in"
    do: [{ comment: Nobody answered. }]
`;
  await world.rules('rules: []');
  const from = second(1_800);
  for (const minute of [0, 1, 2])
    await world.text('17185550601', `Hello ${minute}`, { sentAt: after(from, minute * 60).toISOString() });
  const { rules: reports, micros } = await simulated(from, { rules, to: after(from, 600) });
  expect(reports.map(({ rule, matched, messages, held, blocked }) => [rule, matched, messages, held, blocked])).toEqual(
    [
      ['at-night', 2, 2, 2, {}],
      ['beside', 3, 1, 0, { answered_before: 2 }],
      ['after-ours', 3, 0, 0, {}],
      ['silence', 1, 0, 0, {}],
    ],
  );
  expect(micros).toBe(reports.reduce((total, each) => total + each.micros, 0));
  expect(micros).toBeGreaterThan(0);
});
