import { forgetOldest } from '../../shared/bounded.ts';
import { ServiceError } from '../errors.ts';

/** Where the `Authorization` header comes from. */
export interface Credential {
  /** The header's whole value, such as `Bearer …`. */
  authorization(): Promise<string>;
  /**
   * Called after the service refused a value with 401, once per value however many requests carried it. Resolves to
   * whether `authorization` gives another value from now on.
   */
  renew(refused: string): Promise<boolean>;
}

/**
 * An account's API key (section 5). It cannot be renewed, and printing the credential does not show it. Throws when a
 * header cannot carry it: with a line break at its end, every request would look like a network failure.
 */
export function apiKey(key: string): Credential {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError('The API key is empty or has spaces, line breaks or letters that a header cannot carry.');
  }
  const value = `Bearer ${key}`;
  return { authorization: () => Promise.resolve(value), renew: () => Promise.resolve(false) };
}

export type Authorization = ReturnType<typeof createAuthorization>;

interface Renewal {
  outcome: Promise<boolean>;
  /** When to try again after a renewal that failed. One that resolved to false is final. */
  retryAt: number;
}

// Enough for all requests that carried a refused value to have been answered meanwhile.
const maxRenewals = 16;
const retryRenewalMs = 30_000;

/** Shares one renewal among all requests that were refused with the same value. */
export function createAuthorization(credential: Credential, now: () => number) {
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
    if (known && now() < known.retryAt) return known.outcome;
    const asked: Renewal = { outcome: Promise.resolve().then(() => credential.renew(refused)), retryAt: Infinity };
    asked.outcome.catch(() => {
      asked.retryAt = now() + retryRenewalMs;
    });
    renewals.set(refused, asked);
    forgetOldest(renewals, maxRenewals);
    return asked.outcome;
  }

  return {
    current,
    /** The value to use after the service refused `refused`; `undefined` when there is no other. */
    async replacement(refused: string, operation: string): Promise<string | undefined> {
      const newest = await current(operation);
      if (newest !== refused) return newest;
      const isRenewed = await renewal(refused).catch((error: unknown) => {
        throw unauthenticated('the credential could not be renewed', operation, error);
      });
      if (!isRenewed) return undefined;
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
