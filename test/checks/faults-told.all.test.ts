import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createOutages } from '../../src/alerts/outages.ts';
import { startAlerts } from '../../src/alerts/watch.ts';
import { findings, known } from '../../src/checks/checks.ts';
import { takeOverview, verdictOf } from '../../src/checks/overview.ts';
import { scopes } from '../../src/sandbox/account.ts';
import { startHttpReceiver } from '../notify/receivers.ts';
import { backends } from '../stores/backends.ts';
import { databaseForTest } from '../stores/databases.ts';
import { startRedis } from '../stores/redis.ts';
import { migrated } from '../world/database.ts';
import { createWorld, quick, until, type World } from '../world.ts';

const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(options: Parameters<typeof createWorld>[0]): Promise<World> {
  const world = await createWorld(options);
  closing.push(world.close);
  return world;
}

const checksOf = async ({ context }: World) => await findings(context);
const problemsOf = async (world: World) =>
  (await checksOf(world)).filter(({ level }) => level === 'problem').map(({ check }) => check);
const headlineOf = async ({ context }: World) => verdictOf(await takeOverview(context)).sentence;

/** A read that was due minutes ago. */
const overdue = `insert into ops.sync_targets (kind, key, dirty_version, due_at)
  values ('call', '1783386668.7', 1, now() - interval '5 minutes') on conflict do nothing`;

async function control({ sandbox }: World, method: string, path: string, body?: object): Promise<void> {
  const answer = await fetch(`${sandbox.url}/_sandbox${path}`, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
}

describe.each(backends)('a Postgres that takes no writes, on %s', (backend) => {
  test('is the only problem, though no process can report itself and reads are overdue', async () => {
    const databaseUrl = await databaseForTest(migrated);
    const world = await open({ backend, databaseUrl });
    const name = new URL(databaseUrl).pathname.slice(1);
    const cutOff = () =>
      world
        .query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        )
        .catch(() => []);
    onTestFinished(async () => {
      await world.query('set default_transaction_read_only = off').catch(() => []);
    });
    await until(async () => known((await takeOverview(world.context)).processes, []).length > 0);
    await world.query(`alter database ${name} set default_transaction_read_only = on`);
    // A connection that was being opened meanwhile still takes writes, and its process reports itself again.
    let overview = await takeOverview(world.context);
    await until(async () => {
      await cutOff();
      await until(async () => (await problemsOf(world)).includes('database_takes_no_writes'));
      await world.query(`begin; set transaction read write; delete from ops.processes; ${overdue}; commit`);
      overview = await takeOverview(world.context);
      return known(overview.processes, undefined)?.length === 0;
    });
    expect(known(overview.backlog, []).find(({ kind }) => kind === 'call')?.oldestDueSeconds).toBeGreaterThan(60);
    const found = overview.findings;
    expect(found.filter(({ level }) => level === 'problem').map(({ check }) => check)).toEqual([
      'database_takes_no_writes',
    ]);
    expect(found.map(({ sentence, remedy }) => `${sentence} ${remedy}`).join(' ')).not.toMatch(
      /no worker runs|Start (a|another) worker/i,
    );
    await world.query(
      `begin; set transaction read write; alter database ${name} reset default_transaction_read_only; commit`,
    );
    // Its connections are left alone: they began read-only, and would stay so.
    await until(async () => {
      overview = await takeOverview(world.context);
      const isTold = overview.findings.some(({ check }) => check === 'database_takes_no_writes');
      return known(overview.processes, []).length > 0 && !isTold;
    });
  });
});

test('a Redis that is down is the only problem, and nobody is told to start another worker', async () => {
  const redis = await startRedis();
  closing.push(redis.stop);
  // Nothing reads what is overdue.
  const world = await open({ backend: 'redis', redisUrl: redis.url, idle: /due/ });
  await redis.kill('SIGKILL');
  await world.query(overdue);
  await until(async () => (await problemsOf(world)).includes('queue_unreachable'));
  const overview = await takeOverview(world.context);
  expect(known(overview.backlog, []).find(({ kind }) => kind === 'call')?.oldestDueSeconds).toBeGreaterThan(60);
  const found = overview.findings;
  expect(found.filter(({ level }) => level === 'problem').map(({ check }) => check)).toEqual(['queue_unreachable']);
  expect(found.map(({ remedy }) => remedy).join(' ')).not.toMatch(/start (a|another) worker/i);
});

test('a revoked key is told in one sentence, gives way to a worse fault, and reading goes on by itself when it is valid', async () => {
  const redis = await startRedis();
  closing.push(redis.stop);
  const world = await open({ ...quick, backend: 'redis', redisUrl: redis.url });
  await world.settled();
  await control(world, 'DELETE', '/keys/default');
  await world.deliver('AccountEndedCalls', { callId: '1783386668.1', status: 'missed' });
  await world.deliver('AccountSMS', { from: '18455550123', to: '16465550100', text: 'Hello' });
  await world.query(
    `update ops.sync_targets set dirty_version = dirty_version + 1, due_at = now() where kind in ('users', 'lines')`,
  );
  await until(async () => Number(await world.value('select count(*)::int from ops.parked_kinds')) >= 3);
  const refused = (await checksOf(world)).filter(({ check }) => check === 'reads_refused');
  expect(refused).toHaveLength(1);
  expect(refused[0]?.remedy).toContain('API_KEY');
  const headline = await headlineOf(world);
  expect(headline).toBe(refused[0]?.sentence);

  await redis.kill('SIGKILL');
  await until(async () => (await headlineOf(world)) !== headline);
  expect((await problemsOf(world))[0]).toBe('queue_unreachable');
  await using back = await startRedis({ port: redis.port, dir: redis.dir });
  expect(back.port).toBe(redis.port);

  // However often it was refused, the next request comes within 15 s.
  expect(
    Number(await world.value('select max(extract(epoch from parked_until - now()))::float8 from ops.parked_kinds')),
  ).toBeLessThanOrEqual(15);
  await control(world, 'POST', '/keys', { name: 'default', key: world.sandbox.apiKey });
  await until(async () => (await world.value('select count(*)::int from ops.parked_kinds')) === 0);
  expect((await checksOf(world)).filter(({ check }) => check === 'reads_refused')).toEqual([]);
  await world.close();
});

test('a revoked sms:read is told by the status and an alert, though nothing was announced', async () => {
  const receiver = await startHttpReceiver();
  closing.push(() => receiver[Symbol.asyncDispose]());
  const world = await open({
    ...quick,
    backend: 'postgres',
    environment: {
      NOTIFY_TARGETS: `ops=${receiver.url}#whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`,
      NOTIFY_ALERTS: 'ops',
    },
  });
  await world.settled();
  const alerts = startAlerts(world.context, createOutages(world.context));
  closing.push(alerts.stop);
  // Only the list of lines needs the scope: it is read every minute.
  expect(
    Number(
      await world.value(
        `select extract(epoch from due_at - read_at)::float8 from ops.sync_targets where kind = 'lines'`,
      ),
    ),
  ).toBeLessThanOrEqual(61);
  await control(world, 'PATCH', '/keys/default', { scopes: scopes.filter((scope) => scope !== 'sms:read') });
  await world.query(`update ops.sync_targets set due_at = now() where kind = 'lines'`);
  await until(async () => (await checksOf(world)).some(({ check }) => check === 'reads_refused'));
  expect((await checksOf(world)).find(({ check }) => check === 'reads_refused')).toMatchObject({
    level: 'problem',
    sentence: expect.stringContaining('The API key lacks the scope sms:read.'),
  });
  await until(() => Promise.resolve(receiver.received.some(({ body }) => body.includes('reads_refused'))));
});
