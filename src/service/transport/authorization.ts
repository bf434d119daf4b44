import { forgetOldest } from '../../bounded.ts';
import { ServiceError } from '../errors.ts';

/** Where the `Authorization` header comes from. */
export interface Credential {
  /** The header's whole value, such as `Bearer …`. */
  authorization(): Promise<string>;
  /**
   * Told of a value that was refused with 401: true when a new one is worth a try. Asked once per refused value, however
   * many requests carried it.
   */
  renew(refused: string): Promise<boolean>;
}

/**
 * An account's API key (section 5). It cannot be renewed, and it does not show when the credential is printed. Throws
 * when a header cannot carry it: a line break at its end would otherwise look like a service that is never reached.
 */
export function apiKey(key: string): Credential {
  const value = headerOf(key, 'API key');
  return { authorization: () => Promise.resolve(value), renew: () => Promise.resolve(false) };
}

/** Where the access token of a user comes from; `createOAuth` gets and refreshes one. */
export interface TokenSource {
  /** The token to use now. */
  current(): string | Promise<string>;
  /** Told of a token that was refused with 401: true when `current` gives another one from now on. Default: never. */
  renew?: ((refused: string) => Promise<boolean>) | undefined;
}

/** A user's OAuth access token (section 5.3), fixed or kept fresh by its source. Rejects a token that no header can carry. */
export function bearer(token: string | TokenSource): Credential {
  if (typeof token === 'string') return apiKey(token);
  return {
    authorization: async () => headerOf(await token.current(), 'access token'),
    renew: async (refused) => (await token.renew?.(refused.replace(/^Bearer /, ''))) ?? false,
  };
}

function headerOf(token: string, what: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  throw new TypeError(`The ${what} is empty or has spaces, line breaks or letters that a header cannot carry.`);
}

export interface Authorization {
  current(operation: string): Promise<string>;
  /** After `refused` was refused: the value to try instead, or `undefined`. */
  replacement(refused: string, operation: string): Promise<string | undefined>;
}

interface Renewal {
  outcome: Promise<boolean>;
  /** When one that broke, rather than said no, may be asked for again. */
  againAt: number;
}

// Enough for every request that carried a refused value to have come back meanwhile.
const remembered = 16;
const brokenForMs = 30_000;

/** Shares one renewal among all requests that were refused with the same value. */
export function createAuthorization(credential: Credential, now: () => number): Authorization {
  const renewals = new Map<string, Renewal>();

  async function current(operation: string): Promise<string> {
    try {
      return await credential.authorization();
    } catch (error) {
      throw unauthenticated('there is no credential to use', operation, error);
    }
  }

  function renewal(refused: string): Promise<boolean> {
    const known = renewals.get(refused);
    if (known && now() < known.againAt) return known.outcome;
    const asked: Renewal = { outcome: Promise.resolve().then(() => credential.renew(refused)), againAt: Infinity };
    asked.outcome.catch(() => {
      asked.againAt = now() + brokenForMs;
    });
    renewals.set(refused, asked);
    forgetOldest(renewals, remembered);
    return asked.outcome;
  }

  return {
    current,
    async replacement(refused, operation) {
      const newest = await current(operation);
      if (newest !== refused) return newest;
      const isWorthATry = await renewal(refused).catch((error: unknown) => {
        throw unauthenticated('the credential could not be renewed', operation, error);
      });
      if (!isWorthATry) return undefined;
      const renewed = await current(operation);
      return renewed === refused ? undefined : renewed;
    },
  };
}

function unauthenticated(message: string, operation: string, cause: unknown): Error {
  return cause instanceof ServiceError
    ? cause
    : new ServiceError('unauthenticated', message, { operation, effect: 'none', cause });
}
