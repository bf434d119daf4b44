import type { Context } from '../src/context.ts';
import { createDispatcher } from '../src/ledger/dispatcher.ts';
import type { LedgerTiming } from '../src/ledger/ledger.ts';
import type { AccountLimits } from '../src/ledger/limits.ts';
import { ServiceError } from '../src/service/client.ts';
import type { OnAnswer } from '../src/sync/finding.ts';
import type { ThreadLook } from '../src/sync/thread-look.ts';

export interface SendWork {
  /** A send was planned: it is looked for now, not at the next look. */
  kick(): void;
  /** Takes no more, and waits for the sends in hand: a request that is out is not cut off. */
  close(deadlineMs: number): Promise<void>;
}

export interface SendWorkOptions {
  readonly timing?: Partial<LedgerTiming>;
  readonly limits?: () => Partial<AccountLimits>;
  /** Milliseconds between two looks for sends that are due. */
  readonly everyMs?: number;
}

const everyMs = 500;

/** Bells are topped up to so many: a long backlog stays in Postgres, where a pause still reaches it. */
const mostWaiting = 50;

/** Works the queue of sends, and rings for those that are due: nothing but the ledger's rows says which. */
export function startSends(
  context: Context,
  { onAnswer, look: lookAtThread }: { readonly onAnswer: OnAnswer; readonly look: ThreadLook },
  options: SendWorkOptions = {},
): SendWork {
  const { database, queues, ringer, service, log, pauses, settings } = context;
  if (!service) throw new Error('Sends need a service');
  const { db } = database;
  const onRings = ringer.ring;
  const dispatcher = createDispatcher({
    db,
    log,
    messages: service.messages,
    look: lookAtThread,
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
    onRings,
    ...(options.limits && { limits: options.limits }),
    ...(options.timing && { timing: options.timing }),
  });

  const worker = queues.work('sends', {}, async ({ key }) => void (await dispatcher.turn(key)));
  let isFailing = false;
  let current: Promise<void> | undefined;
  let isWanted = false;
  let isClosed = false;
  const timer = setInterval(look, options.everyMs ?? everyMs);

  /** One round at a time; what is planned during one is looked for by one more. */
  function look(): void {
    if (isClosed) return;
    isWanted = true;
    current ??= rounds().finally(() => {
      current = undefined;
    });
  }

  async function rounds(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      await round();
    }
  }

  async function round(): Promise<void> {
    try {
      const room = mostWaiting - (await queues.waiting('sends'));
      const due = room > 0 ? await dispatcher.sweep(room) : [];
      await queues.ring(
        'sends',
        due.map((key) => ({ kind: 'send', key })),
      );
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'The sends that are due could not be looked for; it goes on trying');
      isFailing = true;
    }
  }

  return {
    kick: look,
    async close(deadlineMs) {
      clearInterval(timer);
      isClosed = true;
      isWanted = false;
      await Promise.all([current, worker.close(deadlineMs)]);
    },
  };
}
