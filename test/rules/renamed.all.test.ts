import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { until } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* A rule on silence gets another name, or another silence: what was said under the old name is not said again. */

const rule = (name: string, silence = '2s', text = 'Are you still there?') => `
rules:
  - name: ${name}
    on: thread_idle
    for: ${silence}
    do: [{ reply: '${text}' }, { comment: Followed up. }]
    limits: { quiet_hours: none }
`;

const world = await createRulesWorld(rule('follow-up'), 'live', 'postgres', {
  workers: { sends: { everyMs: 50 }, rulesPace: { eventsMs: 100, idleThreadsMs: 100 } },
});
const { sandbox, query, value } = world;
const line = '16465550100';
afterAll(() => world.close());

const textsTo = (number: string) => sandbox.sends().filter(({ charge }) => charge?.to.includes(number)).length;
const notesOn = (number: string) =>
  sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith(`/${number}/comments`)).length;

test('a renamed rule texts nobody again, neither for the same silence nor after the first follow-up', async () => {
  const number = '12125550501';
  await sandbox.emit.sms({ line, number, text: 'Hm' });
  await until(() => textsTo(number) === 1);
  // The service tells times in whole seconds: what was sent in the second of a rule counts as after it.
  await sleep(1_000);
  await world.rules(rule('nudge', '2s', 'Hello?'));
  // It is tried on a later silence of another thread, and by then on none of this one.
  const other = '12125550504';
  await sandbox.emit.sms({ line, number: other, text: 'Hm' });
  await until(() => textsTo(other) === 1);
  expect(textsTo(number)).toBe(1);
  expect(await query('select from ops.rule_runs where rule = $1 and number = $2', 'nudge', number)).toEqual([]);
  // A new text begins again.
  await sandbox.emit.sms({ line, number, text: 'Yes, I am' });
  await until(() => textsTo(number) === 2);
});

test('a rule that is new acts on no silence of before', async () => {
  const number = '12125550502';
  await world.rules(rule('nudge', '1h'));
  await sandbox.emit.sms({ line, number, text: 'Hm', sentAt: new Date(Date.now() - 60_000).toISOString() });
  await world.settled();
  await until(
    async () => (await value('select count(*)::int from warehouse.sms_messages where number = $1', number)) === 1,
  );
  await world.rules(rule('newcomer', '3s'));
  const [late, other] = ['12125550503', '12125550505'];
  // Mirrored only now, but written before.
  await sandbox.emit.sms({ line, number: late, text: 'Hm', sentAt: new Date(Date.now() - 60_000).toISOString() });
  await sandbox.emit.sms({ line, number: other, text: 'Hm' });
  await until(() => textsTo(other) === 1);
  expect(textsTo(late)).toBe(0);
  expect(textsTo(number)).toBe(0);
  expect(notesOn(number)).toBe(0);
});
