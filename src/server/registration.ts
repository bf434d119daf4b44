import type { Settings } from '../../config/settings.ts';
import { ServiceError } from '../api-client/client.ts';
import type { Context } from '../context.ts';
import { backoffMs } from '../shared/backoff.ts';
import { startLoop } from '../shared/loop.ts';
import { ensureSubscriptions, leaveSubscriptions } from '../sync/subscriptions/ensure.ts';

export interface Registration {
  /** False if there is no service to register at. */
  readonly isUnderWay: boolean;
  stop(): Promise<void>;
}

/** Milliseconds between two checks of the subscriptions; and the first wait after a check that failed, which doubles. */
export interface CheckPace {
  readonly everyMs: number;
  readonly firstRetryMs: number;
}

const defaultPace: CheckPace = { everyMs: 60_000, firstRetryMs: 5_000 };

/**
 * Registers the webhooks of this receiver, and checks and repairs them each minute. The receiver serves meanwhile. Without
 * an API or credentials it logs one warning and registers nothing.
 */
export function startRegistration(
  context: Context,
  publicUrl: string,
  secret: string,
  { everyMs, firstRetryMs } = defaultPace,
): Registration {
  const { service, database, log, settings, processId, sealLink } = context;
  if (!service) {
    log.warn(`PUBLIC_URL is set, but this receiver registers no webhook: it lacks ${lackingOf(settings)}`);
    return { isUnderWay: false, stop: () => Promise.resolve() };
  }
  const { previousSecret } = settings.receiver;
  const deps = { service, db: database.db, log, publicUrl, secret, previousSecret, processId, sealLink };
  const loop = startLoop({
    name: 'Checking the webhook subscriptions',
    everyMs,
    log,
    job: () => ensureSubscriptions(deps).catch(withScope),
    retryAfterMs: (failures) => backoffMs({ firstMs: firstRetryMs, maxMs: everyMs }, failures),
  });
  void loop.kick();
  return {
    isUnderWay: true,
    async stop() {
      await loop.stop();
      // Without Postgres, the other receivers notice within minutes.
      await leaveSubscriptions(deps).catch(() => undefined);
    },
  };
}

function withScope(error: unknown): never {
  const scope = error instanceof ServiceError ? error.scope : undefined;
  throw scope === undefined ? error : new Error(`The credential needs the scope ${scope}`, { cause: error });
}

function lackingOf({ api, encryptionKey }: Settings): string {
  const lacking = [
    ...(api.baseUrl === undefined ? ['API_BASE_URL'] : []),
    ...(api.key === undefined && encryptionKey === undefined ? ['API_KEY (or ENCRYPTION_KEY, for a login)'] : []),
  ];
  return lacking.join(' and ');
}
