import { Redis } from 'ioredis';
import { retryDeadlock } from '../../../src/db/database.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** Lets the queues forget every job, what waits behind them, and who they stand for. */
export async function loseJobs({ database, redis }: Deployment): Promise<void> {
  if (redis) {
    const client = new Redis(redis.url);
    await client.flushall().finally(() => client.disconnect());
    return;
  }
  for (const table of ['job', 'dedup', 'dedup_next']) {
    // The queues take their locks in an order of their own, and a deletion may meet them.
    await retryDeadlock(() => database.query(`delete from bullmq.${table}`));
  }
}
