import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../at-end.ts';
import { type Program, program, root } from '../program.ts';
import { databaseForTest } from '../stores/databases.ts';
import { startRedis } from '../stores/redis.ts';
import { callId } from '../sync/call-service.ts';
import { migrated, migratedDatabase } from '../world/database.ts';
import { until } from '../world.ts';

const secrets = {
  WEBHOOK_SECRET: 'a-secret-of-the-stop-0123456789ab',
  ADMIN_TOKEN: 'a-token-of-the-stop-0123456789ab',
};

/** A stop takes five seconds at most; waiting for the answers took eighteen. What lies between is for a loaded machine. */
const stopMs = 16_000;

/** An API that takes connections and requests, and never answers but to be recognized: its account is empty. */
async function startHangingApi() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (/\/(?:lines|users)$/.test(request.url ?? '')) response.end('{"data":[]}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const run = (command: string, environment: Readonly<Record<string, string | undefined>>) =>
  program([command], { API_KEY: 'of-nobody', HOST: '', PORT: '0', ...environment });
const written = ({ out, err }: Program) => out() + err();

async function stop(command: Program, signal?: NodeJS.Signals): Promise<void> {
  const began = performance.now();
  expect(await command.stop(signal), written(command)).toBe(0);
  expect(performance.now() - began).toBeLessThan(stopMs);
}

/** A worker that reads many calls through an API that hangs. */
async function readingWorker(REDIS_URL?: string) {
  const api = await startHangingApi();
  const database = await migratedDatabase();
  const ids = Array.from({ length: 40 }, () => callId());
  await database.query(`insert into ops.sync_targets (kind, key) select 'call', unnest($1::text[])`, ids);
  const worker = run('worker', { DATABASE_URL: database.url, REDIS_URL, API_BASE_URL: api.url });
  await until(
    () => api.asked.filter((each) => each.includes('/calls/1')).length > 10,
    () => written(worker),
  );
  const calls = () =>
    database.query(
      `select distinct dirty_version > clean_version and due_at <= now() and claimed_until <= now() as is_free,
         attempts, misses, last_error from ops.sync_targets where kind = 'call'`,
    );
  return { worker, calls };
}

test.each([
  ['redis', 'SIGTERM'],
  ['postgres', 'SIGHUP'],
] as const)(
  'a worker on %s ends at a %s while the API hangs, and leaves its reads to others',
  async (backend, signal) => {
    const { worker, calls } = await readingWorker(backend === 'redis' ? `${inject('redisUrl')}/3999` : undefined);
    await stop(worker, signal);
    const free = [{ is_free: true, attempts: 0, misses: 0, last_error: null }];
    // A machine that is too slow for the deadlines leaves them to the end of their leases.
    if (written(worker).includes('Stopped before all work was finished')) await expect.poll(calls).toEqual(free);
    else expect(await calls()).toEqual(free);
  },
);

test.each([
  // `npx` passes on the Ctrl-C that its group got.
  ['at once is the same one', 30, 0, '"Stopped"'],
  ['later forces the exit', 1_000, 1, 'Stopped at once by a second Ctrl-C'],
])('another Ctrl-C %s', async (_, afterMs, code, words) => {
  const { worker } = await readingWorker();
  worker.process.kill('SIGINT');
  await sleep(afterMs);
  expect(await worker.stop('SIGINT'), written(worker)).toBe(code);
  expect(written(worker)).toContain(words);
});

test('a worker ends while the API and Redis hang', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const { worker } = await readingWorker(redis.url);
  await redis.kill('SIGSTOP');
  await stop(worker);
});

test('web ends while the API hangs', async () => {
  const api = await startHangingApi();
  const web = run('web', {
    DATABASE_URL: await databaseForTest(migrated),
    REDIS_URL: undefined,
    API_BASE_URL: api.url,
    PUBLIC_URL: 'http://127.0.0.1:9',
    ...secrets,
  });
  await until(() => api.asked.length > 0 && written(web).includes('The receiver is listening'));
  await stop(web);
});

/** A folder that a Postgres of another user may enter. */
async function dataFolder(): Promise<string> {
  const dataDir = await temporaryFolder();
  await chmod(dataDir, 0o755);
  return dataDir;
}

test('start ends while the API hangs, and its Postgres with it', async () => {
  const api = await startHangingApi();
  const start = run('start', { API_BASE_URL: api.url, DATA_DIR: await dataFolder() });
  await until(() => written(start).includes('Trunkline is running') && api.asked.length > 0);
  const databaseUrl = /postgres:\/\/\S+?(?=['\s])/.exec(written(start))?.[0];
  await stop(start);
  await expect(new Client({ connectionString: databaseUrl }).connect()).rejects.toThrow('ECONNREFUSED');
});

test('start whose terminal is closed ends as after Ctrl-C, and its Postgres with it', async () => {
  const DATA_DIR = await dataFolder();
  const command = ['script', '-qec', `${process.execPath} src/trunkline.cjs start`, '/dev/null'];
  const terminal = program([], { DATA_DIR, PORT: '0', LOG_LEVEL: 'info', ADMIN_TOKEN: undefined }, { command });
  await until(() => terminal.out().includes('Trunkline is running'), terminal.out);
  const { pid } = JSON.parse(await readFile(join(DATA_DIR, 'running.json'), 'utf8'));
  onTestFinished(() => void (existsSync(`/proc/${pid}`) && process.kill(pid, 'SIGKILL')));
  await terminal.stop('SIGKILL');
  await until(() => !existsSync(`/proc/${pid}`));
  const left = ['running.json', 'postgres/cluster/postmaster.pid'];
  expect(left.filter((file) => existsSync(join(DATA_DIR, file)))).toEqual([]);
});

/** A wrapper as npx is one: it ends at a signal, and its child hears nothing of it. */
async function wrapped(environment: Readonly<Record<string, string>>) {
  const script = '"$0" src/trunkline.cjs sandbox --port 0 --no-traffic --json; true';
  const wrapper = program([process.execPath], environment, { command: ['sh', '-c', script], detached: true });
  await until(() => wrapper.out().includes('\n'), wrapper.err);
  wrapper.process.kill('SIGTERM');
  await once(wrapper.process, 'exit');
  return { ...wrapper, url: JSON.parse(wrapper.out()).url as string };
}

test('what npx started stops when npx has ended, and what a shell put into the background goes on', async () => {
  const ofNpx = await wrapped({ npm_execpath: '/usr/bin/npx' });
  const ofShell = await wrapped({});
  await ofNpx.ended;
  expect(ofNpx.err()).toContain('"Stopped"');
  await sleep(2_000);
  expect((await fetch(ofShell.url)).status).toBeLessThan(500);
});

test('what npx started stops with npx while it waits for Postgres, too', async () => {
  const environment = { npm_execpath: '/usr/bin/npx', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const api = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody' };
  const command = ['sh', '-c', '"$0" src/trunkline.cjs worker; true'];
  const wrapper = program([process.execPath], { ...environment, ...api }, { command, detached: true });
  await until(() => wrapper.err().includes('Waiting for Postgres'), wrapper.err);
  wrapper.process.kill('SIGTERM');
  await wrapper.ended;
  expect(wrapper.err()).toContain('Stopped: no work was in progress');
});

// A container tells its first process alone, and what that one started is killed with it.
test.each([
  ['web', /"url":"http:\/\/0\.0\.0\.0:.*The receiver is listening/],
  ['worker', /The worker processes its queues/],
])('%s of the Procfile hears a SIGTERM that only the first process of its line is sent', async (name, isUp) => {
  const [, line = ''] = new RegExp(`^${name}: *(.*)$`, 'm').exec(await readFile(join(root, 'Procfile'), 'utf8')) ?? [];
  const environment = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody', REDIS_URL: inject('redisUrl') };
  const process = program(
    [line],
    { ...environment, ...secrets, DATABASE_URL: await databaseForTest(migrated), HOST: '', PORT: '0' },
    { command: ['sh', '-c'], detached: true },
  );
  await expect.poll(process.err).toMatch(isUp);
  expect(await process.stop()).toBe(0);
  expect(process.err()).toContain('"Stopped"');
});
