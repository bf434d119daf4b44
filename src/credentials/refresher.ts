import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../api-client/client.ts';
import type { OAuth, Tokens } from '../api-client/oauth/oauth.ts';
import { type Database, isLockTimeout, query, sql } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { toType } from '../shared/command-name.ts';
import type { Log } from '../shared/log.ts';
import { protectWork } from '../shared/protected-work.ts';
import type { Sealer } from './sealer.ts';
import { markLost, markRefreshing, postponeRefresh, readTokens, type StoredTokens, storeRefreshed } from './tokens.ts';

const remedy = `log in with ${toType('auth login')}`;

/** Nobody is logged in any more: sync targets wait with this message until somebody logs in. */
export function loginRequired(why: string, cause?: unknown): ServiceError {
  return new ServiceError('login_required', `${why}: ${remedy}`, { operation: 'credential', effect: 'none', cause });
}

/** There is no usable token now, but a later try may get one. */
export function retryLater(why: string, retryAfterMs: number, cause?: unknown): ServiceError {
  const details = { operation: 'credential', advice: 'retry', effect: 'none', retryAfterMs, cause } as const;
  return new ServiceError('unauthenticated', why, details);
}

/** What a failed refresh means for the tokens. */
type RefreshFailure =
  /** The refresh token is still valid. */
  | { readonly kind: 'later'; readonly atLeastMs: number }
  /** The refresh token is used up, or may be. */
  | { readonly kind: 'lost'; readonly why: string };

/**
 * Classifies a failed refresh. Refresh tokens rotate (section 5.3), so a token that may be used up is never sent again. An
 * answer of 500 or 503 ends the request: the token can be sent again, and is refused if it was used. A failure before the
 * token was sent (`isSent`) does not affect it.
 */
function classifyFailure(error: unknown, isSent: boolean): RefreshFailure {
  if (!isSent) return { kind: 'later', atLeastMs: error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0 };
  if (!(error instanceof ServiceError)) return { kind: 'lost', why: 'the answer to the refresh is lost' };
  const { code, effect, status, retryAfterMs: atLeastMs = 0 } = error;
  if (effect === 'none') {
    const isRefused = code === 'unauthenticated' || code === 'insufficient_scope';
    return isRefused
      ? { kind: 'lost', why: 'the service does not take the refresh token any more' }
      : { kind: 'later', atLeastMs };
  }
  if (status === 500 || status === 503) return { kind: 'later', atLeastMs: Math.max(atLeastMs, 15_000) };
  return { kind: 'lost', why: 'the answer to the refresh is lost' };
}

/** The access token to replace. */
export interface RefreshRequest {
  readonly accessToken: string;
  /** The service refused it with 401. Otherwise it expires soon. */
  readonly isRefused: boolean;
}

interface RefresherDeps {
  /** Needs two free connections: one holds the lock while the other writes. */
  readonly db: Database;
  readonly sealer: Sealer;
  readonly oauth: Pick<OAuth, 'refresh'>;
  readonly log: Log;
  /** Stops retrying to store the outcome of a refresh. */
  readonly signal: AbortSignal;
}

/** Maximum wait for another process's refresh. */
const lockMs = 10_000;
/** Longer than any refresh takes: a process that hangs, or whose machine is gone, loses the lock. */
const holdMs = 180_000;
/** Consecutive refreshes caused by refused tokens, within a minute of each other: beyond this, the service is at fault. */
const maxRefusals = 5;
const refusalRestMs = 60_000;
const storeEveryMs = 1_000;

/**
 * Returns what refreshes tokens, one process at a time: the holder of the lock refreshes, the others use the tokens it stored.
 * It resolves to the tokens that replace the given one, fetched by this or another process. Rejects with `ServiceError`: advice
 * `credential` when only a login helps, otherwise `retry` with a wait.
 */
export function createRefresher({ db, sealer, oauth, log, signal }: RefresherDeps) {
  async function refreshLocked({ accessToken, isRefused }: RefreshRequest): Promise<StoredTokens> {
    const held = await readTokens(db, sealer);
    if (held === undefined) throw loginRequired('nobody is logged in');
    if (held.accessToken !== accessToken) return held;
    if (held.state === 'lost') throw loginRequired(held.lastError ?? 'the login is lost');
    if (held.state === 'refreshing') {
      // The refreshing process held this lock and is gone: its request may have been sent.
      return lose(held.version, 'the process that refreshed the tokens ended before it had the answer');
    }
    if (held.restMs > 0) throw retryLater(held.lastError ?? 'the last refresh failed', held.restMs);
    if (isRefused && held.refusals >= maxRefusals) {
      throw retryLater('the service refuses tokens that it has just issued', refusalRestMs);
    }
    const refusals = isRefused ? held.refusals + 1 : 0;
    const next = await fetchTokens(held);
    return next === 'superseded' ? refreshLocked({ accessToken, isRefused }) : store(held, refusals, next);
  }

  async function fetchTokens(held: StoredTokens): Promise<Tokens | 'superseded'> {
    const { version } = held;
    // Until the token is sent, neither a failure nor a kill can invalidate it.
    const token = { isMarked: false, isSent: false };
    const beforeSend = async () => {
      token.isMarked = true;
      endProtection ??= protectWork();
      if (!(await markRefreshing(db, version))) throw new Superseded();
      token.isSent = true;
    };
    try {
      return await oauth.refresh(held, held, beforeSend);
    } catch (error) {
      if (error instanceof Superseded) return 'superseded';
      const reason = error instanceof Error ? error.message : String(error);
      const failure = classifyFailure(error, token.isSent);
      if (failure.kind === 'lost') return lose(version, failure.why, error);
      const { atLeastMs } = failure;
      await persistently(() => postponeRefresh(db, { version, reason, atLeastMs, isMarked: token.isMarked }));
      log.warn({ err: error }, 'The tokens could not be refreshed; retrying later');
      throw retryLater('the tokens could not be refreshed', Math.max(atLeastMs, 5_000), error);
    }
  }

  async function store(held: StoredTokens, refusals: number, tokens: Tokens): Promise<StoredTokens> {
    const { version } = held;
    await persistently(() => storeRefreshed(db, sealer, { version, tokens, refusals }));
    const stored = await readTokens(db, sealer);
    if (stored === undefined) throw loginRequired('somebody logged out');
    if (stored.accessToken === tokens.accessToken) log.info({ leftMs: stored.leftMs }, 'The tokens were refreshed');
    return stored;
  }

  async function lose(version: string, why: string, cause?: unknown): Promise<never> {
    log.error({ err: cause }, `Somebody has to log in again: ${why}`);
    const reason = cause instanceof Error ? `${why} (${cause.message})` : why;
    await persistently(() => markLost(db, version, reason));
    throw loginRequired(why, cause);
  }

  /** Retries until stored: the outcome must survive a restart of Postgres. All these writes are idempotent. */
  async function persistently<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (signal.aborted) throw error;
        log.warn({ err: error }, 'The outcome of a token refresh could not be stored; retrying');
        await sleep(storeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  let last: Promise<unknown> = Promise.resolve();
  /** Set from before the refresh token is sent until the outcome is stored. */
  let endProtection: (() => void) | undefined;

  async function refresh(request: RefreshRequest): Promise<StoredTokens> {
    let ended: Promise<StoredTokens> | undefined;
    const locked = db.transaction().execute(async (tx) => {
      await query(tx, sql`set local lock_timeout = ${sql.raw(String(lockMs))}`);
      await query(tx, sql`set local idle_in_transaction_session_timeout = ${sql.raw(String(holdMs))}`);
      await takeLock(tx, 'oauth_tokens');
      ended = refreshLocked(request);
      await ended.catch(() => undefined);
    });
    // The outcome is valid even if the connection with the lock broke meanwhile.
    const failure = await locked.catch((error: unknown) => error);
    if (ended) return ended;
    if (isLockTimeout(failure)) throw retryLater('another process refreshes the tokens', 1_000, failure);
    throw failure;
  }

  return (request: RefreshRequest): Promise<StoredTokens> => {
    // One at a time: two refreshes waiting for the lock would use up the connections, and its holder would have none.
    const next = last
      .then(() => refresh(request))
      .finally(() => {
        endProtection?.();
        endProtection = undefined;
      });
    last = next.catch(() => undefined);
    return next;
  };
}

/** During discovery, somebody logged in or out, or another process started a refresh. */
class Superseded extends Error {
  override readonly name = 'Superseded';
}
