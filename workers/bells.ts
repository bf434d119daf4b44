import { type QueueName, queueSettings } from '../config/queues.ts';
import type { Target } from '../src/inbox/target.ts';
import type { BellHandler } from '../src/queues/worker.ts';
import type { Sync } from '../src/sync/sync.ts';

/**
 * A bell is a turn of its target. While all handlers of its queue are busy there is a backlog, and the queue itself becomes
 * what it waits for: then whoever has mirrored its target goes on with what is due longest, and gives the bell back when
 * nothing is left, or when `closing` fires. The bells passed by find nothing owed. Whatever does not end well goes no
 * further: the service may be resting.
 */
export function answerBells(sync: Pick<Sync, 'turn' | 'next'>, queue: QueueName, closing: AbortSignal): BellHandler {
  const { handlers } = queueSettings[queue];
  let busy = 0;
  const isBacklog = (signal: AbortSignal) => busy >= handlers && !closing.aborted && !signal.aborted;

  return async (bell, signal) => {
    busy += 1;
    try {
      const own = await sync.turn(bell as Target, signal);
      // A bell that was passed by finds nothing owed, and is as good as any other for going on.
      let goesOn = own === 'mirrored' || own === 'nothing_owed';
      while (goesOn && isBacklog(signal)) goesOn = (await sync.next(queue, signal)) === 'mirrored';
    } finally {
      busy -= 1;
    }
  };
}
