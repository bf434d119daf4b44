import type { FastifyRequest } from 'fastify';
import type { User } from '../account.ts';
import type { Role, Scope } from '../entities/access.ts';
import type { Store } from '../store/store.ts';
import { ApiError } from './errors.ts';

/** Who asks (section 5): the account itself with an API key, or a user through a token that acts for them. */
export type Credential =
  | { kind: 'key'; name: string; scopes: readonly Scope[] }
  | { kind: 'user'; name: string; scopes: readonly Scope[]; user: User; role: Role };

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without a scope, and until the credential is found. */
    credential: Credential | null;
  }
}

export class Unauthenticated extends ApiError {
  /** Value of the WWW-Authenticate header; it names the scope that the endpoint wanted (section 7). */
  readonly challenge: string;

  constructor(message: string, scope: Scope, code?: 'invalid_token') {
    super(401, 'unauthenticated', message);
    this.name = 'Unauthenticated';
    this.challenge = `Bearer ${code === undefined ? '' : `error="${code}", `}scope="${scope}"`;
  }
}

/** Finds the credential of a request; throws 401 without one. */
export function authenticate(
  store: Pick<Store, 'keys' | 'accessTokens' | 'users' | 'roles' | 'clients'>,
  request: FastifyRequest,
  scope: Scope,
  now: number,
): Credential {
  const header = request.headers.authorization;
  if (header === undefined) throw new Unauthenticated('send the header Authorization: Bearer <ACCESS_TOKEN>', scope);
  const text = /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
  const key = store.keys.get(text);
  if (key !== undefined) return { kind: 'key', name: key.name, scopes: key.scopes };

  const token = store.accessTokens.get(text);
  const user = token && store.users.get(token.userId);
  const role = token && store.roles.get(token.userId);
  if (token === undefined || user === undefined || role === undefined || token.expiresAt <= now) {
    throw new Unauthenticated('the credential is invalid, revoked or expired', scope, 'invalid_token');
  }
  const client = store.clients.get(token.clientId)?.name ?? token.clientId;
  return { kind: 'user', name: `${user.username} by ${client}`, scopes: token.scopes, user, role };
}

export function requireScope(credential: Credential, scope: Scope): void {
  if (credential.scopes.includes(scope)) return;
  throw new ApiError(403, 'insufficient_scope', `this endpoint needs the scope ${scope}`, scope);
}

/** The credential of a route that has a scope. */
export function credentialOf(request: FastifyRequest): Credential {
  if (request.credential === null) throw new Error(`${request.url} declares no scope, so nobody in particular asks`);
  return request.credential;
}
