import { ServiceError } from '../src/api-client/client.ts';
import type { Context } from '../src/context.ts';
import type { LedgerTiming } from '../src/ledger/context.ts';
import { createDispatcher } from '../src/ledger/dispatcher.ts';
import type { AccountLimits } from '../src/ledger/limits.ts';
import { startLoop } from '../src/shared/loop.ts';
import type { RefreshThread } from '../src/sync/read-thread-now.ts';
import type { OnAnswer } from '../src/warehouse/drift.ts';

export interface SendWork {
  /** Enqueues due sends now: one was planned. */
  kick(): void;
  /** Takes no more sends, and waits for those in hand: a request that has left is not cut off. */
  close(deadlineMs: number): Promise<void>;
}

export interface SendWorkOptions {
  readonly timing?: Partial<LedgerTiming>;
  readonly limits?: () => Partial<AccountLimits>;
  /** Milliseconds between two rounds of enqueuing due sends. */
  readonly everyMs?: number;
}

const everyMs = 500;

/** The queue is topped up to so many jobs: a long backlog stays in Postgres, where a pause still stops it. */
const maxWaiting = 50;

/** Enqueues the sends that the ledger's rows say are due, and works their queue. */
export function startSends(
  context: Context,
  { onAnswer, readThread }: { readonly onAnswer: OnAnswer; readonly readThread: RefreshThread },
  options: SendWorkOptions = {},
): SendWork {
  const { database, queues, notifier, service, log, pauses, settings } = context;
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
        onAnswer('lines.blocked', await service.lines.blocked(line, number));
        return true;
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'not_found') return false;
        throw error;
      }
    },
    actsFor: settings.api.key === undefined ? 'user' : 'account',
    mode: settings.rulesMode,
    pauses,
    notify,
    ...(options.limits && { limits: options.limits }),
    ...(options.timing && { timing: options.timing }),
  });

  const worker = queues.work('sends', {}, async ({ key }) => void (await dispatcher.advance(key)));
  const loop = startLoop({
    name: 'Enqueuing due sends',
    everyMs: options.everyMs ?? everyMs,
    log,
    async job() {
      if (!(await dispatcher.hasWork())) return;
      const free = maxWaiting - (await queues.waiting('sends'));
      const due = free > 0 ? await dispatcher.sweep(free) : [];
      await queues.enqueue(
        'sends',
        due.map((key) => ({ kind: 'send', key })),
      );
    },
  });

  return {
    kick: () => void loop.kick(),
    close: async (deadlineMs) => void (await Promise.all([loop.stop(), worker.close(deadlineMs)])),
  };
}
