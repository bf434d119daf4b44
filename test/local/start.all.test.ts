import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createPart } from '../faults/deployment/part.ts';
import { freePort } from '../faults/deployment/ports.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);

/** All that `start` prints and logs from its beginning to its end. */
async function outputOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-start-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const shape = {
    name: 'start',
    args: ['start', ...args],
    env: { DATA_DIR: folder, PORT: String(await freePort()), LOG_LEVEL: 'trace', ...env },
    readyWords: args.includes('--json') ? '"databaseUrl"' : 'data folder',
  };
  const part = createPart(shape, onTestFinished);
  await part.start();
  part.signal('SIGTERM');
  await part.ended();
  return part.output;
}

test('the password of a given DATABASE_URL is printed nowhere', async () => {
  const { password, port, pathname } = new URL(databaseUrl);
  const env = { DATABASE_URL: databaseUrl };
  const output = await outputOf([], env);
  expect(output).not.toContain(password);
  expect(output).toMatch(new RegExp(`database +postgres://[^:@]+@127\\.0\\.0\\.1:${port}${pathname}\n`));
  expect(output).toContain('psql "$DATABASE_URL" -c');
  const json = await outputOf(['--json'], env);
  expect(json).not.toContain(password);
  expect(json).toContain(`@127.0.0.1:${port}${pathname}"`);
});

test('a real account without TIME_ZONE is proposed the zone of most of its users', async () => {
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  onTestFinished(() => sandbox.close());
  const output = await outputOf([], { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey, RULES_MODE: 'live' });
  expect(output).toContain('Most users of the account are in America/New_York: set TIME_ZONE=America/New_York.');
  expect(await outputOf([], {})).not.toContain('TIME_ZONE=');
});

test('the line for psql names the file that holds the password of the embedded Postgres', async () => {
  const output = await outputOf([], {});
  expect(output).toMatch(
    /psql 'postgres:\/\/trunkline@127\.0\.0\.1:\d+\/trunkline\?passfile=\/[^']+\/postgres\/pgpass' -c/,
  );
  expect(output).not.toMatch(/trunkline:[^@/]+@/);
});
