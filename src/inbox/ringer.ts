import type { QueueName } from '../../config/queues.ts';
import type { Log } from '../log.ts';
import type { Bell } from '../queues/bell.ts';
import { withPatience } from '../queues/patience.ts';
import { type Priority, priorities, type Ring, type Target, type TargetKind, targetKinds } from './target.ts';

/** The queue whose workers read a kind of target. */
export const queueOf: Readonly<Record<TargetKind, QueueName>> = {
  thread: 'conversations',
  call: 'calls',
  recordings: 'calls',
  transcripts: 'transcripts',
  users: 'directory',
  lines: 'directory',
};

/** What the workers of a queue read. */
export const kindsOfQueues: ReadonlyMap<QueueName, readonly TargetKind[]> = Map.groupBy(
  targetKinds,
  (kind: TargetKind) => queueOf[kind],
);

/** Tells the queue that targets are due. Best effort: what is lost here, the sweep rings again. */
export interface Ringer {
  /** Returns at once; the queue is told in the background, each target once. */
  ring(rings: readonly Ring[]): void;
  /** Resolves when all bells that are due have been rung or given up. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

type Waiting = Map<string, Bell>;

const mostAtOnce = 500;

/** What a queue that hangs has not taken by then, in milliseconds, is left to the sweep of another process. */
const closePatience = 500;

export function createRinger(
  queues: { ring(queue: QueueName, bells: readonly Bell[]): Promise<void> },
  log: Log,
): Ringer {
  const waiting = new Map<QueueName, Waiting>();
  const ringing = new Map<QueueName, Promise<void>>();
  const timers = new Map<string, { readonly at: number; readonly timer: NodeJS.Timeout }>();
  let isSilent = false;

  function enqueue(target: Target, priority: Priority = priorities.live): void {
    const queue = queueOf[target.kind];
    const targets = waiting.get(queue) ?? new Map<string, Bell>();
    waiting.set(queue, targets);
    targets.set(`${target.kind} ${target.key}`, {
      kind: target.kind,
      key: target.key,
      ...(priority !== priorities.live && { isUrgent: false }),
    });
    if (!ringing.has(queue)) ringing.set(queue, ringAll(queue, targets));
  }

  async function ringAll(queue: QueueName, targets: Waiting): Promise<void> {
    // Bells of one turn of the event loop travel together.
    await Promise.resolve();
    while (targets.size > 0) {
      const some = [...targets.entries()].slice(0, mostAtOnce);
      for (const [id] of some) targets.delete(id);
      try {
        await queues.ring(
          queue,
          some.map(([, target]) => target),
        );
        if (isSilent) log.info({ queue }, 'The queue takes bells again');
        isSilent = false;
      } catch (error) {
        if (!isSilent) log.warn({ queue, err: error }, 'The queue takes no bells; the sweep will ring when it does');
        isSilent = true;
      }
    }
    // Without a pause after the last look: a bell that comes from here on begins anew.
    ringing.delete(queue);
  }

  return {
    ring(rings) {
      for (const { afterMs, priority, ...target } of rings) {
        if (afterMs <= 0) {
          enqueue(target, priority);
          continue;
        }
        const id = `${target.kind} ${target.key}`;
        const at = performance.now() + afterMs;
        const set = timers.get(id);
        if (set && set.at <= at) continue;
        clearTimeout(set?.timer);
        const timer = setTimeout(() => {
          timers.delete(id);
          enqueue(target, priority);
        }, afterMs);
        timers.set(id, { at, timer });
      }
    },
    async idle() {
      while (ringing.size > 0) await Promise.all(ringing.values());
    },
    async close() {
      for (const { timer } of timers.values()) clearTimeout(timer);
      timers.clear();
      await withPatience(closePatience, this.idle(), () => {
        for (const targets of waiting.values()) targets.clear();
      });
    },
  };
}
