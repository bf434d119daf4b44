import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { inherited } from '../inherited.ts';
import { databaseForTest } from '../stores/databases.ts';
import { startRedis } from '../stores/redis.ts';
import { callId } from '../sync/call-service.ts';
import { migrated } from '../world/database.ts';
import { until } from '../world.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

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

interface Running {
  readonly child: ChildProcess;
  readonly written: () => string;
}

function run(command: string, environment: Readonly<Record<string, string | undefined>>): Running {
  const child = spawn(process.execPath, ['src/trunkline.cjs', command], {
    cwd: root,
    env: { ...inherited, API_KEY: 'of-nobody', HOST: '', PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      written += chunk;
    });
  }
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, written: () => written };
}

async function stop({ child, written }: Running, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const began = performance.now();
  const closed = once(child, 'close');
  child.kill(signal);
  expect(await closed, written()).toEqual([0, null]);
  expect(performance.now() - began).toBeLessThan(stopMs);
}

/** A database with calls that are due. */
async function databaseWithCalls(count: number) {
  const url = await databaseForTest(migrated);
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  const ids = Array.from({ length: count }, () => callId());
  await client.query(`insert into ops.sync_targets (kind, key) select 'call', unnest($1::text[])`, [ids]);
  const calls = async () =>
    (
      await client.query(
        `select distinct dirty_version > clean_version and due_at <= now() and claimed_until <= now() as is_free,
           attempts, misses, last_error from ops.sync_targets where kind = 'call'`,
      )
    ).rows;
  return { url, calls };
}

const readsOf = (asked: readonly string[]) => asked.filter((each) => each.includes('/calls/1')).length;

test.each([
  ['redis', 'SIGTERM'],
  ['postgres', 'SIGHUP'],
] as const)(
  'a worker on %s ends at a %s while the API hangs, and leaves its reads to others',
  async (backend, signal) => {
    const api = await startHangingApi();
    const { url, calls } = await databaseWithCalls(40);
    // Worlds have those up to 1,200.
    const redisUrl = backend === 'redis' ? `${inject('redisUrl')}/3000` : undefined;
    const worker = run('worker', { DATABASE_URL: url, REDIS_URL: redisUrl, API_BASE_URL: api.url });
    await until(() => readsOf(api.asked) > 10, worker.written);
    await stop(worker, signal);
    const free = [{ is_free: true, attempts: 0, misses: 0, last_error: null }];
    // A machine that is too slow for the deadlines leaves them to the end of their leases.
    if (worker.written().includes('Stopped before all work was finished')) await expect.poll(calls).toEqual(free);
    else expect(await calls()).toEqual(free);
  },
);

test.each([
  // `npx` passes on the Ctrl-C that its group got.
  ['at once is the same one', 30, [0, null], '"Stopped"'],
  ['later forces the exit', 1_000, [1, null], 'Stopped at once by a second Ctrl-C'],
])('another Ctrl-C %s', async (_, afterMs, ending, words) => {
  const api = await startHangingApi();
  const { url } = await databaseWithCalls(40);
  const worker = run('worker', { DATABASE_URL: url, REDIS_URL: undefined, API_BASE_URL: api.url });
  await until(() => readsOf(api.asked) > 10, worker.written);
  const closed = once(worker.child, 'close');
  worker.child.kill('SIGINT');
  await sleep(afterMs);
  worker.child.kill('SIGINT');
  expect(await closed, worker.written()).toEqual(ending);
  expect(worker.written()).toContain(words);
});

test('a worker ends while the API and Redis hang', async () => {
  const api = await startHangingApi();
  const { url } = await databaseWithCalls(40);
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const worker = run('worker', { DATABASE_URL: url, REDIS_URL: redis.url, API_BASE_URL: api.url });
  await until(() => readsOf(api.asked) > 10, worker.written);
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
    WEBHOOK_SECRET: 'a-secret-of-the-stop-0123456789ab',
    ADMIN_TOKEN: 'a-token-of-the-stop-0123456789ab',
  });
  await until(() => api.asked.length > 0 && web.written().includes('The receiver is listening'), web.written);
  await stop(web);
});

test('start ends while the API hangs, and its Postgres with it', async () => {
  const api = await startHangingApi();
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-stop-'));
  // As root, the embedded Postgres runs as another user.
  await chmod(dataDir, 0o755);
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const started = run('start', {
    DATABASE_URL: undefined,
    REDIS_URL: undefined,
    API_BASE_URL: api.url,
    DATA_DIR: dataDir,
  });
  await until(() => started.written().includes('Trunkline is running') && api.asked.length > 0, started.written);
  const databaseUrl = /postgres:\/\/\S+?(?=['\s])/.exec(started.written())?.[0];
  await stop(started);
  await expect(new Client({ connectionString: databaseUrl }).connect()).rejects.toThrow('ECONNREFUSED');
});

test('start whose terminal is closed ends as after Ctrl-C, and its Postgres with it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-stop-'));
  await chmod(dataDir, 0o755);
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const terminal = spawn('script', ['-qec', `${process.execPath} src/trunkline.cjs start`, '/dev/null'], {
    cwd: root,
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'info' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  terminal.stdout.on('data', (chunk) => {
    shown += chunk;
  });
  await until(
    () => shown.includes('Trunkline is running'),
    () => shown,
  );
  const { pid } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8'));
  onTestFinished(() => void (existsSync(`/proc/${pid}`) && process.kill(pid, 'SIGKILL')));
  terminal.kill('SIGKILL');
  await until(() => !existsSync(`/proc/${pid}`));
  const left = ['running.json', 'postgres/owner', 'postgres/cluster/postmaster.pid'];
  expect(left.filter((file) => existsSync(join(dataDir, file)))).toEqual([]);
});
