import { describe, expect, test } from 'vitest';
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
