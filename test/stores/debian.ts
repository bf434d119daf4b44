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
  /** `immediate` ends it as a crash does. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** SIGKILL of its first process; resolves when that is gone. */
  kill(): Promise<void>;
  /** Starts it again after a kill, at the same address. */
  restart(): Promise<void>;
}

type ServerSettings = Readonly<Record<string, string>>;

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
export async function startDebianPostgres(folder: string, settings: ServerSettings): Promise<DebianPostgres> {
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  const run = await preparedFolder(folder, passwordFile);
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  run('initdb', ['--no-sync', `--pgdata=${directoryOf(folder)}`, ...access, ...locale]);
  const server = await serve(folder, settings);
  await createOwner(server.superuserUrl);
  return server;
}

/** Runs a hot standby that follows another cluster by asynchronous streaming replication, in a folder that exists. */
export async function startStandby(
  folder: string,
  primary: DebianPostgres,
  settings: ServerSettings,
): Promise<DebianPostgres> {
  const run = await preparedFolder(folder);
  const how = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync', '--wal-method=stream'];
  run('pg_basebackup', [`--dbname=${primary.superuserUrl}`, `--pgdata=${directoryOf(folder)}`, ...how]);
  return serve(folder, settings);
}

const directoryOf = (folder: string) => join(folder, 'cluster');

/** Gives the folder to the account that Postgres runs as; resolves to what runs a program as that account. */
async function preparedFolder(
  folder: string,
  ...files: readonly string[]
): Promise<(program: string, args: readonly string[]) => void> {
  const account = unprivilegedAccount();
  await mkdir(directoryOf(folder), { mode: 0o700 });
  if (account) for (const path of [folder, directoryOf(folder), ...files]) await chown(path, account.uid, account.gid);
  return (program, args) =>
    void execFileSync(programOf(program), args, { ...ranIn(folder), stdio: ['ignore', 'ignore', 'inherit'] });
}

function programOf(name: string): string {
  const programs = debianPrograms();
  if (programs === undefined) throw new Error('Debian’s postgresql is not installed.');
  return join(programs, name);
}

function ranIn(folder: string) {
  return { ...unprivilegedAccount(), cwd: folder, env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH } };
}

async function serve(folder: string, settings: ServerSettings): Promise<DebianPostgres> {
  const port = await freePort();
  const flags = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'America/New_York',
    ...settings,
  };
  const directory = directoryOf(folder);
  const logFile = join(folder, 'postgres.log');
  const launch = async () => {
    await using log = await open(logFile, 'a', 0o600);
    const child = spawn(
      programOf('postgres'),
      ['-D', directory, ...Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...ranIn(folder), detached: true, stdio: ['ignore', log.fd, log.fd] },
    );
    return { child, exited: once(child, 'exit'), isReady: await isReady(child, join(directory, 'postmaster.pid')) };
  };
  // Of a server that was killed, some sessions end a moment later, and until then no other one starts.
  const launchWithin = async (tries: number) => {
    for (let left = tries; left > 0; left -= 1) {
      const launched = await launch();
      if (launched.isReady) return launched;
      await sleep(100);
    }
    throw new Error(`Debian’s Postgres did not start: ${await readFile(logFile, 'utf8')}`);
  };
  let server = await launchWithin(1);
  const end = async (signal: NodeJS.Signals) => {
    server.child.kill(signal);
    await server.exited;
  };
  return {
    url: `postgres://trunkline:${password}@127.0.0.1:${port}/trunkline`,
    superuserUrl: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    stop: (mode = 'fast') => end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    kill: () => end('SIGKILL'),
    async restart() {
      server = await launchWithin(100);
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
    // A server that was killed leaves its file behind.
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true;
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
