import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { expect, inject, onTestFinished, test } from 'vitest';
import { trunkline } from '../credentials/commands.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);
const environment = {
  API_BASE_URL: 'http://127.0.0.1:1',
  API_KEY: 'of-nobody',
  WEBHOOK_SECRET: 'a-secret-of-the-arrivals-0123456',
  PORT: '0',
};
const soon = { timeout: 30_000 };
const waiting = 'it is waited for';

/** A place where no Postgres is, until one is let in. */
async function emptyPlace() {
  const door = createServer();
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const { port } = door.address() as { port: number };
  door.close();
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
  await expect.poll(command.err, soon).toContain(waiting);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(
    command
      .err()
      .split('\n')
      .filter((line) => line.includes(waiting)),
  ).toHaveLength(1);
  expect(command.process.exitCode).toBeNull();
  await place.letIn();
  await expect.poll(command.out, soon).toContain('\n');
  expect(command.err()).toContain('Postgres is there');
  command.process.kill('SIGTERM');
  expect(await command.ended).toBe(0);
});

test.each(processes)('%s that waits for Postgres ends with 0 when it is told to stop', async (name, given) => {
  const { url } = await emptyPlace();
  const command = trunkline({ ...environment, ...given, DATABASE_URL: url }, name);
  await expect.poll(command.err, soon).toContain(waiting);
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
  ['a missing database', spoilt((url) => Object.assign(url, { pathname: '/not_there' })), 'create the database'],
  ['missing migrations', inject('postgresUrl'), 'trunkline migrate'],
])('a worker with %s fails at once', async (_what, url, cure) => {
  const command = trunkline({ ...environment, DATABASE_URL: url }, 'worker');
  expect(await command.ended).toBe(1);
  expect(command.err()).toContain(cure);
  expect(command.err()).not.toContain(waiting);
});
