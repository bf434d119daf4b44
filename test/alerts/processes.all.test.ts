import { afterAll, expect, test } from 'vitest';
import { startHttpReceiver } from '../notify/receivers.ts';
import { program } from '../program.ts';
import { databaseForTest } from '../stores/databases.ts';
import { freePort } from '../stores/redis.ts';
import { migrated } from '../world/database.ts';

const databaseUrl = await databaseForTest(migrated);
const slack = await startHttpReceiver();
afterAll(() => slack[Symbol.asyncDispose]());

test('an outage in which both processes were started is told, within a minute', async () => {
  const environment = {
    ...{
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
      NOTIFY_TARGETS: `ops=slack:${slack.url}`,
      NOTIFY_ALERTS: 'ops',
      PORT: '0',
    },
    ...{ API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody', WEBHOOK_SECRET: 'a-secret-of-alerts-0123456' },
  };
  const began = performance.now();
  const told = () => slack.received.filter(({ body }) => body.includes('database_unavailable')).length;
  const processes = ['web', 'worker'].map((name) => program([name], environment));
  await expect.poll(told).toBe(2);
  // Half a minute is for a loaded machine.
  expect(performance.now() - began).toBeLessThan(90_000);
  expect(await Promise.all(processes.map(({ stop }) => stop()))).toEqual([0, 0]);
  expect(told()).toBe(2);
  slack.received.length = 0;
});

// Two processes, at the pace of a deployment: found, held for 30 seconds, told; mended, over for 30 seconds, told.
test('a break is told once by the processes that run, its remedy works, and its end is told', async () => {
  const environment = {
    ...{ DATABASE_URL: databaseUrl, WEBHOOK_SECRET: 'a-secret-of-alerts-0123456', PORT: '0' },
    ...{ API_BASE_URL: 'http://127.0.0.1:1', API_KEY: 'of-nobody', RULES_FILE: 'config/rules.yaml' },
    NOTIFY_TARGETS: `ops=slack:${slack.url}`,
    NOTIFY_ALERTS: 'ops',
  };
  const processes = ['web', 'worker'].map((name) => program([name], environment));
  await expect.poll(() => processes.map(({ err }) => / is listening| processes its/.test(err()))).toEqual([true, true]);
  const textsOf = (check: string) =>
    slack.received.map(({ body }) => JSON.parse(body).text as string).filter((text) => text.includes(check));

  expect(await program(['sends', 'pause', 'for', 'Karen'], environment).ended).toBe(0);
  await expect.poll(() => textsOf('sends_paused').length).toBe(1);
  const [began = ''] = textsOf('sends_paused');
  expect(began).toMatch(/^\*Warning at 127\.0\.0\.1:1: All automatic texts are paused\.\*\n/);
  const remedy = /`npx trunkline (sends resume)`/.exec(began)?.[1] ?? '';
  expect(await program(remedy.split(' '), environment).ended).toBe(0);
  await expect.poll(() => textsOf('sends_paused').length).toBe(2);
  expect(textsOf('sends_paused')[1]).toMatch(
    /^\*Resolved at 127\.0\.0\.1:1: All automatic texts are paused\.\*\nIt lasted /,
  );
  expect(slack.received.map(({ body }) => body).join()).not.toContain('Karen');

  expect(await Promise.all(processes.map(({ stop }) => stop()))).toEqual([0, 0]);
});
