import { randomBytes } from 'node:crypto';
import type { Grant } from '../entities/access.ts';
import type { Store } from '../store/store.ts';

/** What the token endpoint answers (5.3). */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
  refresh_token: string;
  /** The granted scopes, divided by spaces. */
  scope: string;
}

type TokenTables = Pick<Store, 'codes' | 'accessTokens' | 'refreshTokens'>;

const forgetAfterMs = 3_600_000;

/** A value that nobody guesses: 256 bits that fit a URL and a header. */
export function drawSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Gives out a new pair of tokens for a grant; `seconds` is the lifetime of the access token. */
export function issueTokens(store: TokenTables, grant: Grant, seconds: number, now: number): TokenAnswer {
  forgetExpired(store, now);
  const { grantId, clientId, userId, scopes } = grant;
  const granted = { grantId, clientId, userId, scopes };
  const access = store.accessTokens.put({ ...granted, token: drawSecret(), expiresAt: now + seconds * 1000 });
  const refresh = store.refreshTokens.put({ ...granted, token: drawSecret() });
  return {
    access_token: access.token,
    token_type: 'Bearer',
    expires_in: seconds,
    refresh_token: refresh.token,
    scope: scopes.join(' '),
  };
}

/** Takes back every token that followed from a grant. */
export function revokeGrant(store: TokenTables, grantId: string): void {
  for (const table of [store.accessTokens, store.refreshTokens]) {
    for (const issued of table.values()) if (issued.grantId === grantId) table.delete(issued.token);
  }
}

/** Makes every access token fail from now on; what they were granted stays, so they can be refreshed. */
export function expireAccessTokens({ accessTokens }: TokenTables): void {
  for (const { token } of accessTokens.values()) accessTokens.delete(token);
}

/** Keeps the state small: a token or code that expired an hour ago answers no otherwise once it is unknown. */
function forgetExpired({ accessTokens, codes }: TokenTables, now: number): void {
  for (const { token, expiresAt } of accessTokens.values()) {
    if (expiresAt + forgetAfterMs < now) accessTokens.delete(token);
  }
  for (const { code, expiresAt } of codes.values()) if (expiresAt + forgetAfterMs < now) codes.delete(code);
}
