import { afterAll, expect, test } from 'vitest';
import { drainOutcomes } from '../../src/reporting/outcomes.ts';
import { explain } from '../../src/rules/explain.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { until } from '../world.ts';
import { options } from './refusal.ts';
import { createRulesWorld } from './rules-world.ts';

/* What rules leave behind: rows of what they decided, and counts of the rest. */

const rules = `
rules:
  - name: close
    on: message_received
    if: message.plain == "close"
    do: [{ comment: Closed. }, { resolve: {} }]
  - name: greets
    on: message_received
    if: message.plain == "hello"
    do: [{ reply: Hello. }]
    limits: { per_thread: 1 per 24h, quiet_hours: none }
  - name: trial
    on: message_received
    mode: dry-run
    if: message.plain == "close"
    do: [{ comment: Tried. }]
  - name: silent
    on: thread_idle
    for: 48h
    if: thread.inbound_count > 100
    do: [{ comment: Silent. }]
`;
const world = await createRulesWorld(rules, 'live', 'postgres', {
  workers: { sends: { everyMs: 50 }, rulesPace: { eventsMs: 100, idleThreadsMs: 100 } },
});
const { sandbox, query, value } = world;
const { db } = world.context.database;
afterAll(() => world.close());

const number = '12125550191';
const say = async (text: string) => {
  const { id } = await sandbox.emit.sms({ line: '16465550100', number, text });
  await world.rulesSettled();
  return String(id);
};
const outcomes = async () => {
  await drainOutcomes(db);
  return query(
    `select rule, mode, evaluation_count as tried, matched_count as matched, condition_false_count as false, limited_count as limited,
       action_done_count as done, action_would_count as would, action_failed_count as failed,
       planned_count as planned, sent_count as sent
     from reporting.rule_outcomes where rule <> 'silent' order by rule`,
  );
};
const nothing = {
  tried: 0,
  matched: 0,
  false: 0,
  limited: 0,
  done: 0,
  would: 0,
  failed: 0,
  planned: 0,
  sent: 0,
};

test('matches and refusals keep a row, a false condition only a count', async () => {
  const texts = ['close', 'hello', 'Hello!', 'and now', 'and then'];
  let last = '';
  for (const text of texts) {
    last = await say(text);
    // Only a reply that was sent counts against the limit.
    const open = `select from ops.sends where state not in ('SENT', 'DENIED')`;
    await until(async () => (await query(open)).length === 0);
  }
  await until(async () => (await query(`select from ops.rule_actions where state = 'waiting'`)).length === 0);
  expect(
    (await world.runs()).filter(({ rule }) => rule !== 'silent').map(({ rule, reason }) => [rule, reason]),
  ).toEqual([
    ['close', 'matched'],
    ['trial', 'matched'],
    ['greets', 'matched'],
    ['greets', 'limit:thread'],
  ]);
  expect(await outcomes()).toEqual([
    { ...nothing, rule: 'close', mode: 'live', tried: 5, matched: 1, false: 4, done: 2 },
    { ...nothing, rule: 'greets', mode: 'live', tried: 5, matched: 1, false: 3, limited: 1, planned: 1, sent: 1 },
    { ...nothing, rule: 'trial', mode: 'dry-run', tried: 5, matched: 1, false: 4, would: 1 },
  ]);

  // The stored text says which clause was false.
  const explained = await explain(db, parseRules(rules, options), { messageId: last }, 'live');
  expect(explained?.rules.find(({ rule }) => rule === 'close')).toMatchObject({
    outcome: 'condition_false',
    falseClauses: [{ clause: 'message.plain == "close"', facts: { 'message.plain': 'and then' } }],
    past: undefined,
  });
});

test('a batch leaves one row of counts', async () => {
  await drainOutcomes(db);
  await say('nothing of it');
  expect(await value('select count(*)::int from ops.rule_tallies')).toBe(1);
});

test('a trigger that comes twice in one batch is acted on once, and both are counted where nothing matched', async () => {
  const before = (await outcomes()) as { rule: string; tried: number; matched: number }[];
  const runs = await world.runs();
  await query(
    `insert into ops.rule_events (kind, key, happened_at)
     select 'message_received', conversation_id || '/' || message_id, sent_at from warehouse.sms_messages, generate_series(1, 2)
     where direction = 'in' and body = 'close'`,
  );
  await world.rulesSettled();
  expect(await world.runs()).toEqual(runs);
  const after = (await outcomes()) as { rule: string; tried: number; matched: number }[];
  const grown = after.map(({ rule, tried, matched }, at) => [
    rule,
    tried - (before[at]?.tried ?? 0),
    matched - (before[at]?.matched ?? 0),
  ]);
  expect(grown).toEqual([
    ['close', 0, 0],
    ['greets', 2, 0],
    ['trial', 0, 0],
  ]);
});

test('an idle thread is evaluated once: it keeps its row, since the mirror would give it again', async () => {
  const sentAt = new Date(Date.now() - 48 * 3_600_000 - 60_000).toISOString();
  await sandbox.emit.sms({ number: '12125550192', text: 'Still there?', sentAt });
  await world.settled();
  await world.age();
  const silent = () => world.runs('silent');
  await until(async () => (await silent()).length === 1);
  expect(await silent()).toMatchObject([{ reason: 'condition_false', facts: { 'thread.inbound_count': 1 } }]);
  const counted = async () => {
    await drainOutcomes(db);
    return value(`select sum(evaluation_count)::int from reporting.rule_outcomes where rule = 'silent'`);
  };
  expect(await counted()).toBe(1);
});
