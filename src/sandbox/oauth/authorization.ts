import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { forgetOldest } from '../../shared/bounded.ts';
import { type AccountSettings, type OAuthClient, type Scope, scopes, type User } from '../account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { consentPage, pagePolicy, refusalPage } from '../http/pages.ts';
import { settingsOf } from '../store/store.ts';
import { type OAuthErrorCode, randomSecret } from './tokens.ts';

/** The endpoints of 5.3 and section 9, relative to the base address. */
export const addresses = {
  discovery: '/.well-known/oauth-authorization-server',
  registration: '/api/v1/oauth/register',
  authorization: '/api/v1/oauth/authorize',
  token: '/api/v1/oauth/token',
} as const;

/** Why the address isn't allowed as a redirect URI (5.3); undefined when it is. */
export function redirectProblem(uri: string, { redirectHosts }: AccountSettings): string | undefined {
  if (!URL.canParse(uri)) return 'is not an address';
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes('#')) return 'must not have a fragment';
  if (username !== '' || password !== '') return 'must not have a user or a password';
  if (protocol !== 'https:') return 'must be HTTPS';
  if (!redirectHosts.includes(hostname)) return `has the host ${hostname}, which is not on the operator's allow-list`;
  return undefined;
}

/** Every field is optional here, so that errors can be reported by redirect where that is safe. */
const authorizationQuery = z.object({
  response_type: z.string().optional(),
  client_id: z.string().optional(),
  redirect_uri: z.string().optional(),
  scope: z.string().optional(),
  state: z.string().max(2000).optional(),
  code_challenge: z.string().optional(),
  code_challenge_method: z.string().optional(),
});

interface AuthorizationRequest {
  client: OAuthClient;
  redirectUri: string;
  scopes: Scope[];
  state: string | undefined;
  challenge: string;
}

type ReadRequest =
  | { outcome: 'valid'; request: AuthorizationRequest }
  /** No redirect: the client or its redirect URI isn't known. */
  | { outcome: 'untrusted'; message: string }
  /** Redirect with an error. */
  | { outcome: 'refused'; redirectUri: string; state: string | undefined; error: OAuthErrorCode; description: string };

/** Reads an authorization request. Client and redirect URI come first, since all other errors are sent there. */
function readRequest(
  query: z.output<typeof authorizationQuery>,
  client: OAuthClient | undefined,
  settings: AccountSettings,
): ReadRequest {
  const { redirect_uri: redirectUri = '', state } = query;
  if (client === undefined) return { outcome: 'untrusted', message: 'No client is registered under this client_id.' };
  if (!client.redirectUris.includes(redirectUri)) {
    return { outcome: 'untrusted', message: 'The redirect_uri is not exactly one that this client registered.' };
  }
  const problem = redirectProblem(redirectUri, settings);
  if (problem !== undefined) return { outcome: 'untrusted', message: `The redirect_uri ${problem}.` };

  const refuse = (error: OAuthErrorCode, description: string): ReadRequest => {
    return { outcome: 'refused', redirectUri, state, error, description };
  };
  if (query.response_type === undefined) return refuse('invalid_request', 'response_type is missing');
  if (query.response_type !== 'code') return refuse('unsupported_response_type', 'response_type must be code');
  if (query.code_challenge_method !== 'S256') {
    return refuse('invalid_request', 'PKCE is required: code_challenge_method must be S256');
  }
  const { code_challenge: challenge = '' } = query;
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    return refuse('invalid_request', 'PKCE is required: code_challenge must be base64url of a SHA-256');
  }
  const names = [...new Set((query.scope ?? '').split(' ').filter(Boolean))];
  const requested = scopes.filter((scope) => names.includes(scope));
  if (names.length === 0) return refuse('invalid_scope', 'scope is missing');
  if (requested.length < names.length) return refuse('invalid_scope', 'a scope is not in scopes_supported');
  return { outcome: 'valid', request: { client, redirectUri, scopes: requested, state, challenge } };
}

const decisionForm = z.object({
  ticket: z.string(),
  decision: z.enum(['allow', 'deny']),
  user: z.string().default(''),
  scope: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((given) => (typeof given === 'string' ? [given] : given)),
});

const codeLifetimeMs = 60_000;
const consentLifetimeMs = 600_000;
const maxPendingConsents = 1000;

/** GET and POST /api/v1/oauth/authorize (5.3): the consent page and the user's decision. */
export function authorizationRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  /**
   * Requests whose form was shown, by ticket. The form holds only the ticket, so nothing in it can be changed; the
   * decision removes it, so a form works once. In memory: a restart ends them all.
   */
  const pending = new Map<string, { request: AuthorizationRequest; expiresAt: number }>();

  function usersWithAccess(): User[] {
    return store.users
      .values()
      .filter(({ id }) => store.roles.get(id) !== undefined)
      .sort((one, other) => `${one.firstName} ${one.lastName}`.localeCompare(`${other.firstName} ${other.lastName}`));
  }

  function approve(request: AuthorizationRequest, userId: number, allowed: readonly string[]): string {
    const { code } = store.codes.put({
      grantId: randomUUID(),
      clientId: request.client.clientId,
      userId,
      scopes: request.scopes.filter((scope) => allowed.includes(scope)),
      code: randomSecret(),
      redirectUri: request.redirectUri,
      challenge: request.challenge,
      expiresAt: now().getTime() + codeLifetimeMs,
    });
    return code;
  }

  api.get(addresses.authorization, {
    attachValidation: true,
    schema: { operationId: 'authorize', querystring: authorizationQuery },
    handler: ({ query, validationError }, reply) => {
      if (validationError !== undefined) return refuse(reply, `The request is invalid: ${validationError.message}.`);
      const read = readRequest(query, store.clients.get(query.client_id ?? ''), settingsOf(store));
      if (read.outcome === 'untrusted') return refuse(reply, read.message);
      if (read.outcome === 'refused') {
        const { error, description, state } = read;
        return redirect(reply, read.redirectUri, { error, error_description: description, state });
      }
      const { request } = read;
      const ticket = randomSecret();
      pending.set(ticket, { request, expiresAt: now().getTime() + consentLifetimeMs });
      forgetOldest(pending, maxPendingConsents);
      return show(reply, 200, consentPage({ ...request, ticket, users: usersWithAccess() }), request.redirectUri);
    },
  });

  api.post(addresses.authorization, {
    attachValidation: true,
    schema: { body: decisionForm },
    handler: ({ body, validationError }, reply) => {
      if (validationError !== undefined) return refuse(reply, `The form is invalid: ${validationError.message}.`);
      const { ticket, decision, user: userId, scope: chosen } = body;
      const found = pending.get(ticket);
      if (found === undefined || found.expiresAt <= now().getTime()) {
        return refuse(reply, 'This page was answered already, or it is too old.');
      }
      const { request } = found;
      const { redirectUri, state } = request;
      if (decision === 'deny') {
        pending.delete(ticket);
        return redirect(reply, redirectUri, { error: 'access_denied', error_description: 'the user said no', state });
      }
      const user = usersWithAccess().find(({ id }) => String(id) === userId);
      if (user === undefined) return refuse(reply, 'Choose a user to sign in as.');
      if (!request.scopes.some((scope) => chosen.includes(scope))) {
        return refuse(reply, 'Tick at least one scope, or deny.');
      }
      pending.delete(ticket);
      return redirect(reply, redirectUri, { code: approve(request, user.id, chosen), state });
    },
  });
}

/** Status 303, so that the browser uses GET also after the form. Keeps the query of the redirect URI. */
function redirect(reply: FastifyReply, uri: string, answer: Readonly<Record<string, string | undefined>>): void {
  const url = new URL(uri);
  for (const [key, value] of Object.entries(answer)) if (value !== undefined) url.searchParams.append(key, value);
  reply.header('cache-control', 'no-store').redirect(url.href, 303);
}

function refuse(reply: FastifyReply, message: string): void {
  show(reply, 400, refusalPage(message));
}

function show(reply: FastifyReply, status: number, page: string, redirectUri?: string): void {
  reply
    .code(status)
    .headers({
      'content-security-policy': pagePolicy(redirectUri),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    .type('text/html; charset=utf-8')
    .send(page);
}
