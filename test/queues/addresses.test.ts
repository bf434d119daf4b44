import { afterAll, expect, test, vi } from 'vitest';
import type { TargetJob } from '../../src/queues/backend.ts';
import { migrateQueues } from '../../src/queues/postgres.ts';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { databaseForTest } from '../stores/databases.ts';
import { conditionTimeoutMs } from '../timeouts.ts';
import { startPooler } from './pooler.ts';

const databaseUrl = await databaseForTest(migrateQueues);
const pooler = await startPooler(databaseUrl);
afterAll(() => pooler[Symbol.asyncDispose]());

const withOptions = (options: string) => `${databaseUrl}?options=${encodeURIComponent(options)}`;

test.each([
  ['options of its own', withOptions('-c statement_timeout=30000')],
  ['a search path of its own', withOptions('-c search_path=elsewhere')],
  ['a pooler in session mode at its end', pooler.url],
])('queues in a Postgres whose address has %s bring their jobs', async (_what, address) => {
  const queues = await createQueues({ redisUrl: undefined, databaseUrl: address, log: createLog('silent') });
  const seen: TargetJob[] = [];
  const worker = queues.work('calls', {}, async (job) => void seen.push(job));
  try {
    await queues.enqueue('calls', [{ kind: 'call', key: '1783385492.057900' }]);
    await vi.waitUntil(() => seen.length > 0, { timeout: conditionTimeoutMs, interval: 10 });
    // One that waits is woken too: the connection that listens is another one.
    await queues.enqueue('calls', [{ kind: 'call', key: '1783385492.057901' }]);
    await vi.waitUntil(() => seen.length > 1, { timeout: conditionTimeoutMs, interval: 10 });
    expect(await queues.health()).toMatchObject({ isReachable: true });
  } finally {
    await worker.close(1_000);
    await queues.close();
  }
});
