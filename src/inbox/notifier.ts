import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueName } from '../../config/queues.ts';
import type { TargetJob } from '../queues/backend.ts';
import type { Queues } from '../queues/queues.ts';
import { beat } from '../shared/beat.ts';
import type { Log } from '../shared/log.ts';
import { withTimeout } from '../shared/timeout.ts';
import type { DirectoryKind } from '../warehouse/directory.ts';
import { type DueTarget, type Target, type TargetKind, targetId, targetKinds } from './targets.ts';

/** The queue whose workers read a kind of target. */
export function queueOf(kind: TargetKind): QueueName {
  switch (kind) {
    case 'thread':
      return 'conversations';
    case 'call':
    case 'recordings':
      return 'calls';
    case 'transcripts':
      return 'transcripts';
    default:
      kind satisfies DirectoryKind;
      return 'directory';
  }
}

/** The kinds that the workers of each queue read. */
export const kindsOfQueues: ReadonlyMap<QueueName, readonly TargetKind[]> = Map.groupBy(targetKinds, queueOf);

/** Enqueues due targets, as best effort: the sweep reads whatever is lost here. */
export interface Notifier {
  /** Enqueues the targets in the background, each once. */
  notify(due: readonly DueTarget[]): void;
  /** Resolves when all due targets have been enqueued or given up. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const maxAtOnce = 500;
/** Milliseconds after a failure before a queue is tried again. */
const failedRestMs = 5_000;

/** Milliseconds that `close` waits for a queue that doesn't answer; the sweep reads the rest. */
const closeMs = 500;

export function createNotifier(queues: Pick<Queues, 'enqueue'>, log: Log): Notifier {
  const waiting = new Map<QueueName, Map<string, TargetJob>>();
  const enqueuing = new Map<QueueName, Promise<void>>();
  const timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  let isFailing = false;

  function enqueue({ kind, key }: Target): void {
    const queue = queueOf(kind);
    const targets = waiting.get(queue) ?? new Map<string, TargetJob>();
    waiting.set(queue, targets);
    targets.set(targetId({ kind, key }), { kind, key });
    if (!enqueuing.has(queue)) enqueuing.set(queue, beat.busy(enqueueAll(queue, targets)));
  }

  async function enqueueAll(queue: QueueName, targets: Map<string, TargetJob>): Promise<void> {
    // Let targets of the same event-loop tick share one request.
    await Promise.resolve();
    while (targets.size > 0) {
      const some = [...targets].slice(0, maxAtOnce);
      for (const [id] of some) targets.delete(id);
      try {
        await queues.enqueue(
          queue,
          some.map(([, target]) => target),
        );
        if (isFailing) log.info({ queue }, 'The queue accepts jobs again');
        isFailing = false;
      } catch (error) {
        if (!isFailing)
          log.warn(
            { queue, err: error },
            'The queue accepts no jobs; targets are read without them, some seconds later',
          );
        isFailing = true;
        // Targets that become due during the pause join the next try. The sweep reads them anyway.
        await sleep(failedRestMs, undefined, { ref: false });
      }
    }
    // No await since the last check of `targets`: a target added later starts a new run.
    enqueuing.delete(queue);
  }

  return {
    notify(due) {
      for (const { afterMs, ...target } of due) {
        if (afterMs <= 0) {
          enqueue(target);
          continue;
        }
        const id = targetId(target);
        const at = beat.now() + afterMs;
        const set = timers.get(id);
        if (set && set.at <= at) continue;
        set?.cancel();
        const cancel = beat.after(afterMs, () => {
          timers.delete(id);
          enqueue(target);
        });
        timers.set(id, { at, cancel });
      }
    },
    async idle() {
      while (enqueuing.size > 0) await Promise.all(enqueuing.values());
    },
    async close() {
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
      await withTimeout(closeMs, this.idle(), () => {
        for (const targets of waiting.values()) targets.clear();
      });
    },
  };
}
