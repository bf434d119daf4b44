import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createQueues } from '../../src/queues/queues.ts';
import { createLog } from '../../src/shared/log.ts';
import { startIdleCheck } from '../../workers/idle-check.ts';
import { migratedDatabase } from '../world/database.ts';

test('a worker that takes no job while jobs wait fails its process, and one that is busy or has none does not', async () => {
  await using database = await migratedDatabase();
  const log = createLog('silent');
  const queues = await createQueues({ redisUrl: undefined, databaseUrl: database.url, log });
  onTestFinished(() => queues.close());
  const ending = Promise.withResolvers<void>();
  const begun: string[] = [];
  queues.work('calls', { concurrency: 2 }, ({ key }) => {
    begun.push(key);
    return ending.promise;
  });
  queues.work('sends', {}, async () => undefined);
  const failures: string[] = [];
  const check = startIdleCheck(queues, log, { paceMs: 20, fail: ({ message }) => failures.push(message) });
  onTestFinished(() => check.stop());
  const rounds = async () => {
    for (let round = 0; round < 20; round += 1) await check.kick();
  };
  // Two handlers are busy, and a third job waits.
  await queues.enqueue(
    'calls',
    ['1', '2', '3'].map((key) => ({ kind: 'call', key })),
  );
  await vi.waitUntil(() => begun.length === 2, { timeout: 30_000 });
  await rounds();
  expect(failures).toEqual([]);
  // Nothing can be taken off the queue, though it answers how many wait.
  const blocker = new Client({ connectionString: database.url });
  await blocker.connect();
  onTestFinished(() => blocker.end());
  await queues.enqueue('sends', []);
  await blocker.query('begin; lock table bullmq.job in share row exclusive mode');
  ending.resolve();
  await vi.waitUntil(
    async () => {
      await check.kick();
      return failures.length > 0;
    },
    { timeout: 30_000 },
  );
  expect(failures[0]).toContain('The worker of the queue calls has taken no job');
  await blocker.query('rollback');
  await vi.waitUntil(() => begun.length === 3, { timeout: 30_000 });
});
