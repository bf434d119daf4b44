import type { QueueName } from '../config/queues.ts';
import type { Queues } from '../src/queues/queues.ts';
import type { Log } from '../src/shared/log.ts';
import { type Loop, startLoop } from '../src/shared/loop.ts';

/** Milliseconds between two checks, and how many in a row a worker may take no job while jobs wait: a minute. */
const everyMs = 10_000;
const maxIdleChecks = 6;

/** The queue library does not take jobs any more. A new process does. */
export class WorkerIdle extends Error {
  readonly code = 'worker_idle';
}

/**
 * Fails the process when a worker with free handlers takes no job for a minute while jobs wait: whoever runs it starts it again. A
 * store that does not answer is no such case, and neither is a process that was suspended.
 */
export function startIdleCheck(
  queues: Pick<Queues, 'progress' | 'waiting'>,
  log: Log,
  { fail = failProcess, paceMs = everyMs }: { fail?: (error: WorkerIdle) => void; paceMs?: number } = {},
): Loop {
  const seen = new Map<QueueName, { readonly taken: number; readonly checks: number }>();

  async function check(): Promise<void> {
    for (const { queue, taken, isFull } of queues.progress()) {
      const last = seen.get(queue);
      const waiting = await queues.waiting(queue).catch(() => 0);
      const isIdle = waiting > 0 && !isFull && last?.taken === taken;
      const checks = isIdle ? last.checks + 1 : 0;
      seen.set(queue, { taken, checks });
      if (checks < maxIdleChecks) continue;
      const seconds = Math.round((maxIdleChecks * paceMs) / 1_000);
      fail(
        new WorkerIdle(
          `The worker of the queue ${queue} has taken no job for ${seconds} s although ${waiting} wait, so the process ends: it has to be started again.`,
        ),
      );
    }
  }

  return startLoop({ name: 'Checking that jobs are taken', everyMs: paceMs, log, job: check });
}

/** As an uncaught exception, which stops the process in order, with an exit code other than 0. */
function failProcess(error: WorkerIdle): void {
  setImmediate(() => {
    throw error;
  });
}
