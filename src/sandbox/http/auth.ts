import type { FastifyRequest } from 'fastify';
import type { Line, Role, Scope, User } from '../account.ts';
import type { Store } from '../store/store.ts';
import { ApiError, invalidRequest, permissionDenied } from './errors.ts';

/** The caller (section 5): the account itself, with an API key, or a user, with an OAuth token. */
export type Credential =
  | { kind: 'key'; name: string; scopes: readonly Scope[] }
  | { kind: 'user'; name: string; scopes: readonly Scope[]; user: User; role: Role };

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without a scope, and before authentication. */
    credential: Credential | null;
  }
}

/** A 401; the WWW-Authenticate header names the required scope (section 7). */
function unauthenticated(message: string, scope: Scope, code?: 'invalid_token'): ApiError {
  const challenge = `Bearer ${code === undefined ? '' : `error="${code}", `}scope="${scope}"`;
  return new ApiError(401, 'unauthenticated', message, { challenge });
}

/** Returns the credential of a request. Throws a 401 when it is missing, invalid, revoked or expired. */
export function authenticate(
  store: Pick<Store, 'keys' | 'accessTokens' | 'users' | 'roles' | 'clients'>,
  request: FastifyRequest,
  scope: Scope,
  now: number,
): Credential {
  const header = request.headers.authorization;
  if (header === undefined) throw unauthenticated('send the header Authorization: Bearer <ACCESS_TOKEN>', scope);
  const text = /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
  const key = store.keys.get(text);
  if (key !== undefined) return { kind: 'key', name: key.name, scopes: key.scopes };

  const token = store.accessTokens.get(text);
  const user = token && store.users.get(token.userId);
  const role = token && store.roles.get(token.userId);
  if (token === undefined || user === undefined || role === undefined || token.expiresAt <= now) {
    throw unauthenticated('the credential is invalid, revoked or expired', scope, 'invalid_token');
  }
  const client = store.clients.get(token.clientId)?.name ?? token.clientId;
  return { kind: 'user', name: `${user.username} by ${client}`, scopes: token.scopes, user, role };
}

export function requireScope(credential: Credential, scope: Scope): void {
  if (credential.scopes.includes(scope)) return;
  throw new ApiError(403, 'insufficient_scope', `this endpoint needs the scope ${scope}`, { scope });
}

/** The credential of a route that has a scope. */
export function credentialOf(request: FastifyRequest): Credential {
  if (request.credential === null) throw new Error(`${request.url} declares no scope, so it has no credential`);
  return request.credential;
}

/** Portal permissions that endpoints require of OAuth users (5.2). */
export type Permission = 'users' | 'phoneNumbers' | 'callReports' | 'recordings';

/** Throws a 403 when the token's user lacks the permission. API keys have no role (section 5). */
export function requirePermission(credential: Credential, permission: Permission): void {
  if (credential.kind === 'key') return;
  const { users, phoneNumbers, callReports, allowRecordings } = credential.role;
  const granted = { users: users !== null, phoneNumbers, callReports, recordings: callReports && allowRecordings };
  if (!granted[permission]) throw permissionDenied(`the user's portal role lacks the permission ${permission}`);
}

/** A token may use its user's lines and unassigned lines (2.1). */
function mayUse(credential: Credential, line: Line): boolean {
  if (credential.kind === 'key') return true;
  return credential.role.phoneNumbers && (line.userIds.length === 0 || line.userIds.includes(credential.user.id));
}

/** The lines that the credential may use. Throws a 403 when its user's role lacks Phone numbers. */
export function usableLines(store: Pick<Store, 'lines'>, request: FastifyRequest): Line[] {
  const credential = credentialOf(request);
  requirePermission(credential, 'phoneNumbers');
  return store.lines.values().filter((line) => mayUse(credential, line));
}

/** The line of a normalized number. Throws a 403 when the credential may not use it (4.1, 4.2 rule 3). */
export function requireLine(store: Pick<Store, 'lines'>, request: FastifyRequest, number: string): Line {
  const line = store.lines.get(number);
  if (line === undefined || !mayUse(credentialOf(request), line)) {
    throw permissionDenied(`${number} is not an SMS line that this credential may use`);
  }
  return line;
}

/** The token's user. Throws a 400 for an API key, which belongs to no user (5.3). */
export function requireUser(request: FastifyRequest): Extract<Credential, { kind: 'user' }> {
  const credential = credentialOf(request);
  if (credential.kind === 'user') return credential;
  throw invalidRequest('this operation needs a user credential, not an API key');
}
