import { type QueueName, queueNames } from '../../../config/queues.ts';
import type { Queues, QueuesHealth } from '../../queues/queues.ts';

export interface QueueFacts extends QueuesHealth {
  /** Bells that wait in each queue; null where it did not say. */
  readonly waiting: Readonly<Record<QueueName, number | null>>;
}

/** Never rejects: a queue that is away is an answer. */
export async function readQueues(queues: Pick<Queues, 'health' | 'waiting'>): Promise<QueueFacts> {
  const health = await queues.health();
  const waiting = await Promise.all(
    queueNames.map(async (name) => {
      const count = health.isReachable ? await queues.waiting(name).catch(() => null) : null;
      return [name, count] as const;
    }),
  );
  return { ...health, waiting: Object.fromEntries(waiting) as Record<QueueName, number | null> };
}
