import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import { inherited } from '../inherited.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);
const root = fileURLToPath(new URL('../..', import.meta.url));
const lines = new Map(
  (await readFile(new URL('../../Procfile', import.meta.url), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
);

// A container tells its first process alone, and what that one started is killed with it.
test.each([
  ['web', 'The receiver is listening'],
  ['worker', 'The worker processes its queues'],
])('%s hears a SIGTERM that only the first process of its line is sent', async (name, isUp) => {
  const child = spawn('sh', ['-c', lines.get(name) ?? ''], {
    cwd: root,
    env: {
      ...inherited,
      DATABASE_URL: databaseUrl,
      REDIS_URL: inject('redisUrl'),
      API_BASE_URL: 'http://127.0.0.1:1',
      API_KEY: 'of-nobody',
      WEBHOOK_SECRET: 'a-secret-of-the-procfile-0123456',
      ADMIN_TOKEN: 'of-nobody-at-all-here',
      HOST: '',
      PORT: '0',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // Nothing of it is left, as it should be.
    }
  });
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  await expect.poll(() => err).toContain(isUp);
  if (name === 'web') expect(err).toContain('"url":"http://0.0.0.0:');
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(err).toContain('"Stopped"');
});
