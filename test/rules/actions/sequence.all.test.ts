import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../world.ts';
import { createRulesWorld, type RulesWorld } from '../rules-world.ts';

/* The steps of all rules on a trigger are performed in the order of the file, by several workers too: see also turns.test.ts. */

const rules = `
rules:
  - name: close
    on: message_received
    if: message.plain.startsWith("open again")
    do: [{ resolve: true }]
  - name: open
    on: message_received
    if: message.plain.startsWith("open again")
    do: [{ reopen: true }]
`;

const line = '16465550100';

/** What the service carried out in a thread, in its order. */
const stepsOf = ({ sandbox }: RulesWorld, number: string) =>
  sandbox
    .requests()
    .filter(({ method, path, status }) => method === 'POST' && status < 300 && path.includes(`/${number}/`))
    .map(({ path }) => path.split('/').at(-1));

const world = await createRulesWorld(rules, 'live', 'postgres');
const { sandbox, query } = world;
await world.work();

const actsOn = async (number: string) =>
  (
    await query<{ act: string }>(
      `select concat_ws(' ', a.kind, a.state) as act from ops.rule_actions a join ops.rule_runs r using (run_id)
         where r.number = $1 order by a.run_id, a.ordinal`,
      number,
    )
  ).map(({ act }) => act);

test('two workers and late answers do not change the order', async () => {
  sandbox.faults(
    { kind: 'slow', ms: 300, rate: 0.5, when: 'before', operation: 'resolveConversation' },
    { kind: 'answer', status: 503, rate: 0.3, operation: 'resolveConversation' },
  );
  onTestFinished(() => sandbox.faults());
  const numbers = Array.from({ length: 20 }, (_, at) => String(12125551000 + at));
  await Promise.all(numbers.map((number) => sandbox.emit.sms({ line, number, text: 'open again' })));
  for (const number of numbers) {
    await until(async () => (await actsOn(number)).join() === 'resolve done,reopen done');
    expect(stepsOf(world, number)).toEqual(['resolve', 'reopen']);
  }
});
