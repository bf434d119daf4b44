import { onTestFinished, test, vi } from 'vitest';
import type { TargetJob } from '../../src/queues/backend.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { openWire } from '../faults/nemesis/proxy.ts';
import { databaseForTest } from '../stores/databases.ts';
import { startRedis } from '../stores/redis.ts';
import { conditionTimeoutMs } from '../timeouts.ts';

const databaseUrl = await databaseForTest();
const settled = { timeout: conditionTimeoutMs, interval: 20 };

/** The firewall between the queues and their store forgets every connection, and a job is heard again. */
async function hearsAfterwards(store: string, address: (url: string) => Parameters<typeof createQueues>[0]) {
  const wire = await openWire(Number(new URL(store).port), onTestFinished);
  const queues = await createQueues(address(wire.through(store)));
  onTestFinished(() => queues.close());
  const seen: TargetJob[] = [];
  queues.work('calls', {}, async (job) => void seen.push(job));
  await vi.waitUntil(
    async () => {
      await queues.enqueue('calls', [{ kind: 'call', key: 'before' }]).catch(() => undefined);
      return seen.length > 0;
    },
    { ...settled, interval: 200 },
  );
  wire.forget();
  await vi.waitUntil(
    async () => {
      await queues.enqueue('calls', [{ kind: 'call', key: 'after' }]).catch(() => undefined);
      return seen.some(({ key }) => key === 'after');
    },
    { ...settled, interval: 200 },
  );
}

test('a worker whose connections to Redis a firewall forgot works again', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const log = createLog('silent');
  await hearsAfterwards(redis.url, (redisUrl) => ({ redisUrl, databaseUrl, log }));
});

test('a worker whose connections to the queues in Postgres a firewall forgot works again', async () => {
  await migrateQueues(databaseUrl);
  const log = createLog('silent');
  await hearsAfterwards(databaseUrl, (url) => ({ redisUrl: undefined, databaseUrl: url, log }));
});
