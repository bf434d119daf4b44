import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { User } from '../../account.ts';
import { assumptions } from '../../assumptions.ts';
import type { Context } from '../../context.ts';
import { defaultSettings } from '../../entities/settings.ts';
import type { Api } from '../../http/api.ts';
import { tag } from '../../http/openapi.ts';
import { consentPage, pagePolicy, refusalPage } from '../../oauth/page/consent.ts';
import { redirectTo } from '../../oauth/redirects.ts';
import { type AuthorizationRequest, authorizationQuery, readRequest } from '../../oauth/requests.ts';
import { createTickets } from '../../oauth/tickets.ts';
import { drawSecret } from '../../oauth/tokens.ts';
import { addresses } from './addresses.ts';

const decisionForm = z.object({
  ticket: z.string(),
  decision: z.enum(['allow', 'deny']),
  user: z.string().default(''),
  scope: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((given) => (typeof given === 'string' ? [given] : given)),
});

const { codeLifetimeMs, consentLifetimeMs } = assumptions;

/** GET and POST /api/v1/oauth/authorize (5.3): the page that asks a user, and what the user decided. */
export function authorizationRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  const tickets = createTickets<AuthorizationRequest>({ lifetimeMs: consentLifetimeMs, capacity: 1000 });

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
      code: drawSecret(),
      redirectUri: request.redirectUri,
      challenge: request.challenge,
      expiresAt: now().getTime() + codeLifetimeMs,
      isUsed: false,
    });
    return code;
  }

  api.get(
    addresses.authorization,
    {
      attachValidation: true,
      schema: {
        operationId: 'authorize',
        summary: 'The page that asks a user; open it in a browser',
        description: 'Redirects with `code` and `state` on approval, with `error=access_denied` on denial.',
        tags: tag('5.3'),
        querystring: authorizationQuery,
        response: { 200: z.string().describe('HTML') },
      },
    },
    ({ query, validationError }, reply) => {
      if (validationError !== undefined)
        return refuse(reply, `The request cannot be read: ${validationError.message}.`);
      const settings = store.settings.get('account') ?? defaultSettings;
      const read = readRequest(query, (clientId) => store.clients.get(clientId), settings);
      if (read.outcome === 'untrusted') return refuse(reply, read.message);
      if (read.outcome === 'refused') {
        const { error, description, state } = read;
        return sendBack(reply, read.redirectUri, { error, error_description: description, state });
      }
      const { request } = read;
      const ticket = tickets.issue(request, now().getTime());
      return show(reply, 200, consentPage({ request, ticket, users: usersWithAccess() }), request.redirectUri);
    },
  );

  api.post(
    addresses.authorization,
    { attachValidation: true, schema: { hide: true, body: decisionForm } },
    ({ body, validationError }, reply) => {
      if (validationError !== undefined) return refuse(reply, `The form cannot be read: ${validationError.message}.`);
      const { ticket, decision, user: userId, scope: chosen } = body;
      const request = tickets.find(ticket, now().getTime());
      if (request === undefined) return refuse(reply, 'This page was answered already, or it is too old.');
      const { redirectUri, state, scopes } = request;
      if (decision === 'deny') {
        tickets.end(ticket);
        const answer = { error: 'access_denied', error_description: 'the user said no', state };
        return sendBack(reply, redirectUri, answer);
      }
      const users = usersWithAccess();
      const user = users.find(({ id }) => String(id) === userId);
      const isEmpty = !scopes.some((scope) => chosen.includes(scope));
      if (user === undefined || isEmpty) {
        const notice = user === undefined ? 'Choose whom to sign in as.' : 'Tick at least one permission, or deny.';
        const again = { request, ticket, users, chosen: { userId, scopes: chosen, notice } };
        return show(reply, 400, consentPage(again), redirectUri);
      }
      tickets.end(ticket);
      return sendBack(reply, redirectUri, { code: approve(request, user.id, chosen), state });
    },
  );
}

/** 303, so that a browser asks the program with GET after the form too. */
function sendBack(reply: FastifyReply, uri: string, answer: Readonly<Record<string, string | undefined>>): void {
  reply.header('cache-control', 'no-store').redirect(redirectTo(uri, answer), 303);
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
