import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { trunkline } from '../../credentials/commands.ts';
import { until } from '../../world.ts';
import { createRulesWorld, type RulesWorld } from '../rules-world.ts';

/* The steps of all rules on a trigger are performed in the order of the file, by several workers too: see also test/story/rules.test.ts. */

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

describe('of one worker or two', async () => {
  const world = await createRulesWorld(rules, 'live', 'postgres');
  const { sandbox, query } = world;
  await world.work({ sends: { everyMs: 50 } });
  afterAll(() => world.close());

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
});

test('a worker that is killed during a step leaves later steps behind it', async () => {
  const world = await createRulesWorld(rules, 'live', 'postgres');
  const { sandbox, context, query, value } = world;
  onTestFinished(() => world.close());
  // Only the process that is to be killed performs steps: those here find nothing due until it is dead.
  const number = '12125551104';
  sandbox.faults({ kind: 'reset', when: 'before', operation: 'resolveConversation' });
  await sandbox.emit.sms({ line, number, text: 'open again' });
  const ofThread = `from ops.rule_runs r where r.run_id = a.run_id and r.number = '${number}'`;
  await until(
    async () =>
      Number(
        await value(
          `select max(a.tries) from ops.rule_actions a join ops.rule_runs r using (run_id) where number = $1`,
          number,
        ),
      ) > 0,
  );
  await query(`update ops.rule_actions a set due_at = 'infinity' ${ofThread}`);
  sandbox.faults({ kind: 'slow', ms: 30_000, when: 'before', operation: 'resolveConversation' });
  const before = sandbox.requests().filter(({ path }) => path.endsWith(`/${number}/resolve`)).length;
  const child = trunkline(
    {
      DATABASE_URL: context.settings.databaseUrl,
      API_BASE_URL: sandbox.url,
      API_KEY: sandbox.apiKey,
      RULES_MODE: 'live',
      RULES_FILE: world.rulesFile,
    },
    'worker',
  );
  await query(`update ops.rule_actions a set due_at = now() ${ofThread}`);
  await until(() => sandbox.requests().filter(({ path }) => path.endsWith(`/${number}/resolve`)).length > before);
  child.process.kill('SIGKILL');
  await child.ended;
  sandbox.faults();
  await query(`update ops.rule_actions a set claimed_until = now() ${ofThread}`);
  await until(
    async () =>
      Number(
        await value(
          `select count(*) from ops.rule_actions a join ops.rule_runs using (run_id) where number = $1 and state = 'waiting'`,
          number,
        ),
      ) === 0,
  );
  expect(stepsOf(world, number).at(-1)).toBe('reopen');
});
