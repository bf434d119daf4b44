import { randomUUID } from 'node:crypto';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { scopes } from '../account.ts';
import type { Context } from '../context.ts';
import type { Api } from '../http/api.ts';
import { ApiError } from '../http/errors.ts';
import { settingsOf } from '../store/store.ts';
import { addresses, authorizationRoutes, redirectProblem } from './authorization.ts';
import { OAuthError, type OAuthErrorCode, redeemCode, redeemRefreshToken, type TokenAnswer } from './tokens.ts';

/**
 * Answers errors of the request in the format of RFC 6749, invalid input with the code `unreadable`. Rethrows others.
 */
function oauthErrors(unreadable: OAuthErrorCode) {
  return (error: FastifyError | Error, _request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const code = error instanceof OAuthError ? error.code : unreadable;
    if (!(error instanceof OAuthError) && !isUnreadable(error)) throw error;
    return reply.code(400).header('cache-control', 'no-store').send({ error: code, error_description: error.message });
  };
}

function isUnreadable(error: FastifyError | Error): boolean {
  if (error instanceof ApiError) return error.status === 400;
  return 'statusCode' in error && error.statusCode !== undefined && error.statusCode < 500;
}

/** GET /.well-known/oauth-authorization-server (5.3). The addresses have the host of the request. */
function discoveryRoutes(api: Api): void {
  api.get(addresses.discovery, {
    schema: { operationId: 'discoverOAuth' },
    handler: (request) => {
      const base = `${request.protocol}://${request.host}`;
      return {
        issuer: base,
        authorization_endpoint: base + addresses.authorization,
        token_endpoint: base + addresses.token,
        registration_endpoint: base + addresses.registration,
        scopes_supported: [...scopes],
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      };
    },
  });
}

/** Other metadata of RFC 7591 is accepted and ignored. */
const registrationBody = z.looseObject({
  client_name: z.string().trim().min(1).max(200),
  redirect_uris: z.array(z.string().max(2000)).min(1).max(20),
});

/** POST /api/v1/oauth/register (5.3): registers a client. */
function registrationRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  api.post(addresses.registration, {
    errorHandler: oauthErrors('invalid_client_metadata'),
    schema: { operationId: 'registerClient', body: registrationBody },
    handler: ({ body }, reply) => {
      const settings = settingsOf(store);
      for (const [index, uri] of body.redirect_uris.entries()) {
        const problem = redirectProblem(uri, settings);
        if (problem !== undefined) throw new OAuthError('invalid_redirect_uri', `redirect_uris[${index}] ${problem}`);
      }
      const clientId = randomUUID();
      const { client_name: name, redirect_uris: redirectUris } = body;
      store.clients.put({ clientId, name, redirectUris, createdAt: now().getTime() });
      reply.code(201).header('cache-control', 'no-store');
      return { client_id: clientId, client_name: name, redirect_uris: redirectUris };
    },
  });
}

const field = z.string().min(1).optional();
const tokenForm = z.object({
  grant_type: z.string(),
  client_id: z.string(),
  code: field,
  code_verifier: field,
  redirect_uri: field,
  refresh_token: field,
});

/** POST /api/v1/oauth/token (5.3). */
function tokenRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  function answer(form: z.output<typeof tokenForm>): TokenAnswer {
    const { grant_type: grantType, client_id: clientId } = form;
    if (grantType !== 'authorization_code' && grantType !== 'refresh_token') {
      throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
    }
    if (store.clients.get(clientId) === undefined)
      throw new OAuthError('invalid_client', 'client_id is not registered');
    const at = now().getTime();
    if (grantType === 'refresh_token') {
      return redeemRefreshToken(store, { clientId, token: required(form.refresh_token, 'refresh_token') }, at);
    }
    const code = required(form.code, 'code');
    const verifier = required(form.code_verifier, 'code_verifier');
    return redeemCode(
      store,
      { clientId, code, verifier, redirectUri: required(form.redirect_uri, 'redirect_uri') },
      at,
    );
  }

  api.post(addresses.token, {
    errorHandler: oauthErrors('invalid_request'),
    schema: { operationId: 'getTokens', body: tokenForm },
    preValidation: async ({ headers }) => {
      const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
      if (!isForm) throw new OAuthError('invalid_request', 'send application/x-www-form-urlencoded');
    },
    handler: ({ body }, reply) => {
      reply.header('cache-control', 'no-store');
      return answer(body);
    },
  });
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`);
  return value;
}

/** OAuth 2.1 with PKCE (5.3), outside the API prefix. */
export function oauthRoutes(api: Api, context: Context): void {
  acceptForms(api);
  discoveryRoutes(api);
  registrationRoutes(api, context);
  authorizationRoutes(api, context);
  tokenRoutes(api, context);
}

/** A repeated field becomes an array, which schemas of single fields refuse. */
function acceptForms(api: Api): void {
  api.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    const form = new URLSearchParams(body.toString());
    const fields = [...new Set(form.keys())].map((key) => {
      const values = form.getAll(key);
      return [key, values.length === 1 ? values[0] : values] as const;
    });
    done(null, Object.fromEntries(fields));
  });
}
