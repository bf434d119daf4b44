import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { announceRunning, findProcess, keptSecret, makeDataFolder } from '../../src/local/data-folder.ts';
import { temporaryFolder } from '../at-end.ts';

const running = {
  environment: { DATABASE_URL: 'postgres://app:hunter2@127.0.0.1/app' },
  isSandbox: false,
  statusUrl: 'http://127.0.0.1:3000/',
  adminToken: 'hunter2',
};

/** A repository, and what `git add .` in it would publish. */
async function repository() {
  const folder = await temporaryFolder();
  execFileSync('git', ['init', '--quiet', folder]);
  // As root, the embedded Postgres runs as another user.
  await chmod(folder, 0o755);
  const own = ['-c', 'core.excludesFile=/dev/null', 'status', '--porcelain', '-uall'];
  const published = () => execFileSync('git', own, { cwd: folder, encoding: 'utf8' });
  return { folder, published };
}

test.each([
  ['a secret', (dataDir: string) => keptSecret(join(dataDir, 'encryption-key'))],
  ['the note of a running start', (dataDir: string) => announceRunning(dataDir, running)],
  [
    'the folder of the embedded Postgres',
    async (dataDir: string) => {
      await makeDataFolder(join(dataDir, 'postgres'));
      await writeFile(join(dataDir, 'postgres', 'password'), 'hunter2');
    },
  ],
])('git ignores %s, in a new folder and in one of an earlier version', async (_, write) => {
  const { folder, published } = await repository();
  await write(join(folder, '.account'));
  expect(published()).toBe('');
  execFileSync('find', [folder, '-name', '.gitignore', '-delete']);
  expect(published()).not.toBe('');
  await write(join(folder, '.account'));
  expect(published()).toBe('');
});

test('a repository, and a folder with rules of its own, are left as they are', async () => {
  const { folder, published } = await repository();
  await keptSecret(join(folder, 'encryption-key'));
  expect(published()).toBe('?? encryption-key\n');
  await mkdir(join(folder, 'own'));
  await writeFile(join(folder, 'own', '.gitignore'), 'admin-token\n');
  await keptSecret(join(folder, 'own', 'admin-token'));
  expect(await readFile(join(folder, 'own', '.gitignore'), 'utf8')).toBe('admin-token\n');
});

test('processes of other time zones and languages find the same beginning of a process, where only ps tells it', async () => {
  vi.spyOn(process, 'platform', 'get').mockReturnValue('darwin');
  const here = await findProcess(process.pid);
  vi.stubEnv('TZ', 'Asia/Tokyo');
  expect(here?.begun).toMatch(/:/);
  expect(await findProcess(process.pid)).toEqual(here);
});
