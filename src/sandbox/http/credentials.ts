import type { FastifyRequest } from 'fastify';
import type { Scope } from '../account.ts';
import type { Store } from '../store/store.ts';
import { ApiError } from './errors.ts';

/** Who asks. An API key is the account itself (section 5); a person's token will be one more kind. */
export interface Credential {
  kind: 'key';
  name: string;
  scopes: readonly Scope[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that the endpoint wants; routes without one are open. */
    scope?: Scope;
  }
  interface FastifyRequest {
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

/** Finds the credential of a request; throws 401 without one and 403 when it lacks the scope. */
export function authenticate(store: Store, request: FastifyRequest, scope: Scope): Credential {
  const header = request.headers.authorization;
  if (header === undefined) throw new Unauthenticated('send the header Authorization: Bearer <ACCESS_TOKEN>', scope);
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
  const key = token === undefined ? undefined : store.keys.get(token);
  if (key === undefined) {
    throw new Unauthenticated('the credential is invalid, revoked or expired', scope, 'invalid_token');
  }
  return { kind: 'key', name: key.name, scopes: key.scopes };
}

export function requireScope(credential: Credential, scope: Scope): void {
  if (credential.scopes.includes(scope)) return;
  throw new ApiError(403, 'insufficient_scope', `this endpoint needs the scope ${scope}`, scope);
}
