import pLimit from 'p-limit';
import { ServiceError } from '../src/api-client/client.ts';
import type { Context } from '../src/context.ts';
import { createDispatcher } from '../src/ledger/dispatcher.ts';
import { beat } from '../src/shared/beat.ts';
import { startLoop } from '../src/shared/loop.ts';
import { withTimeout } from '../src/shared/timeout.ts';
import type { RefreshThread } from '../src/sync/read-thread-now.ts';

export interface SendWork {
  /** Takes up due sends now. Called when a send was planned. */
  kick(): void;
  /** Takes no more sends, and waits for sends in progress: a request that has left isn't aborted. */
  close(deadlineMs: number): Promise<void>;
}

/** Milliseconds between two checks of sends in progress, and without any. `workers/due-work.ts` notices a new one. */
const [everyMs, idleMs] = [5_000, 300_000];

/** Sends that one process advances at the same time. */
const atATime = 4;
/** Maximum sends that a process takes up. A longer backlog stays in Postgres, where a pause still stops it. */
const maxInHand = 50;

/** Advances the sends that are due according to the ledger. */
export function startSends(context: Context, readThread: RefreshThread): SendWork {
  const { database, notifier, service, log, settings } = context;
  if (!service) throw new Error('Sends need a service');
  const { db } = database;
  const notify = notifier.notify;
  const dispatcher = createDispatcher({
    db,
    log,
    messages: service.messages,
    readThread,
    isBlocked: async (line, number) => {
      try {
        await service.lines.blocked(line, number);
        return true;
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'not_found') return false;
        throw error;
      }
    },
    mode: settings.rulesMode,
    notify,
  });

  const inHand = new Map<string, Promise<unknown>>();
  const limit = pLimit(atATime);
  let isClosing = false;
  let isIdle = false;
  const loop = startLoop({
    name: 'Advancing due sends',
    everyMs: () => (isIdle ? idleMs : everyMs),
    log,
    async job() {
      isIdle = false;
      if (inHand.size >= maxInHand) return;
      isIdle = !(await dispatcher.hasWork());
      if (isIdle) return;
      const due = await dispatcher.sweep(maxInHand - inHand.size);
      for (const sendId of due) if (!inHand.has(sendId)) begin(sendId);
    },
  });

  function begin(sendId: string): void {
    const advanced = beat
      .busy(limit(async () => (isClosing ? undefined : dispatcher.advance(sendId))))
      .catch((err: unknown) => log.warn({ err, sendId }, 'A send could not be advanced; it stays due'))
      .finally(() => inHand.delete(sendId));
    inHand.set(sendId, advanced);
  }

  return {
    kick: () => void loop.kick(),
    async close(deadlineMs) {
      isClosing = true;
      await loop.stop();
      const ended = Promise.all(inHand.values());
      await withTimeout(deadlineMs, ended, () => log.warn('Sends were still in hand at the deadline'));
    },
  };
}
