import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from './redis.ts';

const versions = '/usr/lib/postgresql';
const password = 'of-the-tests';

export interface DebianPostgres {
  /** As the daemon connects: a role that may create roles, and is no superuser. */
  readonly url: string;
  readonly superuserUrl: string;
  stop(): Promise<void>;
}

/** The folder with the programs of the newest Postgres that Debian's packages installed; undefined without one. */
export function debianPrograms(): string | undefined {
  const installed = existsSync(versions) ? readdirSync(versions) : [];
  const newest = installed.sort((a, b) => Number(b) - Number(a));
  return newest.map((version) => join(versions, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

/**
 * Runs a cluster of its own with Debian's Postgres, in a folder that exists. Apart from what a throwaway cluster needs,
 * every setting keeps the default of the package: jit is on. Unlike the embedded one it sorts by a language (ICU) and
 * has a time zone other than UTC.
 */
export async function startDebianPostgres(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<DebianPostgres> {
  const programs = debianPrograms();
  if (programs === undefined) throw new Error('Debian’s postgresql is not installed.');
  const account = unprivilegedAccount();
  const directory = join(folder, 'cluster');
  const passwordFile = join(folder, 'password');
  await mkdir(directory, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [folder, directory, passwordFile]) await chown(path, account.uid, account.gid);
  const options = { ...account, cwd: folder, env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH } };
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  execFileSync(join(programs, 'initdb'), ['--no-sync', `--pgdata=${directory}`, ...access, ...locale], {
    ...options,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const port = await freePort();
  const flags = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'America/New_York',
    ...settings,
  };
  const logFile = join(folder, 'postgres.log');
  await using log = await open(logFile, 'a', 0o600);
  const child = spawn(
    join(programs, 'postgres'),
    ['-D', directory, ...Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...options, detached: true, stdio: ['ignore', log.fd, log.fd] },
  );
  const exited = once(child, 'exit');
  const superuserUrl = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  if (!(await isReady(child, join(directory, 'postmaster.pid')))) {
    throw new Error(`Debian’s Postgres did not start: ${await readFile(logFile, 'utf8')}`);
  }
  await createOwner(superuserUrl);
  return {
    url: `postgres://trunkline:${password}@127.0.0.1:${port}/trunkline`,
    superuserUrl,
    async stop() {
      child.kill('SIGINT');
      await exited;
    },
  };
}

/** Postgres refuses to run as root: the account that Debian's package made for it. */
function unprivilegedAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function isReady(child: ChildProcess, pidFile: string): Promise<boolean> {
  while (child.exitCode === null) {
    const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
    if (lines[7]?.trim() === 'ready') return true;
    await sleep(20);
  }
  return false;
}

async function createOwner(superuserUrl: string): Promise<void> {
  const client = new Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    await client.query(`create role trunkline login createrole password '${password}'`);
    await client.query('create database trunkline owner trunkline');
  } finally {
    await client.end();
  }
}
