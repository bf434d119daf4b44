import type { QueueName } from '../../config/queues.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { queueOf, type Ringer } from './ringer.ts';
import { overdueTargets, type TargetKind, targetKinds } from './targets.ts';

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
}

export const defaultSweepPace: SweepPace = { everyMs: 1_000, lostAfterMs: 5_000, mostWaiting: 1_000 };

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
    for (const [queue, kinds] of kindsOfQueues) {
      const room = pace.mostWaiting - (await queues.waiting(queue));
      if (room <= 0) continue;
      const overdue = await overdueTargets(db, kinds, room, pace.lostAfterMs);
      ringer.ring(overdue.map((target) => ({ ...target, afterMs: 0 })));
      rung += overdue.length;
    }
    return rung;
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

const kindsOfQueues = Map.groupBy(targetKinds, (kind: TargetKind) => queueOf[kind]);
