import { expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../at-end.ts';
import { program } from '../program.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);

/** All that `start` prints and logs from its beginning to its end. */
async function outputOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const DATA_DIR = await temporaryFolder();
  const start = program(['start', ...args], { DATA_DIR, PORT: '0', LOG_LEVEL: 'trace', ADMIN_TOKEN: '', ...env });
  await expect.poll(start.out).toContain(args.includes('--json') ? '"databaseUrl"' : 'data folder');
  await start.stop();
  return start.out() + start.err();
}

test('the password of a given DATABASE_URL is printed nowhere', async () => {
  const { password, port, pathname } = new URL(databaseUrl);
  const output = await outputOf([], { DATABASE_URL: databaseUrl });
  expect(output).toMatch(new RegExp(`database +postgres://[^:@]+@127\\.0\\.0\\.1:${port}${pathname}\n`));
  expect(output).toContain('psql "$DATABASE_URL" -c');
  const json = await outputOf(['--json'], { DATABASE_URL: databaseUrl });
  expect(json).toContain(`@127.0.0.1:${port}${pathname}"`);
  expect(output + json).not.toContain(password);
});

test('for a real account without TIME_ZONE, the start says that rules that speak of hours do not act', async () => {
  const sandbox = await createSandbox({ calls: 0, threads: 0 });
  onTestFinished(() => sandbox.close());
  const output = await outputOf([], { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey, RULES_MODE: 'live' });
  expect(output).toMatch(/TIME_ZONE is not set; `.* status` names that of most users/);
});

test('of the sandbox no zone is asked for; the line for psql names the file with the password of the embedded Postgres', async () => {
  const output = await outputOf([], {});
  expect(output).not.toContain('TIME_ZONE is not set');
  const line = /psql 'postgres:\/\/trunkline@127\.0\.0\.1:\d+\/trunkline\?passfile=\/[^']+\/postgres\/pgpass' -c/;
  expect(output).toMatch(line);
  expect(output).not.toMatch(/trunkline:[^@/]+@/);
});
