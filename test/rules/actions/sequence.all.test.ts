import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { trunkline } from '../../credentials/commands.ts';
import { until } from '../../world.ts';
import { createRulesWorld, type RulesWorld } from '../rules-world.ts';

/* The steps of all rules on a trigger, and of the triggers of a thread, are performed in the order of the file. */

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
  - name: shut-out
    on: message_received
    if: message.plain == "note and reply"
    do: [{ comment: A note. }]
  - name: answer
    on: message_received
    if: message.plain == "note and reply"
    do: [{ reply: Hello }]
    limits: { quiet_hours: none }
  - name: tidy
    on: message_received
    if: message.plain == "note and reply"
    do: [{ resolve: true }]
  - name: take
    on: message_received
    if: message.plain == "mine"
    do: [{ assign: 4156 }]
  - name: leave
    on: message_received
    if: message.plain == "nobody"
    do: [{ assign: nobody }]
`;

const line = '16465550100';

/** What the service carried out in a thread, in its order; also texts, of whatever thread. */
const stepsOf = ({ sandbox }: RulesWorld, number: string, ...also: string[]) =>
  sandbox
    .requests()
    .filter(
      ({ method, path, status }) =>
        method === 'POST' && status < 300 && [`/${number}/`, ...also].some((part) => path.includes(part)),
    )
    .map(({ path }) => path.split('/').at(-1));

describe('of one worker or two', async () => {
  const world = await createRulesWorld(rules, 'live', 'postgres');
  const { sandbox, query, value } = world;
  await world.work({ sends: { everyMs: 50 } });
  afterAll(() => world.close());

  const waitingOf = (number: string) =>
    value(
      `select count(*)::integer from ops.rule_actions join ops.rule_runs using (run_id) where number = $1 and state = 'waiting'`,
      number,
    );
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

  test('a step waits for the retries of an earlier one, also of an earlier trigger', async () => {
    const number = '12125551101';
    sandbox.faults({ kind: 'answer', status: 503, operation: 'assignConversation' });
    await sandbox.emit.sms({ line, number, text: 'mine' });
    await until(async () => (await actsOn(number)).length === 1);
    await sandbox.emit.sms({ line, number, text: 'nobody' });
    await until(async () => (await actsOn(number)).length === 2);
    const triesOf = () =>
      query<{ tries: number }>(
        `select tries from ops.rule_actions join ops.rule_runs using (run_id) where number = $1 order by run_id`,
        number,
      ).then((rows) => rows.map(({ tries }) => tries));
    await until(async () => ((await triesOf())[0] ?? 0) >= 2);
    expect((await triesOf())[1]).toBe(0);
    sandbox.faults();
    await until(async () => (await waitingOf(number)) === 0);
    expect(await actsOn(number)).toEqual(['assign done', 'assign done']);
    expect(
      await value(
        `select assigned_user_id is null from warehouse.sms_conversations where line = $1 and number = $2`,
        line,
        number,
      ),
    ).toBe(true);
  });

  test('a reply keeps its place among the steps of its trigger', async () => {
    const number = '12125551102';
    sandbox.faults({ kind: 'answer', status: 429, operation: 'commentOnConversation', times: 3 });
    onTestFinished(() => sandbox.faults());
    await sandbox.emit.sms({ line, number, text: 'note and reply' });
    await until(async () => (await actsOn(number)).length === 3 && (await waitingOf(number)) === 0);
    expect(await actsOn(number)).toEqual(['comment done', 'reply done', 'resolve done']);
    expect(stepsOf(world, number, '/sms/messages')).toEqual(['comments', 'messages', 'resolve']);
  });

  test('one that waits for more than ten minutes lets later ones go, and is skipped where one decided the same', async () => {
    const number = '12125551103';
    sandbox.faults({ kind: 'answer', status: 503, operation: 'resolveConversation' });
    onTestFinished(() => sandbox.faults());
    await sandbox.emit.sms({ line, number, text: 'open again' });
    await until(async () => (await actsOn(number)).length === 2);
    await query(
      `update ops.rule_runs set evaluated_at = evaluated_at - interval '11 minutes' where number = $1 and rule = 'close'`,
      number,
    );
    await until(async () => (await actsOn(number)).includes('reopen done'));
    sandbox.faults();
    await query(
      `update ops.rule_actions a set due_at = now() from ops.rule_runs r where r.run_id = a.run_id and number = $1 and state = 'waiting'`,
      number,
    );
    await until(async () => (await waitingOf(number)) === 0);
    expect(await actsOn(number)).toEqual(['resolve skipped', 'reopen done']);
    expect(stepsOf(world, number)).toEqual(['reopen']);
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
