import { createHash, randomBytes } from 'node:crypto';
import type { AuthorizationCode, Grant } from '../account.ts';
import { type Store, settingsOf } from '../store/store.ts';

/** Codes of RFC 6749 and RFC 7591. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata';

/** Answered with 400 by the token and registration endpoints. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, message: string) {
    super(message);
    this.name = 'OAuthError';
    this.code = code;
  }
}

/** Whether the challenge was derived from the verifier: 43 to 128 unreserved characters (RFC 7636). */
function verifierMatches(verifier: string, challenge: string): boolean {
  const isVerifier = /^[A-Za-z0-9._~-]{43,128}$/.test(verifier);
  return isVerifier && createHash('sha256').update(verifier).digest('base64url') === challenge;
}

/** The answer of the token endpoint (5.3). */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
  refresh_token: string;
  /** The granted scopes, possibly fewer than requested. */
  scope: string;
}

type TokenTables = Pick<Store, 'codes' | 'accessTokens' | 'refreshTokens'>;

/** 256 random bits that fit into a URL and a header. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Issues a pair of tokens for a grant; `seconds` is the lifetime of the access token. */
export function issueTokens(store: TokenTables, grant: Grant, seconds: number, now: number): TokenAnswer {
  const { grantId, clientId, userId, scopes } = grant;
  const granted = { grantId, clientId, userId, scopes };
  const access = store.accessTokens.put({ ...granted, token: randomSecret(), expiresAt: now + seconds * 1000 });
  const refresh = store.refreshTokens.put({ ...granted, token: randomSecret() });
  return {
    access_token: access.token,
    token_type: 'Bearer',
    expires_in: seconds,
    refresh_token: refresh.token,
    scope: scopes.join(' '),
  };
}

/** Revokes every token of a grant. */
export function revokeGrant(store: TokenTables, grantId: string): void {
  for (const table of [store.accessTokens, store.refreshTokens]) {
    for (const issued of table.values()) if (issued.grantId === grantId) table.delete(issued.token);
  }
}

/** Revokes every access token. Refresh tokens stay valid. */
export function expireAccessTokens({ accessTokens }: TokenTables): void {
  for (const { token } of accessTokens.values()) accessTokens.delete(token);
}

/**
 * Exchange of codes and refresh tokens for access tokens (5.3).
 *
 *   approval → code ──(once, within 60 s)──→ access + refresh ──(each refresh once)──→ access + refresh → …
 *                └──(with a wrong verifier or redirect_uri)──→ ended
 */
type GrantTables = Pick<Store, 'codes' | 'accessTokens' | 'refreshTokens' | 'users' | 'roles' | 'settings'>;

interface CodeExchange {
  clientId: string;
  code: string;
  verifier: string;
  redirectUri: string;
}

/**
 * Throws `OAuthError` when the code is unknown, used, expired, or doesn't belong to the client, address or verifier.
 */
export function redeemCode(store: GrantTables, exchange: CodeExchange, now: number): TokenAnswer {
  const code = store.codes.get(exchange.code);
  if (code === undefined || code.clientId !== exchange.clientId)
    throw invalidGrant('the code is unknown, or was used before');
  store.codes.delete(code.code);
  requireMatch(code, exchange, now);
  requirePortalAccess(store, code);
  return issueTokens(store, code, settingsOf(store).accessTokenSeconds, now);
}

/** Throws `OAuthError` when the token is unknown, used, or another client's. */
export function redeemRefreshToken(
  store: GrantTables,
  { clientId, token }: { clientId: string; token: string },
  now: number,
): TokenAnswer {
  const held = store.refreshTokens.get(token);
  if (held === undefined || held.clientId !== clientId) {
    throw invalidGrant('the refresh token is unknown, revoked, or was used before');
  }
  requirePortalAccess(store, held);
  store.refreshTokens.delete(held.token);
  return issueTokens(store, held, settingsOf(store).accessTokenSeconds, now);
}

function requireMatch(code: AuthorizationCode, exchange: CodeExchange, now: number): void {
  if (code.expiresAt <= now) throw invalidGrant('the code is expired');
  if (code.redirectUri !== exchange.redirectUri)
    throw invalidGrant('the redirect_uri is not that of the authorization');
  if (!verifierMatches(exchange.verifier, code.challenge))
    throw invalidGrant('the code_verifier does not match the challenge');
}

function requirePortalAccess({ users, roles }: GrantTables, { userId }: Grant): void {
  if (users.get(userId) === undefined || roles.get(userId) === undefined) {
    throw invalidGrant('the user has no portal access any more');
  }
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description);
}
