import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Settings } from '../../config/settings.ts';
import { UserError } from '../shared/errors.ts';

const run = promisify(execFile);

/** Creates a folder for secrets and content, which Git ignores: one `git add .` would publish them. */
export async function makeDataFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (existsSync(join(folder, '.git'))) return;
  // Keeps a file of the operator's. A folder that can't be written fails where that matters.
  await writeFile(join(folder, '.gitignore'), '*\n', { flag: 'wx' }).catch(() => undefined);
}

/**
 * A running process: its command line, and when it began, as the system prints that. A later process with the same id
 * began at another time. Undefined if it is gone or a zombie.
 */
export async function findProcess(pid: number) {
  const [line = '', begun = ''] = await (process.platform === 'linux' ? procOf(pid) : psOf(pid)).catch(() => []);
  const commandLine = line.replaceAll('\0', ' ').trim();
  return commandLine === '' ? undefined : { commandLine, begun };
}

async function procOf(pid: number): Promise<string[]> {
  const [line = '', stat = ''] = await Promise.all(
    ['cmdline', 'stat'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
  );
  // The second field, the program's name, may contain spaces and brackets, so count from the last bracket.
  return [line, stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''];
}

async function psOf(pid: number): Promise<string[]> {
  // Two processes compare what they read, whatever the language and time zone of each.
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const columns = ['args=', 'lstart='].map((column) => run('ps', ['-ww', '-o', column, '-p', String(pid)], { env }));
  return (await Promise.all(columns)).map(({ stdout }) => stdout.trim());
}

const secretBytes = 32;

/** The secret in a file that only its owner can read. Creates it once, and its folder. */
export async function keptSecret(file: string): Promise<string> {
  await makeDataFolder(dirname(file));
  if (!existsSync(file)) await createSecret(file);
  const secret = (await readFile(file, 'utf8')).trim();
  if (secret !== '') return secret;
  throw new UserError(`${file} is empty.`, { remedy: 'Remove it: the next start makes a new secret.' });
}

/** Links the complete file into place, unless another process has done so: `web` and `worker` may start at once. */
async function createSecret(file: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, `${randomBytes(secretBytes).toString('hex')}\n`, { mode: 0o600 });
    await link(draft, file);
  } catch (error) {
    if (!existsSync(file)) throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** The token for the pages: ADMIN_TOKEN, or else one that is kept in a file of the data folder. */
export async function pagesToken({
  receiver,
  dataDir,
}: Pick<Settings, 'receiver' | 'dataDir'>): Promise<{ adminToken: string; adminTokenFile: string | undefined }> {
  if (receiver.adminToken !== undefined) return { adminToken: receiver.adminToken, adminTokenFile: undefined };
  const adminTokenFile = resolve(dataDir, 'admin-token');
  return { adminToken: await keptSecret(adminTokenFile), adminTokenFile };
}

/** A running `trunkline start`, for other commands on this machine. */
const running = z.object({
  statusUrl: z.string(),
  adminToken: z.string(),
  /** The API is the sandbox that this `start` runs. */
  isSandbox: z.boolean(),
  /** The variables that make another process one of the same deployment. */
  environment: z.record(z.string(), z.string()),
  pid: z.number(),
  beginning: z.string(),
});

type Running = z.infer<typeof running>;

/** Writes `running.json`, which only its owner can read, into the data folder. Returns a function that removes it. */
export async function announceRunning(dataDir: string, what: Omit<Running, 'pid' | 'beginning'>) {
  const path = join(dataDir, 'running.json');
  const own = { ...what, pid: process.pid, beginning: (await findProcess(process.pid))?.begun ?? '' };
  await makeDataFolder(dataDir);
  // Renamed into place, so nobody reads a half-written file, and no old permissions remain.
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(own, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
  return async () => {
    if ((await findRunning(dataDir))?.pid === process.pid) await rm(path, { force: true });
  };
}

/** The running `trunkline start` of a data folder. Undefined if its process is gone, or the file can't be read. */
export async function findRunning(dataDir: string): Promise<Running | undefined> {
  try {
    const found = running.parse(JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8')));
    return (await findProcess(found.pid))?.begun === found.beginning ? found : undefined;
  } catch {
    return undefined;
  }
}
