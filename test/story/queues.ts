import type { QueueName } from '../../config/queues.ts';
import type { TargetJob } from '../../src/queues/backend.ts';
import type { JobHandler, Queues } from '../../src/queues/queues.ts';
import { beat } from '../../src/shared/beat.ts';

/** Queues in memory. A job begins when it is enqueued; one that fails is left to the sweep. */
export function memoryQueues(): Queues {
  const handlers = new Map<QueueName, JobHandler>();
  const waiting = new Map<string, { readonly queue: QueueName; readonly job: TargetJob }>();
  const running = new Set<string>();
  const { signal } = new AbortController();

  async function work(id: string): Promise<void> {
    for (let next = waiting.get(id); next && !running.has(id); next = waiting.get(id)) {
      waiting.delete(id);
      running.add(id);
      await handlers
        .get(next.queue)?.(next.job, signal)
        .catch(() => undefined);
      running.delete(id);
    }
  }

  return {
    async enqueue(queue, jobs) {
      for (const job of jobs) {
        const id = `${job.kind} ${job.key}`;
        waiting.set(id, { queue, job });
        void beat.busy(work(id));
      }
    },
    work(queue, _options, handler) {
      handlers.set(queue, handler);
      return { close: async () => void handlers.delete(queue) };
    },
    waiting: async () => 0,
    forget: async () => 0,
    health: async () => ({ backend: 'postgres', isReachable: true, faults: [] }),
    connections: () => 0,
    open: async () => undefined,
    bull: [],
    close: async () => undefined,
  };
}
