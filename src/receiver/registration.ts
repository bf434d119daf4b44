import type { Context } from '../context.ts';
import { ensureSubscriptions } from '../sync/subscriptions.ts';

export interface Registration {
  stop(): Promise<void>;
}

/** A service that cannot be asked yet is asked again; with these pauses, in milliseconds. */
const firstPause = 5_000;
const longestPause = 60_000;

/** Registers the webhooks of this receiver, for as long as it takes; the receiver serves meanwhile. */
export function startRegistration(context: Context, publicUrl: string, secret: string): Registration {
  const { service, database, log, settings } = context;
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let pause = firstPause;

  async function attempt(): Promise<void> {
    if (!service) return;
    try {
      const { previousSecret } = settings.receiver;
      await ensureSubscriptions({ service, db: database.db, log, publicUrl, secret, previousSecret });
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.warn({ err: error }, 'The webhook subscriptions could not be looked at; it is tried again');
      timer = setTimeout(() => {
        current = attempt();
      }, pause);
      pause = Math.min(pause * 2, longestPause);
    }
  }

  let current = attempt();
  return {
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await current;
    },
  };
}
