import type { Settings } from '../../config/settings.ts';
import type { Context } from '../context.ts';
import { ServiceError } from '../service/client.ts';
import { ensureSubscriptions, leaveSubscriptions } from '../sync/subscriptions/ensure.ts';

export interface Registration {
  /** False where there is no service to register at. */
  readonly isUnderWay: boolean;
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
 * service is repaired where that is allowed. The receiver serves meanwhile. Without an API, or something to show it, that is
 * said once and nothing is registered.
 */
export function startRegistration(
  context: Context,
  publicUrl: string,
  secret: string,
  pace: WatchPace = defaultPace,
): Registration {
  const { service, database, log, settings, processId, sealLink } = context;
  if (!service) {
    log.warn(`PUBLIC_URL is set, but this receiver registers no webhook: it lacks ${lackingOf(settings)}`);
    return { isUnderWay: false, stop: () => Promise.resolve() };
  }
  const { previousSecret } = settings.receiver;
  const parts = { service, db: database.db, log, publicUrl, secret, previousSecret, processId, sealLink };
  let isStopping = false;
  let isFailing = false;
  let pause = pace.firstPauseMs;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<number> {
    try {
      await ensureSubscriptions(parts);
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
    isUnderWay: true,
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await current;
      // Postgres can be away: then the others find out in a few minutes.
      await leaveSubscriptions(parts).catch(() => undefined);
    },
  };
}

function lackingOf({ api, encryptionKey }: Settings): string {
  const lacking = [
    ...(api.baseUrl === undefined ? ['API_BASE_URL'] : []),
    ...(api.key === undefined && encryptionKey === undefined ? ['API_KEY (or ENCRYPTION_KEY, for a log in)'] : []),
  ];
  return lacking.join(' and ');
}
