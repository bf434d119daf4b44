import type { AuthorizationCode, Grant } from '../entities/access.ts';
import type { Store } from '../store/store.ts';
import { proves } from './pkce.ts';
import { OAuthError } from './refusals.ts';
import { issueTokens, revokeGrant, type TokenAnswer } from './tokens.ts';

/**
 * Codes and refresh tokens become access tokens (5.3).
 *
 *   approval → code ──(once, within 60 s)──→ access + refresh ──(each refresh once)──→ access + refresh → …
 *                ├──(with a wrong verifier or redirect_uri)──→ ended
 *                └──(a second time)──→ every token of the grant is revoked
 */
type GrantTables = Pick<Store, 'codes' | 'accessTokens' | 'refreshTokens' | 'users' | 'roles' | 'settings'>;

export interface CodeExchange {
  clientId: string;
  code: string;
  verifier: string;
  redirectUri: string;
}

/** Throws `OAuthError` when the code is unknown, used, expired, or not this client's with this address and verifier. */
export function redeemCode(store: GrantTables, exchange: CodeExchange, now: number): TokenAnswer {
  const code = store.codes.get(exchange.code);
  if (code === undefined || code.clientId !== exchange.clientId) throw invalidGrant('the code is unknown');
  if (code.isUsed) {
    // Whoever comes second, one of the two stole it.
    revokeGrant(store, code.grantId);
    throw invalidGrant('the code was used before; what it gave is revoked');
  }
  store.codes.put({ ...code, isUsed: true });
  requireFitting(code, exchange, now);
  requirePortalAccess(store, code);
  return issueTokens(store, code, lifetime(store), now);
}

/** Throws `OAuthError` when the token is unknown, used before, or another client's. */
export function refresh(store: GrantTables, asked: { clientId: string; token: string }, now: number): TokenAnswer {
  const held = store.refreshTokens.get(asked.token);
  if (held === undefined || held.clientId !== asked.clientId) {
    throw invalidGrant('the refresh token is unknown, revoked, or was used before');
  }
  requirePortalAccess(store, held);
  store.refreshTokens.delete(held.token);
  return issueTokens(store, held, lifetime(store), now);
}

function requireFitting(code: AuthorizationCode, exchange: CodeExchange, now: number): void {
  if (code.expiresAt <= now) throw invalidGrant('the code is expired');
  if (code.redirectUri !== exchange.redirectUri)
    throw invalidGrant('the redirect_uri is not that of the authorization');
  if (!proves(exchange.verifier, code.challenge)) throw invalidGrant('the code_verifier does not fit the challenge');
}

function requirePortalAccess({ users, roles }: GrantTables, { userId }: Grant): void {
  if (users.get(userId) === undefined || roles.get(userId) === undefined) {
    throw invalidGrant('the user has no portal access any more');
  }
}

function lifetime({ settings }: GrantTables): number {
  return settings.get('account')?.accessTokenSeconds ?? 3600;
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description);
}
