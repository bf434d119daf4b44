import { afterAll, describe, expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { trunkline } from '../credentials/commands.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);
const environment = {
  DATABASE_URL: databaseUrl,
  WEBHOOK_SECRET: 'a-secret-of-thirty-two-letters-0',
  PUBLIC_URL: 'https://mirror.example',
  ADMIN_TOKEN: 'an-admin-token-of-registration',
  PORT: '0',
};

describe('a receiver with PUBLIC_URL', () => {
  test.each<[string, string, Record<string, string>]>([
    ['no API', 'API_BASE_URL', {}],
    ['nothing to show the API', 'API_KEY', { API_BASE_URL: 'http://127.0.0.1:1' }],
  ])('and %s says once that it registers nothing, and what is missing', async (_name, missing, more) => {
    const web = trunkline({ ...environment, ...more }, 'web', '--json');
    await expect.poll(web.out).toContain('"registers":false');
    web.process.kill('SIGTERM');
    expect(await web.ended).toBe(0);
    const warnings = web
      .err()
      .split('\n')
      .filter((line) => line.includes('no webhook is registered'));
    expect(warnings).toEqual([expect.stringContaining(missing)]);
  });

  test('and an API registers', async () => {
    const web = trunkline({ ...environment, API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'k' }, 'web', '--json');
    await expect.poll(web.out).toContain('"registers":true');
    web.process.kill('SIGTERM');
    expect(await web.ended).toBe(0);
    expect(web.err()).not.toContain('no webhook is registered');
  });
});

describe('two receivers of one deployment with different secrets', () => {
  test('accept both, before the webhooks move and after', async () => {
    const sandbox = await createSandbox({ calls: 0, threads: 0 });
    afterAll(() => sandbox.close());
    const [old, next] = [environment.WEBHOOK_SECRET, 'a-secret-of-thirty-two-letters-1'];
    const api = { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey };
    const startWeb = async (secret: string, publicUrl = environment.PUBLIC_URL) => {
      const settings = { ...environment, ...api, WEBHOOK_SECRET: secret, PUBLIC_URL: publicUrl };
      const web = trunkline(settings, 'web', '--json');
      await expect.poll(web.out).toContain('"url"');
      const { url } = JSON.parse(web.out()) as { url: string };
      const deliver = async (token: string) => {
        const body = JSON.stringify({ callId: '1783386668.111111' });
        return (await fetch(`${url}/hooks/${token}/AccountEndedCalls`, { method: 'POST', body })).status;
      };
      return { ...web, deliver };
    };
    const secrets = async () => {
      const answer = await fetch(`${sandbox.url}/api/public/v1/webhooks`, {
        headers: { authorization: `Bearer ${sandbox.apiKey}` },
      });
      const { data } = (await answer.json()) as { data: { url: string }[] };
      return [...new Set(data.map(({ url }) => url.split('/').at(-2)))];
    };
    const older = await startWeb(old);
    await expect.poll(secrets).toEqual([old]);
    const younger = await startWeb(next, 'https://other.example');
    await expect.poll(() => older.deliver(next)).toBe(202);
    expect(await secrets()).toEqual([old]);
    expect(await younger.deliver(old)).toBe(202);
    await expect.poll(secrets, { timeout: 15_000 }).toEqual([next]);
    expect(await older.deliver(next)).toBe(202);
    expect(await older.deliver(`${next}x`)).toBe(404);
    younger.process.kill('SIGTERM');
    expect(await younger.ended).toBe(0);
    expect(await older.deliver(next)).toBe(202);
    older.process.kill('SIGTERM');
    expect(await older.ended).toBe(0);
    expect(older.err()).not.toContain('failed');
  });
});
