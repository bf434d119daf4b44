import type { Settings } from '../../config/settings.ts';
import { ServiceError } from '../api-client/client.ts';
import type { Context } from '../context.ts';
import { backoffMs } from '../shared/backoff.ts';
import { startLoop } from '../shared/loop.ts';
import { ensureSubscriptions } from '../sync/subscriptions/ensure.ts';
import { checkSeconds } from '../sync/subscriptions/store.ts';

export interface WebhookRegistration {
  /** False without an API or credentials. */
  readonly isStarted: boolean;
  stop(): Promise<void>;
}

/**
 * Milliseconds between two checks of the subscriptions, and before the first retry of a failed check. Further retries
 * double it.
 */
const defaultPace = { everyMs: checkSeconds * 1_000, firstRetryMs: 5_000 };

/**
 * Registers the webhooks of this receiver in the background, and checks and repairs them every half minute. Without an
 * API or credentials, logs one warning and registers nothing.
 */
export function startWebhookRegistration(
  context: Context,
  publicUrl: string,
  secret: string,
  { everyMs, firstRetryMs } = defaultPace,
): WebhookRegistration {
  const { service, database, log, settings, processId } = context;
  if (!service) {
    log.warn(`PUBLIC_URL is set, but no webhook is registered: set ${missingSettings(settings)}`);
    return { isStarted: false, stop: () => Promise.resolve() };
  }
  const { previousSecret } = settings.receiver;
  const deps = { service, db: database.db, log, publicUrl, secret, previousSecret, processId };
  const loop = startLoop({
    name: 'Checking the webhook subscriptions',
    everyMs,
    log,
    job: () => ensureSubscriptions(deps).catch(withScope),
    retryAfterMs: (failures) => backoffMs({ firstMs: firstRetryMs, maxMs: everyMs }, failures),
  });
  void loop.kick();
  return { isStarted: true, stop: loop.stop };
}

function withScope(error: unknown): never {
  const scope = error instanceof ServiceError ? error.scope : undefined;
  throw scope === undefined ? error : new Error(`The API key needs the scope ${scope}`, { cause: error });
}

function missingSettings({ api }: Settings): string {
  return [api.baseUrl === undefined && 'API_BASE_URL', api.key === undefined && 'API_KEY']
    .filter(Boolean)
    .join(' and ');
}
