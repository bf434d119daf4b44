import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { Client } from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { migrateAll } from '../../src/migrations.ts';
import { createLog } from '../../src/shared/log.ts';
import { trunkline } from '../credentials/commands.ts';
import { createDatabase, databaseForTest, dropDatabase } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);

/** A database of one test. */
async function databaseOfTest(isMigrated = true): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  onTestFinished(() => dropDatabase(name));
  return createDatabase(name, isMigrated ? { template: 'template_migrated' } : {});
}

const environment = {
  API_BASE_URL: 'http://127.0.0.1:1',
  API_KEY: 'of-nobody',
  WEBHOOK_SECRET: 'a-secret-of-the-arrivals-0123456',
  PORT: '0',
};
const waiting = 'Waiting for Postgres';

/** A place where no Postgres is, until one is let in. */
async function emptyPlace() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  const away = new URL(databaseUrl);
  away.port = String(port);
  return { url: away.href, letIn: () => relay(port, Number(new URL(databaseUrl).port)) };
}

/** Carries what comes to a port to another. */
async function relay(port: number, to: number): Promise<Server> {
  const server = createServer((here) => {
    const there = connect(to, '127.0.0.1');
    here.pipe(there).pipe(here);
    for (const [end, other] of [
      [here, there],
      [there, here],
    ] as const) {
      end.on('error', () => other.destroy());
    }
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

const processes = [
  ['web', { REDIS_URL: '' }],
  ['worker', { REDIS_URL: '' }],
  ['worker', { REDIS_URL: inject('redisUrl') }],
] as const;

test.each(processes)('%s waits for a Postgres that is away, and starts when it is there', async (name, given) => {
  const place = await emptyPlace();
  const command = trunkline({ ...environment, ...given, DATABASE_URL: place.url }, name, '--json');
  await expect.poll(command.err).toContain(waiting);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(
    command
      .err()
      .split('\n')
      .filter((line) => line.includes(waiting)),
  ).toHaveLength(1);
  expect(command.process.exitCode).toBeNull();
  await place.letIn();
  await expect.poll(command.out).toContain('\n');
  expect(command.err()).toContain('Postgres accepts connections now');
  command.process.kill('SIGTERM');
  expect(await command.ended).toBe(0);
});

test.each(processes)('%s that waits for Postgres ends with 0 when it is told to stop', async (name, given) => {
  const { url } = await emptyPlace();
  const command = trunkline({ ...environment, ...given, DATABASE_URL: url }, name);
  await expect.poll(command.err).toContain(waiting);
  command.process.kill('SIGTERM');
  expect(await command.ended).toBe(0);
});

const spoilt = (change: (url: URL) => void): string => {
  const url = new URL(databaseUrl);
  change(url);
  return url.href;
};

test.each([
  ['a wrong password', spoilt((url) => Object.assign(url, { password: 'wrong' })), 'the password of DATABASE_URL'],
  ['a missing database', spoilt((url) => Object.assign(url, { pathname: '/not_there' })), 'Create the database'],
])('a worker with %s fails at once', async (_what, url, cure) => {
  const command = trunkline({ ...environment, DATABASE_URL: url }, 'worker');
  expect(await command.ended).toBe(1);
  expect(command.err()).toContain(cure);
  expect(command.err()).not.toContain(waiting);
});

test('a web with a wrong password and queues in Redis ends with one sentence', async () => {
  const url = spoilt((url) => Object.assign(url, { password: 'wrong' }));
  const command = trunkline({ ...environment, REDIS_URL: inject('redisUrl'), DATABASE_URL: url }, 'web');
  expect(await command.ended).toBe(1);
  expect(command.err().trim().split('\n')).toEqual([expect.stringContaining('the password of DATABASE_URL')]);
});

describe('a database that lacks migrations', () => {
  const lacks = 'The database lacks migrations of this release: run `npx trunkline migrate`.';
  const count = (text: string, words: string) => text.split(words).length - 1;

  /** A migrated database from whose list one migration is taken, and the way to put it back. */
  async function lacking() {
    const url = await databaseOfTest();
    const client = new Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    const { rows } = await client.query(
      `delete from ops.migrations where name = (select max(name) from ops.migrations) returning name, text_hash`,
    );
    const [{ name, text_hash }] = rows;
    const catchUp = () =>
      client.query('insert into ops.migrations (name, text_hash) values ($1, $2)', [name, text_hash]);
    return { url, client, catchUp };
  }

  test.each([['Postgres', ''] as const, ['Redis', inject('redisUrl')] as const])(
    'keeps a worker with queues in %s from work, which says so and goes on by itself',
    async (_where, redisUrl) => {
      const { url, client, catchUp } = await lacking();
      const command = trunkline({ ...environment, REDIS_URL: redisUrl, DATABASE_URL: url }, 'worker', '--json');
      await expect.poll(command.err).toContain(lacks);
      // Several of its looks later it has said so once, has not reported itself, and has asked for nothing to be read.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(count(command.err(), lacks)).toBe(1);
      const { rows } = await client.query(
        `select (select count(*) from ops.processes)::int as processes, (select count(*) from ops.sync_targets)::int as targets`,
      );
      expect(rows).toEqual([{ processes: 0, targets: 0 }]);
      await catchUp();
      await expect.poll(command.out).toContain('"connections"');
      command.process.kill('SIGTERM');
      expect(await command.ended).toBe(0);
    },
  );

  test('or all of them: the worker starts once they are applied', async () => {
    const url = await databaseOfTest(false);
    const command = trunkline({ ...environment, DATABASE_URL: url }, 'worker', '--json');
    await expect.poll(command.err).toContain(lacks);
    await migrateAll(url, createLog('silent'));
    await expect.poll(command.out).toContain('"connections"');
  });

  test('ends a worker that waits with 0 when it is told to stop', async () => {
    const { url } = await lacking();
    const command = trunkline({ ...environment, DATABASE_URL: url }, 'worker');
    await expect.poll(command.err).toContain(lacks);
    command.process.kill('SIGTERM');
    expect(await command.ended).toBe(0);
  });

  test('is told by a web that is not ready, stores what it can, and is ready once they are there', async () => {
    const { url, catchUp } = await lacking();
    const given = {
      ...environment,
      REDIS_URL: inject('redisUrl'),
      DATABASE_URL: url,
      ADMIN_TOKEN: 'a-token-of-arrivals-0123',
    };
    const command = trunkline(given, 'web', '--json');
    await expect.poll(command.out).toContain('\n');
    await expect.poll(command.err).toContain(lacks);
    const { url: at } = JSON.parse(command.out()) as { url: string };
    const ready = async () => (await fetch(`${at}/readyz`)).status;
    expect(await ready()).toBe(503);
    const delivered = await fetch(`${at}/hooks/${environment.WEBHOOK_SECRET}/AccountSMS`, {
      method: 'POST',
      body: '{}',
    });
    // Its tables are those of this release: what can be stored is stored.
    expect(delivered.status).toBe(202);
    await catchUp();
    await expect.poll(ready).toBe(200);
    await expect.poll(command.err).toContain('has all migrations of this release now');
    expect(count(command.err(), lacks)).toBe(1);
  });

  test('is not one that a newer release has migrated', async () => {
    const url = await databaseOfTest();
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`insert into ops.migrations (name, text_hash) values ('9999_of_tomorrow', '')`);
    await client.end();
    const command = trunkline({ ...environment, DATABASE_URL: url }, 'worker', '--json');
    await expect.poll(command.out).toContain('"connections"');
    expect(command.err()).not.toContain(lacks);
  });
});
