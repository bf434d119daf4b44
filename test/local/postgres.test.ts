import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../src/local/postgres.ts';
import { createLog } from '../../src/log.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
afterAll(() => rm(dataDir, { recursive: true, force: true }));
const log = createLog('silent');
const settled = { timeout: 60_000, interval: 20 };

test('data, password and port stay between runs', async () => {
  const first = await startPostgres({ dataDir, log });
  await ask(first, 'create table kept as select 7 as n');
  await first.stop();
  await using second = await startPostgres({ dataDir, log });
  expect(second.url).toBe(first.url);
  expect(await ask(second, 'select n from kept')).toEqual([{ n: 7 }]);
});

test('serves UTF-8 on the loopback only, with a password that only its owner can read', async () => {
  await using postgres = await startPostgres({ dataDir, log });
  expect(await ask(postgres, 'show server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
  expect(await ask(postgres, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  const { mode } = await stat(join(dataDir, 'password'));
  expect(mode & 0o777).toBe(0o600);
  const stranger = new URL(postgres.url);
  stranger.password = 'wrong';
  await expect(ask({ url: stranger.href }, 'select')).rejects.toThrow(/password/);
});

test('settings replace the defaults', async () => {
  await using postgres = await startPostgres({ dataDir, log, settings: { max_connections: '20' } });
  expect(await ask(postgres, 'show max_connections')).toEqual([{ max_connections: '20' }]);
});

test('another port is taken when the remembered one is not free', async () => {
  const remembered = Number(await readFile(join(dataDir, 'port'), 'utf8'));
  const squatter = createServer().listen(remembered, '127.0.0.1');
  await once(squatter, 'listening');
  await using postgres = await startPostgres({ dataDir, log });
  expect(postgres.port).not.toBe(remembered);
  squatter.close();
});

test('a folder in use is refused with the process that uses it', async () => {
  await using _postgres = await startPostgres({ dataDir, log });
  await expect(startPostgres({ dataDir, log })).rejects.toThrow(`in use by process ${process.pid}`);
});

test.runIf(process.getuid?.() === 0)(
  'root leaves the folder of an ordinary user as it is, and names the user',
  async () => {
    const theirs = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
    onTestFinished(() => rm(theirs, { recursive: true, force: true }));
    const uid = Number(execFileSync('id', ['-u', 'nobody']));
    await mkdir(join(theirs, 'cluster'), { mode: 0o700 });
    for (const path of [theirs, join(theirs, 'cluster')]) await chown(path, uid, uid);
    await expect(startPostgres({ dataDir: theirs, log })).rejects.toThrow(
      `${join(theirs, 'cluster')} belongs to user nobody: start as nobody, or choose another folder with DATA_DIR`,
    );
    const { mode, uid: owner } = await stat(theirs);
    expect({ mode: mode & 0o777, owner }).toEqual({ mode: 0o700, owner: uid });
    expect(await readdir(theirs)).toEqual(['cluster']);
  },
);

test('a killed server is started again on its port, with what was committed', async () => {
  await using postgres = await startPostgres({ dataDir, log });
  await ask(postgres, 'create table survives as select 1 as n');
  const killed = postgres.pid;
  process.kill(killed, 'SIGKILL');
  await vi.waitUntil(() => postgres.pid !== killed, settled);
  expect(await ask(postgres, 'select n from survives')).toEqual([{ n: 1 }]);
});

test('a stop right after the server was killed leaves none running', async () => {
  const postgres = await startPostgres({ dataDir, log });
  process.kill(postgres.pid, 'SIGKILL');
  await postgres.stop();
  await expect(ask(postgres, 'select')).rejects.toThrow(/ECONNREFUSED/);
});

test('a stop that crashes the server loses nothing that was committed', async () => {
  const first = await startPostgres({ dataDir, log });
  await ask(first, 'create table crashed as select 1 as n');
  await first.stop('immediate');
  await using second = await startPostgres({ dataDir, log });
  expect(await ask(second, 'select n from crashed')).toEqual([{ n: 1 }]);
});

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'a server outlives the %s of its owner, and the next start takes its place',
  async (signal) => {
    const owner = spawn('node', [new URL('owner-process.ts', import.meta.url).pathname, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = await once(owner.stdout, 'data');
    const { url, pid } = JSON.parse(String(said)) as { url: string; pid: number };
    owner.kill(signal);
    await once(owner, 'exit');
    expect(await ask({ url }, 'select 1 as n')).toEqual([{ n: 1 }]);
    await using postgres = await startPostgres({ dataDir, log });
    expect(postgres.pid).not.toBe(pid);
    expect(await ask(postgres, 'select 1 as n')).toEqual([{ n: 1 }]);
  },
);

async function ask({ url }: Pick<LocalPostgres, 'url'>, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
