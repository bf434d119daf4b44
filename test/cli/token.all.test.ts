import { readFile, stat } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { temporaryFolder } from '../at-end.ts';
import { program } from '../program.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';
import { runInProcess } from './in-process.ts';

test('a start makes a token for the pages, keeps it, prints a link that signs in without it, and stops', async () => {
  const DATA_DIR = await temporaryFolder();
  const sandbox = await createSandbox({ calls: 3, threads: 1 });
  onTestFinished(() => sandbox.close());
  const api = { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey };
  const own = { DATABASE_URL: await databaseForTest(migrated), ADMIN_TOKEN: '', PORT: '0', DATA_DIR };
  const first = program(['start', '--json'], { ...api, ...own });
  await expect.poll(first.out).toContain('}\n');
  const { statusUrl = '', signInUrl = '', adminTokenFile = '' } = JSON.parse(first.out()) as Record<string, string>;
  const token = (await readFile(adminTokenFile, 'utf8')).trim();
  expect(token.length).toBeGreaterThanOrEqual(32);
  expect((await stat(adminTokenFile)).mode & 0o777).toBe(0o600);
  const statusWith = async (headers: Record<string, string>) => (await fetch(statusUrl, { headers })).status;
  expect(await statusWith({})).toBe(401);
  expect(await statusWith({ authorization: `Basic ${btoa(`anybody:${token}`)}` })).toBe(200);
  const { out: status } = await runInProcess({ DATA_DIR, ADMIN_TOKEN: '' }, 'status');
  for (const link of [signInUrl, /status page {2}(\S+)/.exec(status)?.[1] ?? '']) {
    const signedIn = await fetch(link, { redirect: 'manual' });
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/']);
    expect(await statusWith({ cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' })).toBe(200);
  }
  expect(await first.stop()).toBe(0);

  const second = program(['start'], { ...api, ...own });
  await expect.poll(second.out).toContain('data folder');
  expect(second.out()).toContain(adminTokenFile);
  expect(second.out()).toMatch(/status page {3}http:\S+\/sign-in\?code=\S+/);
  expect(second.out() + second.err() + first.out() + first.err()).not.toContain(token);
  expect((await readFile(adminTokenFile, 'utf8')).trim()).toBe(token);
  expect(await second.stop()).toBe(0);
});
