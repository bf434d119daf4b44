import { setTimeout as sleep } from 'node:timers/promises';
import { apiKey, type Credential, ServiceError } from '../api-client/client.ts';
import { createOAuth } from '../api-client/oauth/oauth.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { credentialConnections } from '../db/limits.ts';
import type { Log } from '../shared/log.ts';
import { createRefresher, loginRequired, type RefreshRequest, retryLater } from './refresher.ts';
import { type KeySettings, type Sealer, tokenSealer, WrongEncryptionKey } from './sealer.ts';
import { readTokens, type StoredTokens } from './tokens.ts';

/** The tokens as cached by one process; times in milliseconds of its own clock. */
interface Held {
  readonly tokens: StoredTokens;
  readonly header: string;
  readonly readAt: number;
  readonly renewAt: number;
  readonly endsAt: number;
}

/** How long before it expires a token is replaced: 60 to 90 s, so that processes take turns, but at most a third of its lifetime. */
const aheadMs = 60_000;
const aheadSpreadMs = 30_000;
const aheadShare = 1 / 3;
/** A token that is valid for longer than this is used while the next one is fetched. */
const enoughMs = 5_000;
/** How long tokens are cached before they are read again: another process or a login may have replaced them. */
const cacheMs = 10_000;
/** How long a failure is cached, and how soon a new login is noticed. */
const failureCacheMs = 1_000;

/**
 * The stored tokens as a credential: cached in memory, re-read every 10 s, and refreshed before they expire or when the
 * service refuses them. Rejects with `ServiceError`: advice `credential` when somebody has to log in, `retry`
 * otherwise. `service` is its base address as stored with the login; `idle` resolves when this process is not refreshing.
 */
function createLoginCredential(
  db: Database,
  sealer: Sealer,
  service: string,
  refresh: (request: RefreshRequest) => Promise<StoredTokens>,
): Credential & { idle(): Promise<void> } {
  let held: Held | undefined;
  let reading: Promise<Held> | undefined;
  let renewing: { readonly of: string; readonly next: Promise<Held> } | undefined;
  /** The last header that the service refused: never used again, even if it has not expired. */
  let refusedHeader: string | undefined;
  let failure: { readonly error: unknown; readonly until: number } | undefined;

  function hold(tokens: StoredTokens): Held {
    if (tokens.service !== service) {
      throw loginRequired('the login is for another service than API_BASE_URL');
    }
    const now = performance.now();
    const ahead = Math.min(aheadMs + Math.random() * aheadSpreadMs, tokens.lifetimeMs * aheadShare);
    const endsAt = now + tokens.leftMs;
    // A failure applies only to the tokens that caused it.
    if (tokens.version !== held?.tokens.version) failure = undefined;
    held = { tokens, header: `Bearer ${tokens.accessToken}`, readAt: now, renewAt: endsAt - ahead, endsAt };
    return held;
  }

  /** Caches a failure briefly, so that many requests do not each query Postgres. */
  function fail(error: unknown): never {
    const failed = error instanceof ServiceError ? error : errorOfStore(error);
    const restMs =
      failed.advice === 'retry' ? Math.min(failed.retryAfterMs ?? failureCacheMs, cacheMs) : failureCacheMs;
    failure = { error: failed, until: performance.now() + restMs };
    throw failed;
  }

  async function read(): Promise<Held> {
    try {
      const tokens = await readTokens(db, sealer);
      if (tokens === undefined) throw loginRequired('nobody is logged in');
      return hold(tokens);
    } catch (error) {
      const isUnreachable = !(error instanceof ServiceError) && !(error instanceof WrongEncryptionKey);
      // Keep using the cached token while Postgres is unreachable.
      if (held && isUnreachable) return held;
      held = undefined;
      return fail(error);
    }
  }

  async function current(): Promise<Held> {
    if (held && performance.now() - held.readAt < cacheMs) return held;
    if (!held && failure && performance.now() < failure.until) throw failure.error;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  function renewal(request: RefreshRequest): Promise<Held> {
    if (renewing?.of === request.accessToken) return renewing.next;
    const next = refresh(request)
      .then(hold)
      .catch((error: unknown) => {
        if (held) held = { ...held, readAt: performance.now() - cacheMs + failureCacheMs };
        return fail(error);
      });
    const own = { of: request.accessToken, next };
    renewing = own;
    const forget = () => {
      if (renewing === own) renewing = undefined;
    };
    next.then(forget, forget);
    return next;
  }

  return {
    async authorization() {
      const now = await current();
      const { tokens, header, renewAt, endsAt } = now;
      const isRefused = header === refusedHeader;
      if (!isRefused && performance.now() < renewAt) return header;
      const isUsable = !isRefused && performance.now() < endsAt;
      const isResting = tokens.state === 'lost' || (failure !== undefined && performance.now() < failure.until);
      if (isResting) {
        if (isUsable) return header;
        throw failure?.error ?? loginRequired(tokens.lastError ?? 'the login is lost');
      }
      const next = renewal({ accessToken: tokens.accessToken, isRefused });
      if (!isUsable || performance.now() > endsAt - enoughMs) return (await next).header;
      next.catch(() => undefined);
      return header;
    },

    async renew(refused) {
      refusedHeader = refused;
      if (held && held.header !== refused) return true;
      await renewal({ accessToken: refused.replace(/^Bearer /, ''), isRefused: true });
      return true;
    },

    async idle() {
      await renewing?.next.catch(() => undefined);
    },
  };
}

function errorOfStore(error: unknown): ServiceError {
  if (!(error instanceof WrongEncryptionKey)) {
    return retryLater('the stored tokens cannot be read', failureCacheMs, error);
  }
  return new ServiceError('login_required', error.message, { operation: 'credential', effect: 'none', cause: error });
}

/** A credential for the API, and the address it is for. */
export interface OpenCredential {
  readonly kind: 'api_key' | 'login';
  readonly baseUrl: string;
  readonly credential: Credential;
  /** Waits up to 20 s for a refresh in progress: losing its answer costs another login. */
  close(): Promise<void>;
}

/** Longer than a refresh waits for the lock. */
const statementMs = 20_000;
/** Longer than for other requests, because a lost answer costs another login. */
const answerMs = 60_000;
const closeMs = 20_000;

/** The base address of a service as stored with a login. */
export function serviceName(baseUrl: string): string {
  return new URL(baseUrl).href.replace(/\/+$/, '');
}

/** The API key if set, else the login's tokens; undefined without API_BASE_URL, or without API_KEY and ENCRYPTION_KEY. */
export function openCredential(
  settings: KeySettings & {
    readonly api: { readonly baseUrl: string | undefined; readonly key: string | undefined };
    readonly databaseUrl: string;
  },
  log: Log,
): OpenCredential | undefined {
  const { api, databaseUrl } = settings;
  const { baseUrl, key } = api;
  if (baseUrl === undefined) return undefined;
  if (key !== undefined) {
    return { kind: 'api_key', baseUrl, credential: apiKey(key), close: () => Promise.resolve() };
  }
  const sealer = tokenSealer(settings);
  if (sealer === undefined) return undefined;
  const database = createDatabase({
    url: databaseUrl,
    log,
    maxConnections: credentialConnections,
    name: 'credentials',
    statementMs,
  });
  const { db } = database;
  const oauth = createOAuth({ baseUrl, log, limits: { headersMs: answerMs, answerMs } });
  const closing = new AbortController();
  const refresh = createRefresher({ db, sealer, oauth, log, signal: closing.signal });
  const credential = createLoginCredential(db, sealer, serviceName(baseUrl), refresh);
  return {
    kind: 'login',
    baseUrl,
    credential,
    async close() {
      await Promise.race([credential.idle(), sleep(closeMs, undefined, { ref: false, signal: closing.signal })]);
      closing.abort();
      await Promise.allSettled([oauth.close()]);
      await database[Symbol.asyncDispose]();
    },
  };
}
