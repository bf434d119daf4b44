import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { migrateAll } from '../../../src/migrations.ts';
import { createLog } from '../../../src/shared/log.ts';
import { backends } from '../../stores/backends.ts';
import { createPart } from '../deployment/part.ts';
import { freePort } from '../deployment/ports.ts';
import { openService } from '../deployment/service.ts';
import { openPostgres, openRedis } from '../deployment/stores.ts';

/* `start` with API_BASE_URL and API_KEY alone: nothing is announced, and the service is polled. */

const line = '16465550100';
const adminToken = 'an-admin-token-of-the-laptop';

describe.concurrent.each(backends)('on %s, without a public address', (backend) => {
  test('calls and texts of known threads appear in time, with few requests, until an address is set', {
    timeout: 260_000,
  }, async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-polling-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [sandboxPort, port] = [await freePort(), await freePort()];
    const sandboxArgs = ['sandbox', '--port', String(sandboxPort), '--calls', '20', '--threads', '10', '--no-traffic'];
    const sandbox = createPart(
      { name: 'sandbox', args: [...sandboxArgs, '--json'], env: {}, readyWords: '"apiKey"' },
      onTestFinished,
    );
    const [postgres, redis] = await Promise.all([
      openPostgres(folder, onTestFinished),
      backend === 'redis' ? openRedis(folder, onTestFinished) : undefined,
      sandbox.start(),
    ]);
    await migrateAll(postgres.url, createLog('silent'));
    const service = await openService(`http://127.0.0.1:${sandboxPort}`);
    const env = {
      DATA_DIR: folder,
      PORT: String(port),
      DATABASE_URL: postgres.url,
      ...(redis && { REDIS_URL: redis.url }),
      API_BASE_URL: service.url,
      API_KEY: 'sandbox-key',
      ADMIN_TOKEN: adminToken,
      BACKFILL_DAYS: '0',
    };
    const part = (more = {}) =>
      createPart(
        { name: 'start', args: ['start', '--json'], env: { ...env, ...more }, readyWords: '"databaseUrl"' },
        onTestFinished,
      );
    const database = new Client({ connectionString: postgres.url });
    await database.connect();
    onTestFinished(() => database.end());
    const isHeld = async (table: string, column: string, value: string) =>
      (await database.query(`select from warehouse.${table} where ${column} = $1`, [value])).rowCount === 1;
    const textIsHeld = (text: string) => isHeld('sms_messages', 'body', text);
    const requestsSince = async (from: number) => (await service.requests()).filter(({ at }) => Date.parse(at) >= from);

    const laptop = part();
    await laptop.start();
    // Known by a call: its thread is found among the callers of the line.
    const number = '12125550142';
    await service.call({ direction: 'inbound', status: 'missed', number });
    await service.sms({ line, number, text: 'the first' });
    await vi.waitUntil(() => textIsHeld('the first'), { timeout: 90_000, interval: 200 });

    const from = Date.now();
    const { id } = await service.call({ direction: 'inbound', status: 'answered', number, durationSeconds: 2_000 });
    await service.sms({ line, number, text: 'of a known thread' });
    await vi.waitUntil(() => isHeld('calls', 'call_id', id), { timeout: 60_000, interval: 200 });
    await vi.waitUntil(() => textIsHeld('of a known thread'), { timeout: 90_000, interval: 200 });
    await sleep(Math.max(0, from + 60_000 - Date.now()));
    const minute = await requestsSince(Date.now() - 60_000);
    expect(minute.length).toBeLessThanOrEqual(120);
    const answer = await fetch(`http://127.0.0.1:${port}/api/status`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    const { concerns } = (await answer.json()) as { concerns: { check: string }[] };
    expect(concerns.map(({ check }) => check)).toContain('polling');
    laptop.signal('SIGTERM');
    await laptop.ended();

    const reachable = part({ PUBLIC_URL: `http://127.0.0.1:${port}` });
    await reachable.start();
    const inPlace = `select from ops.subscription_watch where event_type = 'AccountSMS' and state = 'in_place'`;
    await vi.waitUntil(async () => (await database.query(inPlace)).rowCount === 1, { timeout: 90_000, interval: 200 });
    await service.sms({ line, number, text: 'announced' });
    await vi.waitUntil(() => textIsHeld('announced'), { timeout: 90_000, interval: 200 });
    const registered = Date.now();
    await sleep(40_000);
    const asked = (await requestsSince(registered + 10_000)).map(({ path }) => path);
    expect(asked.filter((path) => path.endsWith('/calls/search')).length).toBeLessThanOrEqual(1);
    expect(asked.filter((path) => path.endsWith('/sms/unread')).length).toBeLessThanOrEqual(1);
  });
});
