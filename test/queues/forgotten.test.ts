import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { Bell } from '../../src/queues/bell.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { databaseForTest } from '../stores/databases.ts';
import { startRedis } from '../stores/redis.ts';

const databaseUrl = await databaseForTest();
const settled = { timeout: 40_000, interval: 20 };

/** The firewall between the queues and their store forgets every connection: when a bell is heard again after that. */
async function hearsAfterwards(store: string, address: (url: string) => Parameters<typeof createQueues>[0]) {
  const wire = await openWire(Number(new URL(store).port), onTestFinished);
  const queues = await createQueues(address(wire.through(store)));
  onTestFinished(() => queues.close());
  const seen: Bell[] = [];
  queues.work('calls', {}, async (rung) => void seen.push(rung));
  await vi.waitUntil(
    async () => {
      await queues.ring('calls', [{ kind: 'call', key: 'before' }]).catch(() => undefined);
      return seen.length > 0;
    },
    { ...settled, interval: 200 },
  );
  wire.forget();
  const begun = performance.now();
  await vi.waitUntil(
    async () => {
      await queues.ring('calls', [{ kind: 'call', key: 'after' }]).catch(() => undefined);
      return seen.some(({ key }) => key === 'after');
    },
    { ...settled, interval: 200 },
  );
  const backAfterMs = performance.now() - begun;
  async function ringingTakes(): Promise<number> {
    const key = `${performance.now()}`;
    const rung = performance.now();
    await queues.ring('calls', [{ kind: 'call', key }]);
    await vi.waitUntil(() => seen.some((each) => each.key === key), settled);
    return performance.now() - rung;
  }
  return { backAfterMs, ringingTakes };
}

test('a worker whose connections to Redis a firewall forgot works again within seconds', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const log = createLog('silent');
  const { backAfterMs } = await hearsAfterwards(redis.url, (redisUrl) => ({ redisUrl, databaseUrl, log }));
  expect(backAfterMs).toBeLessThan(20_000);
}, 100_000);

test('a worker whose connections to the queues in Postgres a firewall forgot works again within seconds', async () => {
  await migrateQueues(databaseUrl);
  const log = createLog('silent');
  const address = (url: string) => ({ redisUrl: undefined, databaseUrl: url, log });
  const { backAfterMs, ringingTakes } = await hearsAfterwards(databaseUrl, address);
  expect(backAfterMs).toBeLessThan(20_000);
  // A worker that no longer listens polls: now and then it is quick by chance.
  await sleep(25_000);
  for (let i = 0; i < 4; i += 1) {
    await sleep(700);
    expect(await ringingTakes()).toBeLessThan(900);
  }
}, 100_000);
