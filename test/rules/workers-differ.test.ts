import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { runInProcess } from '../cli/in-process.ts';
import { trunkline } from '../credentials/commands.ts';
import { backends } from '../stores/backends.ts';
import { createWorld, until, type World } from '../world.ts';
import { createRulesWorld } from './rules-world.ts';

/* Workers with different rules files, or another RULES_MODE, as during every deploy that changes one. */

const rule = (name: string, word: string, steps = '[{ resolve: true }]') => `
  - name: ${name}
    on: message_received
    if: message.plain.startsWith("${word}")
    do: ${steps}
    limits: { quiet_hours: none }`;
const idle = (name: string) => `
  - name: ${name}
    on: thread_idle
    for: 2s
    if: thread.last_direction == "in"
    do: [{ reopen: true }]`;
const reply = '[{ reply: Hello }]';
const line = '16465550100';

describe.each(backends)('with queues in %s', async (backend) => {
  const common = rule('common', 'common');
  const world = await createRulesWorld(
    `rules:${common}${rule('one', 'first')}${rule('hello', 'hello', reply)}`,
    'live',
    backend,
  );
  const { sandbox, query, value } = world;
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-differ-'));
  afterAll(async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A second worker of the deployment, with a file or a mode of its own. */
  async function beside(text: string, mode = 'live'): Promise<World> {
    const file = join(folder, `${Math.random()}.yaml`);
    await writeFile(file, text);
    const { databaseUrl, redisUrl } = world.context.settings;
    const other = await createWorld({
      backend,
      databaseUrl,
      ...(redisUrl !== undefined && { redisUrl }),
      api: { url: sandbox.url, key: sandbox.apiKey },
      workers: { sends: { everyMs: 50 } },
      environment: { RULES_MODE: mode, RULES_FILE: file },
    });
    onTestFinished(() => other.close());
    return other;
  }

  const outcomesOf = async (number: string) =>
    (
      await query<{ act: string }>(
        `select concat_ws(' ', r.rule, a.kind, a.state, a.reason) as act from ops.rule_actions a join ops.rule_runs r using (run_id)
         where r.number = $1 order by a.run_id, a.ordinal`,
        number,
      )
    ).map(({ act }) => act);
  const settles = (number: string, acts: readonly string[]) =>
    until(
      async () => JSON.stringify(await outcomesOf(number)) === JSON.stringify(acts),
      async () => `${number}: ${JSON.stringify(await outcomesOf(number))}`,
    );
  let numbers = 12125552000;
  const write = async (text: string) => {
    numbers += 1;
    await sandbox.emit.sms({ line, number: String(numbers), text });
    return String(numbers);
  };

  test('each rule acts that any of them has, once', async () => {
    await beside(`rules:${common}${rule('two', 'second')}${rule('hello', 'hello', reply)}`);
    const written: [string, string[]][] = [];
    for (let round = 0; round < 5; round += 1) {
      written.push([await write('first'), ['one resolve done']]);
      written.push([await write('second'), ['two resolve done']]);
      written.push([await write('common'), ['common resolve done']]);
      written.push([await write('hello'), ['hello reply done SENT']]);
    }
    for (const [number, acts] of written) await settles(number, acts);
    expect(Number(await value(`select count(*) from ops.rule_actions where state not in ('done')`))).toBe(0);
    const { out } = await runInProcess(
      { DATABASE_URL: world.context.settings.databaseUrl, RULES_FILE: world.rulesFile },
      'rules',
      'list',
    );
    expect(out).toContain('The running workers have different rules: version ');
    const { out: status } = await runInProcess({ DATABASE_URL: world.context.settings.databaseUrl }, 'status');
    expect(status).toContain('The running workers have different rules (1 with version');
  });

  test('a rule with two names acts under one of them', async () => {
    await beside(`rules:${common}${rule('uno', 'first')}${rule('hola', 'hello', reply)}`);
    const written = [];
    for (let round = 0; round < 5; round += 1) written.push(await write('first'), await write('hello'));
    for (const number of written)
      await until(async () => (await outcomesOf(number)).some((act) => act.includes('done')));
    for (const number of written) expect(await outcomesOf(number)).toHaveLength(1);
  });

  test('texts that were planned by a worker that stops are sent by one without its rule', async () => {
    const other = await beside(
      `rules:${common}${rule('hello', 'hello', reply)}${rule('third', 'third', reply)}${rule('one', 'first')}`,
    );
    await query(`update ops.send_control set is_paused = true, paused_by = 'operator', pause_reason = 'test'`);
    const number = await write('third');
    await until(async () => (await outcomesOf(number)).length === 1);
    await other.close();
    await query(`update ops.send_control set is_paused = false, paused_by = null, pause_reason = null`);
    await settles(number, ['third reply done SENT']);
  });

  test('a worker in dry-run mode leaves texts and steps to a live one', async () => {
    await beside(`rules:${common}${rule('one', 'first')}${rule('hello', 'hello', reply)}`, 'dry-run');
    await beside(`rules: []`, 'off');
    const written: [string, string[]][] = [];
    for (let round = 0; round < 5; round += 1) {
      written.push([await write('first'), ['one resolve done']], [await write('hello'), ['hello reply done SENT']]);
    }
    for (const [number, acts] of written) await settles(number, acts);
  });

  test('a worker with a broken file leaves them to others', async () => {
    await beside('rules: [{ name: broken }]');
    await settles(await write('first'), ['one resolve done']);
    await settles(await write('hello'), ['hello reply done SENT']);
  });
});

describe.each(backends)('a rolled deploy with queues in %s', async (backend) => {
  const old = `rules:${rule('hello', 'hello', reply)}${rule('close', 'close')}`;
  const renamed = `rules:${rule('greeting', 'hello', reply)}${rule('shut', 'close')}${rule('added', 'more')}`;
  const world = await createRulesWorld(old, 'live', backend, { workers: null });
  const { sandbox, query, value, context } = world;
  afterAll(() => world.close());

  test('loses no text and answers none twice, while the old worker is killed', async () => {
    await writeFile(`${world.rulesFile}.new`, renamed);
    const { databaseUrl, redisUrl } = context.settings;
    const start = (RULES_FILE: string) =>
      trunkline(
        {
          ...{ DATABASE_URL: databaseUrl, ...(redisUrl !== undefined && { REDIS_URL: redisUrl }) },
          ...{ API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey, RULES_MODE: 'live', RULES_FILE },
        },
        'worker',
      );
    let written = 0;
    const phase = async (count: number) => {
      for (let at = 0; at < count; at += 1) {
        written += 1;
        await sandbox.emit.sms({ line, number: String(12125556000 + written), text: written % 2 ? 'hello' : 'close' });
      }
    };
    const running = (count: number) =>
      until(
        async () => (await value('select count(*)::integer from ops.rules_loaded where version is not null')) === count,
      );
    const before = start(world.rulesFile);
    await running(1);
    await phase(10);
    const after = start(`${world.rulesFile}.new`);
    for (let round = 0; (await value('select count(*)::integer from ops.rules_loaded')) !== 2; round += 1) {
      if (round < 10) await phase(1);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await phase(6);
    before.process.kill('SIGKILL');
    await before.ended;
    await phase(10);
    // Leases and claims of the dead worker end in a minute or two.
    const hasten = async () => {
      await query(
        `update ops.sends set due_at = now() where state in ('RESERVED', 'DISPATCHED', 'UNKNOWN') and due_at < now() + interval '59 seconds'`,
      );
      await query(
        `update ops.rule_actions set claimed_until = now() where state = 'waiting' and claimed_until < now() + interval '75 seconds'`,
      );
      await query(
        `update ops.sync_targets set claimed_until = '-infinity' where claimed_until < now() + interval '50 seconds'`,
      ).catch(() => []);
    };
    const done = async () =>
      Number(
        await value(
          `select count(distinct r.number) from ops.rule_runs r join ops.rule_actions a using (run_id) where a.state = 'done'`,
        ),
      );
    await until(
      async () => {
        await hasten();
        return (await done()) === written;
      },
      async () =>
        JSON.stringify(
          await query(
            `select r.number, r.rule, a.kind, a.state, a.reason, s.state as send, s.reason as why from ops.rule_runs r join ops.rule_actions a using (run_id)
             left join ops.sends s using (send_id) where a.state <> 'done'`,
          ),
        ),
      90_000,
    );
    for (let each = 1; each <= written; each += 2) {
      const number = String(12125556000 + each);
      expect(sandbox.sends().filter(({ charge }) => charge?.to.includes(number))).toHaveLength(1);
    }
    expect(
      await query(`select number from ops.rule_runs where is_matched group by number having count(*) > 1`),
    ).toEqual([]);
    after.process.kill('SIGTERM');
    await after.ended;
  }, 150_000);
});

test('idle rules of a running worker act after another worker started and stopped', async () => {
  const world = await createRulesWorld(`rules:${idle('waiting')}`, 'live', 'postgres');
  onTestFinished(() => world.close());
  const { sandbox, value, context } = world;
  const since = () =>
    value(`select min(since ->> 'waiting thread_idle 2') from ops.rules_loaded where version is not null`);
  await until(async () => (await since()) !== null);
  const before = await since();
  const file = `${world.rulesFile}.old`;
  await writeFile(file, 'rules: []\n');
  const old = trunkline(
    {
      DATABASE_URL: context.settings.databaseUrl,
      API_BASE_URL: sandbox.url,
      API_KEY: sandbox.apiKey,
      RULES_MODE: 'live',
      RULES_FILE: file,
    },
    'worker',
  );
  const rows = () => value('select count(*)::integer from ops.rules_loaded');
  await until(async () => (await rows()) === 2);
  const during = '12125552901';
  await sandbox.emit.sms({ line, number: during, text: 'idle' });
  await until(async () => (await world.runs('waiting')).filter((run) => run.is_matched).length === 1);
  old.process.kill('SIGKILL');
  await old.ended;
  await sandbox.emit.sms({ line, number: '12125552902', text: 'idle' });
  await until(async () => (await world.runs('waiting')).filter((run) => run.is_matched).length === 2);
  expect(await since()).toBe(before);
  await world.query(
    `update ops.rules_loaded set seen_at = seen_at - interval '2 minutes' where version <> (select version from ops.rules_loaded where since ? 'waiting thread_idle 2')`,
  );
  await until(async () => (await rows()) === 1);
});
