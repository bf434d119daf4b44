import type { Settings } from '../../../config/settings.ts';
import { type Service, ServiceError } from '../../api-client/client.ts';
import type { OpenDatabase } from '../../db/database.ts';
import { backoffMs } from '../../shared/backoff.ts';
import type { Log } from '../../shared/log.ts';
import { startLoop } from '../../shared/loop.ts';
import { ensureSubscriptions } from './ensure.ts';
import { checkSeconds } from './store.ts';

export interface WebhookRegistration {
  /** False without an API or credentials. */
  readonly isStarted: boolean;
  stop(): Promise<void>;
}

const everyMs = checkSeconds * 1_000;
/** Milliseconds before the first retry of a failed check. Further retries double it. */
const firstRetryMs = 5_000;

/**
 * Registers the webhooks of this receiver in the background, and checks and repairs them every half minute. Without an
 * API or credentials, logs one warning and registers nothing.
 */
export function startWebhookRegistration(
  {
    service,
    database,
    log,
    settings: { api, receiver },
  }: {
    readonly service: Service | undefined;
    readonly database: OpenDatabase;
    readonly log: Log;
    readonly settings: Pick<Settings, 'api' | 'receiver'>;
  },
  publicUrl: string,
  secret: string,
): WebhookRegistration {
  if (!service) {
    const missing = [api.baseUrl === undefined && 'API_BASE_URL', api.key === undefined && 'API_KEY'];
    log.warn(`PUBLIC_URL is set, but no webhook is registered: set ${missing.filter(Boolean).join(' and ')}`);
    return { isStarted: false, stop: () => Promise.resolve() };
  }
  const { previousSecret } = receiver;
  const deps = { service, db: database.db, log, publicUrl, secret, previousSecret };
  let isFirst = true;
  async function check(): Promise<void> {
    await ensureSubscriptions({ ...deps, isFirst }).catch(withScope);
    isFirst = false;
  }

  const loop = startLoop({
    name: 'Checking the webhook subscriptions',
    everyMs,
    log,
    job: check,
    retryAfterMs: (failures) => backoffMs({ firstMs: firstRetryMs, maxMs: everyMs }, failures),
  });
  void loop.kick();
  return { isStarted: true, stop: loop.stop };
}

function withScope(error: unknown): never {
  const scope = error instanceof ServiceError ? error.scope : undefined;
  throw scope === undefined ? error : new Error(`The API key needs the scope ${scope}`, { cause: error });
}
