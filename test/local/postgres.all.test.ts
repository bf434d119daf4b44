import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../src/local/postgres.ts';
import { createLog } from '../../src/shared/log.ts';
import { temporaryFolder } from '../at-end.ts';
import { root } from '../program.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const dataDir = await temporaryFolder();
const log = createLog('silent');
const run = promisify(execFile);
const settled = { timeout: conditionTimeoutMs, interval: 20 };

/** A folder of one test. */
async function temporary(): Promise<string> {
  const folder = await temporaryFolder();
  return folder;
}
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

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
  expect(await modeOf(join(dataDir, 'password'))).toBe(0o600);
  const stranger = new URL(postgres.url);
  stranger.password = 'wrong';
  await expect(ask({ url: stranger.href }, 'select')).rejects.toThrow(/password/);
});

test('the daemon works as a role that reads no file of the machine and runs no program, and may create roles', async () => {
  await using postgres = await startPostgres({ dataDir, log });
  const roles = 'select rolname, rolsuper, rolcreaterole from pg_roles where rolname = current_user';
  expect(await ask(postgres, roles)).toEqual([{ rolname: 'trunkline', rolsuper: false, rolcreaterole: true }]);
  for (const sql of [
    `select pg_read_file('/etc/hostname')`,
    `copy (select 1) to program 'true'`,
    `alter role trunkline superuser`,
    `grant pg_execute_server_program to trunkline`,
  ]) {
    await expect(ask(postgres, sql), sql).rejects.toMatchObject({ code: '42501' });
  }
  const url = postgres.superuserUrl;
  expect(await ask({ url }, roles)).toEqual([{ rolname: 'postgres', rolsuper: true, rolcreaterole: true }]);
  expect(await modeOf(join(dataDir, 'superuser-password'))).toBe(0o600);
});

test('its role sees since when others have been in a transaction, which is what delays a migration', async () => {
  await using postgres = await startPostgres({ dataDir, log });
  const since = `select count(*)::int as n from pg_stat_activity where usename = 'postgres' and xact_start is not null`;
  const other = new Client({ connectionString: postgres.superuserUrl });
  await other.connect();
  await other.query('begin');
  expect(await ask(postgres, since)).toEqual([{ n: 1 }]);
  await other.end();
});

test('the password of its role is found in a file by what uses libpq, and stands in no address', async () => {
  await using postgres = await startPostgres({ dataDir, log });
  const { password, username, port, pathname } = new URL(postgres.url);
  const passfile = new URL(postgres.passfileUrl).searchParams.get('passfile') ?? '';
  expect(postgres.passfileUrl).toBe(`postgres://${username}@127.0.0.1:${port}${pathname}?passfile=${passfile}`);
  expect(await readFile(passfile, 'utf8')).toBe(`127.0.0.1:*:*:${username}:${password}\n`);
  expect(await modeOf(passfile)).toBe(0o600);
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

test('a folder may have characters of a shell in its name, and a port that can’t be kept', async () => {
  const folder = join(await temporary(), `a b'c"d$HOME\`false\``);
  await mkdir(join(folder, 'port'), { recursive: true });
  await using postgres = await startPostgres({ dataDir: folder, log });
  const url = postgres.superuserUrl;
  expect(await ask({ url }, 'show data_directory')).toEqual([{ data_directory: join(folder, 'cluster') }]);
});

test('a folder in use is refused with the process that uses it', async () => {
  await using _postgres = await startPostgres({ dataDir, log });
  await expect(startPostgres({ dataDir, log })).rejects.toThrow(`in use by process ${process.pid}`);
});

test.runIf(process.getuid?.() === 0)('root leaves the folder of an ordinary user as it is', async () => {
  const theirs = await temporary();
  const uid = Number(execFileSync('id', ['-u', 'nobody']));
  await mkdir(join(theirs, 'cluster'), { mode: 0o700 });
  for (const path of [theirs, join(theirs, 'cluster')]) await chown(path, uid, uid);
  await expect(startPostgres({ dataDir: theirs, log })).rejects.toThrow(`${theirs} belongs to another user`);
  const { mode, uid: owner } = await stat(theirs);
  expect({ mode: mode & 0o777, owner }).toEqual({ mode: 0o700, owner: uid });
  expect(await readdir(theirs)).toEqual(['cluster']);
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test('a folder that Postgres cannot reach is refused, and the sentence names one that it can', async () => {
    const closed = await temporary();
    await chmod(closed, 0o700);
    await expect(startPostgres({ dataDir: join(closed, 'app/.data/postgres'), log })).rejects.toMatchObject({
      message: expect.stringContaining(`may not enter ${join(closed, 'app/.data/postgres')}`),
      remedy: expect.stringContaining('such as /var/lib/trunkline, or DATABASE_URL'),
    });
    expect(await readdir(join(closed, 'app/.data/postgres'))).toEqual([]);
  });

  test('others may pass through a DATA_DIR that root has closed, and not look into it', async () => {
    const closed = await temporary();
    await using postgres = await startPostgres({ dataDir: join(closed, 'postgres'), log });
    expect(await ask(postgres, 'select 1 as n')).toEqual([{ n: 1 }]);
    expect(await modeOf(closed)).toBe(0o701);
  });

  test('the server has none of the rights of root', async () => {
    await using postgres = await startPostgres({ dataDir, log });
    const status = await readFile(`/proc/${postgres.pid}/status`, 'utf8');
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapAmb:\t0+$/m);
  });

  test('a checkout in a closed folder works with a DATA_DIR that Postgres can reach, also under a strict umask', async () => {
    const [closed, reachable] = [await temporary(), await temporary()];
    await chmod(reachable, 0o755);
    for (const name of ['src', 'test', 'config', 'node_modules', 'package.json']) {
      await symlink(join(root, name), join(closed, name));
    }
    const folder = join(reachable, 'data/postgres');
    const script = 'umask 077; exec "$0" --preserve-symlinks --preserve-symlinks-main test/local/owner-process.ts "$1"';
    const owner = spawn('sh', ['-c', script, process.execPath, folder], { cwd: closed });
    const exited = once(owner, 'exit');
    const [said] = await once(owner.stdout, 'data');
    const { url, pid } = JSON.parse(String(said)) as { url: string; pid: number };
    const { stdout } = await run('readlink', [`/proc/${pid}/exe`]);
    owner.kill('SIGKILL');
    await exited;
    process.kill(pid, 'SIGQUIT');
    await vi.waitUntil(() => !existsSync(`/proc/${pid}`), settled);
    expect(stdout.trim()).toBe(join(folder, 'programs/bin/postgres'));
    expect(new URL(url).username).toBe('trunkline');
    for (const path of [folder, join(reachable, 'data')]) expect(await modeOf(path)).toBe(0o701);
  });
});

test('a server that ends by itself is told, with its log, and is started anew with what was committed', async () => {
  const crashes: Error[] = [];
  const killed = await startPostgres({ dataDir, log, onCrash: (error) => void crashes.push(error) });
  await ask(killed, 'create table survives as select 1 as n');
  process.kill(killed.pid, 'SIGKILL');
  await vi.waitUntil(() => crashes.length > 0, settled);
  expect(crashes).toMatchObject([{ remedy: expect.stringContaining(join(dataDir, 'postgres.log')) }]);
  await using postgres = await startPostgres({ dataDir, log });
  expect(await ask(postgres, 'select n from survives')).toEqual([{ n: 1 }]);
});

test('of starts on one new folder at once, exactly one wins, and the others name it', async () => {
  const folder = await temporary();
  const starts = await Promise.allSettled(Array.from({ length: 3 }, () => startPostgres({ dataDir: folder, log })));
  const won = starts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const lost = starts.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  await Promise.all(won.map((each) => each.stop()));
  expect([won.length, lost]).toEqual([
    1,
    Array(2).fill(expect.stringContaining(`${folder} is in use by process ${process.pid}.`)),
  ]);
});

test('a stop right after the server was killed leaves none running', async () => {
  const postgres = await startPostgres({ dataDir, log });
  process.kill(postgres.pid, 'SIGKILL');
  await postgres.stop();
  // What it had forked may end a moment later.
  const asking = () => ask(postgres, 'select').catch((error: Error) => error.message);
  await expect.poll(asking, settled).toMatch(/ECONNREFUSED/);
});

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'a server outlives the %s of its owner, and the next start takes its place',
  async (signal) => {
    const owner = spawn(process.execPath, [new URL('owner-process.ts', import.meta.url).pathname, dataDir], {
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
