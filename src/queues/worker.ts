import type { Log } from '../log.ts';
import type { BellData } from './bell.ts';
import { withPatience } from './patience.ts';
import type { BullWorker, QueueStore, WorkerTuning } from './store.ts';
import type { Trouble } from './trouble.ts';

/** Looks at one target. The signal fires when the work is no longer ours: the lock was lost, or the deadline is over. */
export type BellHandler = (bell: BellData, signal: AbortSignal) => Promise<void>;

export interface QueueWorker {
  /**
   * Takes no more bells, waits for the running handlers, and frees the connections; with none running it waits for the
   * store no longer than a moment. Shortly before `deadlineMs` it aborts the handlers' signal, and then resolves, whether
   * or not the store can be reached: another worker gets what was not finished.
   */
  close(deadlineMs: number): Promise<void>;
}

/** How much of a deadline is left to cancelled handlers to end in. */
const cancelMs = 1_000;
/** How long a store is waited for when nothing runs: it may be away, and what it was not told is found out by its locks. */
const storeMs = 1_000;
const lookMs = 50;

export function createQueueWorker(
  store: QueueStore,
  queue: string,
  tuning: WorkerTuning,
  handler: BellHandler,
  trouble: Trouble,
  log: Log,
): QueueWorker {
  let running = 0;
  let idleSince = 0;
  const worker: BullWorker = store.openWorker(
    queue,
    // The library hands out a signal only to a processor that declares all three.
    async (job, _token, signal) => {
      trouble.isOver();
      running += 1;
      try {
        await handler(job.data, signal ?? new AbortController().signal);
      } finally {
        running -= 1;
        idleSince = performance.now();
      }
    },
    tuning,
  );
  worker.on('error', trouble.report);
  worker.on('failed', (job, err) =>
    log.warn({ err, queue, kind: job?.name }, 'a handler failed; its target stays due'),
  );

  let closing: Promise<void> | undefined;
  async function close(deadlineMs: number): Promise<void> {
    const closed = worker.close().then(() => true);
    const forCancelled = Math.min(cancelMs, deadlineMs / 2);
    const deadline = performance.now() + deadlineMs - forCancelled;
    idleSince = performance.now();
    const isIdle = () => running === 0 && performance.now() - idleSince > storeMs;
    while (performance.now() < deadline && !isIdle()) {
      if (await withPatience(lookMs, closed, () => false)) return;
    }
    if (running > 0) {
      log.warn({ queue }, 'a worker was still busy at its deadline; what it did not finish is taken over');
      worker.cancelAllJobs('the worker is closing');
      // A handler that ends now still gives its job back; one that does not is noticed by its lock.
      if (await withPatience(forCancelled, closed, () => false)) return;
    }
    void worker.disconnect().catch(() => undefined);
  }

  return {
    close(deadlineMs) {
      closing ??= close(deadlineMs);
      return closing;
    },
  };
}
