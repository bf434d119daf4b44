import type { Context } from '../context.ts';
import { ServiceError } from '../service/client.ts';
import { ensureSubscriptions } from '../sync/subscriptions/ensure.ts';

export interface Registration {
  stop(): Promise<void>;
}

/** Milliseconds between two looks at the subscriptions; and after a look that failed, which is soon after the start. */
export interface WatchPace {
  readonly everyMs: number;
  readonly firstPauseMs: number;
}

const defaultPace: WatchPace = { everyMs: 60_000, firstPauseMs: 5_000 };

/**
 * Registers the webhooks of this receiver and looks at them each minute from then on; what somebody changed at the
 * service is repaired where that is allowed. The receiver serves meanwhile.
 */
export function startRegistration(
  context: Context,
  publicUrl: string,
  secret: string,
  pace: WatchPace = defaultPace,
): Registration {
  const { service, database, log, settings } = context;
  const { previousSecret } = settings.receiver;
  let isStopping = false;
  let isFailing = false;
  let pause = pace.firstPauseMs;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<number> {
    if (!service) return pace.everyMs;
    try {
      await ensureSubscriptions({ service, db: database.db, log, publicUrl, secret, previousSecret });
      isFailing = false;
      pause = pace.firstPauseMs;
      return pace.everyMs;
    } catch (error) {
      const scope = error instanceof ServiceError ? error.scope : undefined;
      if (!isFailing) {
        const cure = scope === undefined ? '' : `: the credential needs the scope ${scope}`;
        log.warn({ err: error }, `The webhook subscriptions could not be looked at${cure}; it is tried again`);
      }
      isFailing = true;
      const wait = pause;
      pause = Math.min(pause * 2, pace.everyMs);
      return wait;
    }
  }

  async function lookAndWait(): Promise<void> {
    const wait = await look();
    if (isStopping) return;
    timer = setTimeout(() => {
      current = lookAndWait();
    }, wait);
  }

  let current = lookAndWait();
  return {
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await current;
    },
  };
}
