import { afterAll, describe, expect, inject, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { program } from '../program.ts';
import { backends } from '../stores/backends.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);
const sandbox = await createSandbox({ calls: 2, threads: 1 });
afterAll(() => sandbox.close());
const adminToken = 'an-admin-token-of-processes';
const environment = { DATABASE_URL: databaseUrl, ADMIN_TOKEN: adminToken, PORT: '0' };

test.each([
  ['no API', {}, false, [/API_BASE_URL.*no webhook is registered|no webhook is registered.*API_BASE_URL/]],
  ['nothing to show the API', { API_BASE_URL: 'http://127.0.0.1:1' }, false, [/no webhook is registered.*API_KEY/]],
  ['an API', { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'k' }, true, []],
  [
    'a secret that can be guessed',
    { WEBHOOK_SECRET: 'hunter2' },
    false,
    [/WEBHOOK_SECRET has 7 characters/, /API_BASE_URL/],
  ],
])(
  'a receiver with PUBLIC_URL and %s says where it is, whether it registers webhooks, and what is wrong',
  async (_, given, registers, warnings) => {
    const usual = { WEBHOOK_SECRET: 'a-secret-of-thirty-two-letters-0', PUBLIC_URL: 'https://mirror.example' };
    const web = program(['web', '--json'], { ...environment, ...usual, ...given });
    await expect.poll(web.out).toContain('\n');
    const told = JSON.parse(web.out()) as { url: string; registers: boolean };
    expect(told.registers).toBe(registers);
    expect((await fetch(`${told.url}/healthz`)).status).toBe(200);
    expect(await web.stop()).toBe(0);
    const lines = web.err().split('\n');
    for (const warning of warnings) expect(lines.filter((line) => warning.test(line))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('no webhook is registered'))).toHaveLength(registers ? 0 : 1);
    expect(web.err()).not.toContain('hunter2');
  },
);

test.each([
  ['web', 1, { DATABASE_URL: await databaseForTest() }, 'trunkline migrate'],
  ['web', 1, { HOST: 'receiver.invalid' }, 'HOST=receiver.invalid names no address of this machine'],
  ['worker', 2, { HOST: '0.0.0.0', ADMIN_TOKEN: '', WORKER_PORT: '0' }, 'ADMIN_TOKEN is missing'],
] as const)('%s that cannot start ends with %i, and a line with its cure: %j', async (name, code, given, cure) => {
  const api = { API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'k' };
  const command = program([name], {
    ...environment,
    ...api,
    WEBHOOK_SECRET: 'a-secret-of-thirty-two-letters-0',
    ...given,
  });
  expect(await command.ended).toBe(code);
  expect(
    command
      .err()
      .trim()
      .split('\n')
      .slice(1 - code),
  ).toEqual([expect.stringContaining(cure)]);
});

describe.each(backends)('a worker with queues in %s', (backend) => {
  test('answers health checks and metrics at WORKER_PORT, and stops listening when it ends', async () => {
    const own = {
      DATABASE_URL: await databaseForTest(migrated),
      REDIS_URL: backend === 'redis' ? `${inject('redisUrl')}/3998` : '',
      WORKER_PORT: '0',
    };
    const api = { API_BASE_URL: sandbox.url, API_KEY: sandbox.apiKey };
    const worker = program(['worker', '--json'], { ...environment, ...own, ...api });
    await expect.poll(worker.out).toContain('\n');
    const { url } = JSON.parse(worker.out()) as { url: string };
    const bearer = { headers: { authorization: `Bearer ${adminToken}` } };
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ready', database: true, migrations: true, queue: true },
    ]);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/`, bearer)).status).toBe(404);
    const page = async () => (await fetch(`${url}/metrics`, bearer)).text();
    await expect.poll(page).toMatch(/trunkline_target_turn_seconds_count\{.*kind="users".*\} [1-9]/);
    await expect.poll(page).toContain('trunkline_workers{mode="dry-run"} 1');
    const text = await page();
    expect(text).toContain('trunkline_api_requests_total{operation="users.list",status="200"}');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).toContain('trunkline_database_up 1');
    expect(await worker.stop()).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });
});
