import type { QueueName } from '../../config/queues.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { isStrained, overdueTargets } from './claims.ts';
import { kindsOfQueues, type Ringer } from './ringer.ts';
import { type Priority, priorities, type TargetKind } from './target.ts';

/** Rings again for what is due and unread: what the queue lost, and what has only now become due. */
export interface Sweep {
  /** One round; answers with how many bells it rang. */
  once(): Promise<number>;
  stop(): Promise<void>;
}

export interface SweepPace {
  /** Between two rounds. */
  readonly everyMs: number;
  /** A bell that was not answered for so long is taken for lost. */
  readonly lostAfterMs: number;
  /** The queue is topped up to so many waiting jobs, never beyond: a long backlog stays in Postgres. */
  readonly mostWaiting: number;
  /**
   * History is rung only while fewer bells than these wait: it goes on when there is nothing else to do. While what happens
   * now is put off, one at a time.
   */
  readonly mostHistoryWaiting: number;
}

export const defaultSweepPace: SweepPace = {
  everyMs: 1_000,
  lostAfterMs: 5_000,
  mostWaiting: 1_000,
  mostHistoryWaiting: 100,
};

export function createSweep(
  parts: {
    db: Database;
    ringer: Ringer;
    queues: { waiting(queue: QueueName): Promise<number> };
    log: Log;
  },
  pace: SweepPace = defaultSweepPace,
): Sweep {
  const { db, ringer, queues, log } = parts;
  let isFailing = false;
  let isSweeping = false;
  let current = Promise.resolve();

  async function once(): Promise<number> {
    let rung = 0;
    const mostHistory = (await isStrained(db)) ? 1 : pace.mostHistoryWaiting;
    for (const [queue, kinds] of kindsOfQueues) {
      const waiting = await queues.waiting(queue);
      rung += await ringOverdue(kinds, priorities.live, pace.mostWaiting - waiting);
      rung += await ringOverdue(kinds, priorities.history, mostHistory - waiting);
    }
    return rung;
  }

  async function ringOverdue(kinds: readonly TargetKind[], priority: Priority, most: number): Promise<number> {
    if (most <= 0) return 0;
    const overdue = await overdueTargets(db, { kinds, priority, most }, pace.lostAfterMs);
    ringer.ring(overdue.map((target) => ({ ...target, afterMs: 0, priority })));
    return overdue.length;
  }

  async function round(): Promise<void> {
    try {
      await once();
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'The sweep could not look for overdue targets; it goes on trying');
      isFailing = true;
    }
  }

  const timer = setInterval(() => {
    if (isSweeping) return;
    isSweeping = true;
    current = round().finally(() => {
      isSweeping = false;
    });
  }, pace.everyMs);

  return {
    once,
    async stop() {
      clearInterval(timer);
      await current;
    },
  };
}
