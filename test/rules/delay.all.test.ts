import { afterAll, describe, expect, test } from 'vitest';
import { eraseNumber } from '../../src/privacy/erase.ts';
import { explain } from '../../src/rules/explain.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { simulate } from '../../src/rules/simulate/simulate.ts';
import type { CallEvent } from '../../src/sandbox/traffic/events.ts';
import { until } from '../world.ts';
import { options, refusalOf } from './refusal.ts';
import { createRulesWorld } from './rules-world.ts';

/* Rules with `after`. The hour passes by a change of the event. */

const rules = `
rules:
  - name: missed-after-an-hour
    on: call_missed
    after: 1h
    if: '!contact.talked_since'
    do: [{ reply: Sorry that we missed your call. }]
    limits: { per_thread: 1 per 24h, quiet_hours: none }
  - name: nobody-answered
    on: message_received
    after: 1h
    if: thread.last_direction == "in" && !contact.talked_since && contact.is_new
    do: [{ comment: Nobody answered. }, { reopen: true }]
  - name: at-once
    on: message_received
    if: message.plain == "price"
    do: [{ reply: Ten dollars. }]
    limits: { quiet_hours: none }
  - name: leaving
    on: message_received
    after: 2h
    do: [{ comment: Two hours. }]
`;
const line = '16465550100';
const rang: CallEvent['legs'] = [{ calledType: 'user', status: 'noanswer', ringSeconds: 20 }];

describe('after a delay', async () => {
  const world = await createRulesWorld(rules, 'live', 'redis');
  const { sandbox, query, value, context } = world;
  // Two workers evaluate.
  await world.work({ sends: { everyMs: 50 } });
  afterAll(() => world.close());

  const waiting = (key: string) =>
    query<{ after_seconds: number; rules: string[]; isRight: boolean }>(
      `select after_seconds, rules, due_at = happened_at + after_seconds * interval '1 second' as "isRight"
       from ops.rule_events where key = $1 and after_seconds is not null order by after_seconds`,
      key,
    );
  /** Ends the wait of a trigger, so many seconds ago. */
  const pass = (key: string, after: number, secondsAgo = 0) =>
    query(
      `update ops.rule_events set happened_at = now() - (after_seconds + $3) * interval '1 second', due_at = now() - $3 * interval '1 second'
       where key = $1 and after_seconds = $2`,
      key,
      after,
      secondsAgo,
    );
  const isOver = (key: string, after: number) =>
    until(async () => (await waiting(key)).every(({ after_seconds }) => after_seconds !== after));
  const reasons = (key: string) =>
    query<{ rule: string; reason: string }>(
      'select rule, reason from ops.rule_runs where trigger_key = $1 order by run_id',
      key,
    );
  const sent = (number: string) =>
    query<{ rule: string; state: string; reason: string | null }>(
      'select rule, state, reason from ops.sends where number = $1',
      number,
    );
  const missedBy = async (number: string) => {
    const { id } = await sandbox.emit.call({
      direction: 'inbound',
      status: 'missed',
      group: 'Service',
      number,
      legs: rang,
    });
    await until(async () => (await waiting(id)).length === 1);
    return id;
  };
  const textOf = async (number: string, text: string) => {
    const { id } = await sandbox.emit.sms({ line, number, text });
    const find = () =>
      value(`select conversation_id || '/' || message_id from warehouse.sms_messages where message_id = $1`, id);
    await until(async () => (await find()) !== undefined);
    const key = String(await find());
    await until(async () => (await waiting(key)).length === 2);
    return key;
  };

  test('a missed call is evaluated an hour later, once, and answered if nobody has talked with the caller', async () => {
    const [left, talked] = ['12125557001', '12125557002'];
    const [id, other] = [await missedBy(left), await missedBy(talked)];
    expect(await waiting(id)).toEqual([{ after_seconds: 3_600, rules: ['missed-after-an-hour'], isRight: true }]);
    const explained = await explain(context.database.db, parseRules(rules, options), { callId: id }, 'live');
    expect(explained?.rules.find(({ on }) => on === 'call_missed')).toMatchObject({ outcome: 'not_due' });
    expect(await reasons(id)).toEqual([]);
    await sandbox.emit.call({ direction: 'outbound', status: 'answered', number: talked, durationSeconds: 30 });
    await world.settled();
    await Promise.all([id, other].map((key) => pass(key, 3_600, 60)));
    await Promise.all([id, other].map((key) => isOver(key, 3_600)));
    await until(async () => (await sent(left))[0]?.state === 'SENT');
    expect(await reasons(id)).toEqual([{ rule: 'missed-after-an-hour', reason: 'matched' }]);
    expect(await reasons(other)).toEqual([]);
    expect(await sent(talked)).toEqual([]);
    expect(sandbox.sends().filter(({ charge }) => charge?.to.includes(left))).toHaveLength(1);
  });

  test('a trigger is too old by the time of its delay, not of its event', async () => {
    const number = '12125557003';
    const id = await missedBy(number);
    await pass(id, 3_600, 660);
    await isOver(id, 3_600);
    expect(await reasons(id)).toEqual([{ rule: 'missed-after-an-hour', reason: 'too_old' }]);
  });

  test('a text meanwhile, and a person who wrote it, decide', async () => {
    const [left, answered] = ['12125557004', '12125557005'];
    const [one, two] = [await textOf(left, 'Hello?'), await textOf(answered, 'Hello?')];
    await sandbox.emit.sms({ line, number: answered, direction: 'out', text: 'Hi!' });
    await world.settled();
    await Promise.all([one, two].map((key) => pass(key, 3_600)));
    await Promise.all([one, two].map((key) => isOver(key, 3_600)));
    expect(await reasons(one)).toEqual([{ rule: 'nobody-answered', reason: 'matched' }]);
    expect(await reasons(two)).toEqual([]);
    await until(async () => (await world.actions('nobody-answered')).every(({ state }) => state === 'done'));
  });

  test('a reply does not wait for rules that are evaluated later on a newer text', async () => {
    const number = '12125557006';
    await query(`update ops.send_control set is_paused = true, paused_by = 'operator'`);
    await textOf(number, 'Price?');
    await textOf(number, 'Thanks');
    await query(`update ops.send_control set is_paused = false, paused_by = null`);
    await until(async () => (await sent(number))[0]?.state === 'SENT');
  });

  test('whoever is erased leaves no trigger that waits', async () => {
    const number = '12125557007';
    const keys = [await textOf(number, 'Hello?'), await missedBy(number)];
    await eraseNumber({ db: context.database.db, queues: context.queues, knownAfterMs: 0 }, number);
    expect((await Promise.all(keys.map(waiting))).flat()).toEqual([]);
  });

  test('the rules of then decide: one that is gone does nothing, and that is recorded', async () => {
    const key = await textOf('12125557008', 'Hello?');
    await world.rules(
      rules
        .slice(0, rules.indexOf('  - name: leaving'))
        .replace('after: 1h\n    if: thread', 'after: 3h\n    if: thread'),
    );
    for (const seconds of [3_600, 7_200]) {
      await pass(key, seconds);
      await isOver(key, seconds);
    }
    expect(await reasons(key)).toEqual([
      { rule: 'nobody-answered', reason: 'matched' },
      { rule: 'leaving', reason: 'rule_gone' },
    ]);
  });

  test('a simulation evaluates after the same time', async () => {
    const [span] = await query<{ from: Date; to: Date }>(
      `select min(ended_at) + interval '1 hour' as "from", now() + interval '90 minutes' as "to" from warehouse.calls`,
    );
    const set = parseRules(rules, options);
    const report = await simulate(context.database.db, { ...(span as { from: Date; to: Date }), set });
    const of = (name: string) => report.rules.find(({ rule }) => rule === name);
    expect(of('missed-after-an-hour')).toMatchObject({ tried: 3, unmatched: { condition_false: 1 } });
    expect(of('leaving')?.tried).toBe(0);
  });
});

test('an idle thread has no delay of its own', () => {
  const { problems } = refusalOf(
    'rules:\n  - { name: one, on: thread_idle, for: 1h, after: 5m, do: [{ reopen: true }] }\n  - { name: two, on: call_missed, after: 31d, do: [{ reopen: true }] }\n',
  );
  expect(problems.map(({ line: at, message }) => [at, message])).toEqual([
    [2, 'An idle thread is late already.'],
    [3, 'This is longer than a month.'],
  ]);
});
