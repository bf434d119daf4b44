import { ServiceError } from '../service/errors.ts';
import type { Credential } from '../service/transport/authorization.ts';
import { systemClock } from '../service/transport/clock.ts';
import type { Database } from '../warehouse/database.ts';
import { keyNeeded, loginNeeded, notNow } from './faults.ts';
import type { Refresher, Worn } from './refresher.ts';
import { type Sealer, WrongEncryptionKey } from './sealer.ts';
import { readTokens, type StoredTokens } from './tokens.ts';

export interface LoginCredentialParts {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly refresher: Refresher;
  /** Base address of the service, as the log in has it. */
  readonly service: string;
  /** In [0, 1): keeps processes from looking for a new pair at the same moment. */
  readonly random?: () => number;
}

/** The credential of whoever logged in. */
export interface LoginCredential extends Credential {
  /** Resolves when no refresh of this process is under way. */
  idle(): Promise<void>;
}

/** A pair as one process holds it; moments in milliseconds of its own clock. */
interface Held {
  readonly tokens: StoredTokens;
  readonly header: string;
  readonly readAt: number;
  readonly renewAt: number;
  readonly endsAt: number;
}

/** How long before its end a token is replaced, in milliseconds: at most, and as a share of a short life. */
const aheadMs = 60_000;
const aheadSpreadMs = 30_000;
const aheadShare = 1 / 3;
/** A token that lives so much longer is used while the next one is fetched. */
const enoughMs = 5_000;
/** What other processes and log ins have stored is seen after so long. */
const freshMs = 10_000;
/** A log in that somebody needs is noticed so soon. */
const failedMs = 1_000;

/**
 * The stored tokens as a credential. They are kept in memory, read again every few seconds, and replaced ahead of their
 * end or when the service refuses them. Rejects with `ServiceError`: `credential` when somebody has to log in, `retry`
 * when a little later will do.
 */
export function createLoginCredential(parts: LoginCredentialParts): LoginCredential {
  const { db, sealer, refresher, service, random = Math.random } = parts;
  let held: Held | undefined;
  let reading: Promise<Held> | undefined;
  let renewing: { readonly of: string; readonly next: Promise<Held> } | undefined;
  /** The last value that the service refused: it is not used again, whatever its time. */
  let refusedHeader: string | undefined;
  let failure: { readonly error: unknown; readonly until: number } | undefined;

  function hold(tokens: StoredTokens): Held {
    if (tokens.service !== service) {
      throw loginNeeded('the log in is for another service than API_BASE_URL names');
    }
    const now = systemClock.now();
    const ahead = Math.min(aheadMs + random() * aheadSpreadMs, tokens.lifetimeMs * aheadShare);
    const endsAt = now + tokens.leftMs;
    // What failed may fail again while it is the same pair.
    if (tokens.version !== held?.tokens.version) failure = undefined;
    held = { tokens, header: `Bearer ${tokens.accessToken}`, readAt: now, renewAt: endsAt - ahead, endsAt };
    return held;
  }

  /** A refusal to answer is remembered for a moment, so that a crowd of requests does not ask Postgres one by one. */
  function remember(error: unknown): never {
    const told = error instanceof ServiceError ? error : errorOfStore(error);
    const restMs = told.advice === 'retry' ? Math.min(told.retryAfterMs ?? failedMs, freshMs) : failedMs;
    failure = { error: told, until: systemClock.now() + restMs };
    throw told;
  }

  async function read(): Promise<Held> {
    try {
      const tokens = await readTokens(db, sealer);
      if (tokens === undefined) throw loginNeeded('nobody is logged in');
      return hold(tokens);
    } catch (error) {
      const isAway = !(error instanceof ServiceError) && !(error instanceof WrongEncryptionKey);
      // A token in hand outlives a Postgres that is away.
      if (held && isAway) return held;
      held = undefined;
      return remember(error);
    }
  }

  async function current(): Promise<Held> {
    if (held && systemClock.now() - held.readAt < freshMs) return held;
    if (!held && failure && systemClock.now() < failure.until) throw failure.error;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  function renewal(worn: Worn): Promise<Held> {
    if (renewing?.of === worn.accessToken) return renewing.next;
    const next = refresher
      .after(worn)
      .then(hold)
      .catch((error: unknown) => {
        if (held) held = { ...held, readAt: systemClock.now() - freshMs + failedMs };
        return remember(error);
      });
    const own = { of: worn.accessToken, next };
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
      if (!isRefused && systemClock.now() < renewAt) return header;
      const isUsable = !isRefused && systemClock.now() < endsAt;
      const isResting = tokens.state === 'lost' || (failure !== undefined && systemClock.now() < failure.until);
      if (isResting) {
        if (isUsable) return header;
        throw failure?.error ?? loginNeeded(tokens.lastError ?? 'the log in is lost');
      }
      const next = renewal({ accessToken: tokens.accessToken, isRefused });
      if (!isUsable || systemClock.now() > endsAt - enoughMs) return (await next).header;
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
  if (error instanceof WrongEncryptionKey) return keyNeeded(error);
  return notNow('the stored tokens cannot be read', failedMs, error);
}
