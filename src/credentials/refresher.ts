import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import type { OAuth, Tokens } from '../service/oauth/oauth.ts';
import { type Database, isLockTimeout, query } from '../warehouse/database.ts';
import { judge, loginNeeded, notNow } from './faults.ts';
import type { Sealer } from './sealer.ts';
import { markLost, markRefreshing, postponeRefresh, readTokens, type StoredTokens, storeNext } from './tokens.ts';

/** What makes a new pair necessary. */
export interface Worn {
  readonly accessToken: string;
  /** The service answered 401; else it ends soon. */
  readonly isRefused: boolean;
}

/** The one refresher of all processes: whoever holds the lock asks, the others take what it stored. */
export interface Refresher {
  /**
   * The pair after the worn one, whichever process got it. Rejects with `ServiceError`: `credential` when only a log in
   * helps, `retry` with a time otherwise.
   */
  after(worn: Worn): Promise<StoredTokens>;
}

export interface RefresherParts {
  /** With two connections free: one holds the lock while the other writes. */
  readonly db: Database;
  readonly sealer: Sealer;
  readonly oauth: Pick<OAuth, 'refresh'>;
  readonly log: Log;
  /** Gives up storing a pair that Postgres does not take. */
  readonly signal: AbortSignal;
}

/** A process that waits so long for another's refresh goes on with other work. */
const lockMs = 10_000;
/** Longer than a refresh can take. A holder that is frozen, or whose machine is gone, loses the lock then. */
const holdMs = 180_000;
/** So many refreshes in a row may refused tokens cause within a minute of each other; then the service is at fault. */
const mostRefusals = 5;
const refusalRestMs = 60_000;
const storeEveryMs = 1_000;

export function createRefresher({ db, sealer, oauth, log, signal }: RefresherParts): Refresher {
  async function afterLocked({ accessToken, isRefused }: Worn): Promise<StoredTokens> {
    const held = await readTokens(db, sealer);
    if (held === undefined) throw loginNeeded('nobody is logged in');
    if (held.accessToken !== accessToken) return held;
    if (held.state === 'lost') throw loginNeeded(held.lastError ?? 'the log in is lost');
    if (held.state === 'refreshing') {
      // Whoever asked held this lock: it is gone, and whether its request left nobody knows.
      return lose(held.version, 'the process that refreshed the tokens ended before it had the answer');
    }
    if (held.restMs > 0) throw notNow(held.lastError ?? 'the last refresh failed', held.restMs);
    if (isRefused && held.refusals >= mostRefusals) {
      throw notNow('the service refuses tokens that it has just given out', refusalRestMs);
    }
    const refusals = isRefused ? held.refusals + 1 : 0;
    const next = await ask(held);
    return next === 'superseded' ? afterLocked({ accessToken, isRefused }) : store(held, refusals, next);
  }

  async function ask(held: StoredTokens): Promise<Tokens | 'superseded'> {
    const { version } = held;
    // Until the token leaves, nothing is used up, whatever fails or is killed.
    const token = { isMarked: false, isOut: false };
    const leave = async () => {
      token.isMarked = true;
      if (!(await markRefreshing(db, version))) throw new Superseded();
      token.isOut = true;
    };
    try {
      return await oauth.refresh(held, held, leave);
    } catch (error) {
      if (error instanceof Superseded) return 'superseded';
      const reason = error instanceof Error ? error.message : String(error);
      const judgement = judge(error, token.isOut);
      if (judgement.kind === 'lost') return lose(version, judgement.why, error);
      const { atLeastMs } = judgement;
      await persistently(() => postponeRefresh(db, { version, reason, atLeastMs, isMarked: token.isMarked }));
      log.warn({ err: error }, 'The tokens could not be refreshed; it is tried again');
      throw notNow('the tokens could not be refreshed', Math.max(atLeastMs, 5_000), error);
    }
  }

  async function store(held: StoredTokens, refusals: number, tokens: Tokens): Promise<StoredTokens> {
    const { version } = held;
    await persistently(() => storeNext(db, sealer, { version, tokens, refusals }));
    const stored = await readTokens(db, sealer);
    if (stored === undefined) throw loginNeeded('somebody logged out');
    if (stored.accessToken === tokens.accessToken) log.info({ leftMs: stored.leftMs }, 'The tokens were refreshed');
    return stored;
  }

  async function lose(version: string, why: string, cause?: unknown): Promise<never> {
    log.error({ err: cause }, `Somebody has to log in again: ${why}`);
    const reason = cause instanceof Error ? `${why} (${cause.message})` : why;
    await persistently(() => markLost(db, version, reason));
    throw loginNeeded(why, cause);
  }

  /** What was learned must not be lost to a restart of Postgres. Every one of these writes may be repeated. */
  async function persistently<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (signal.aborted) throw error;
        log.warn({ err: error }, 'What a refresh brought could not be stored; it is tried again');
        await sleep(storeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  let last: Promise<unknown> = Promise.resolve();

  async function after(worn: Worn): Promise<StoredTokens> {
    let ended: Promise<StoredTokens> | undefined;
    const locked = db.transaction().execute(async (tx) => {
      await query(tx, `set local lock_timeout = ${lockMs}`, []);
      await query(tx, `set local idle_in_transaction_session_timeout = ${holdMs}`, []);
      await query(tx, `select pg_advisory_xact_lock(hashtext('secrets.oauth_tokens'))`, []);
      ended = afterLocked(worn);
      await ended.catch(() => undefined);
    });
    // When the connection that holds the lock breaks, what was found out meanwhile is true all the same.
    const failure = await locked.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (ended) return ended;
    if (isLockTimeout(failure)) throw notNow('another process refreshes the tokens', 1_000, failure);
    throw failure;
  }

  return {
    after(worn) {
      // One after the other: two that wait for the lock would leave no connection to the one that holds it.
      const next = last.then(() => after(worn));
      last = next.catch(() => undefined);
      return next;
    },
  };
}

/** Somebody logged in or out, or another process asked, while the addresses were looked up. */
class Superseded extends Error {
  override readonly name = 'Superseded';
}
