import { z } from 'zod';
import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { tag } from '../../http/openapi.ts';
import { redeemCode, refresh } from '../../oauth/exchange.ts';
import { OAuthError } from '../../oauth/refusals.ts';
import type { TokenAnswer } from '../../oauth/tokens.ts';
import { addresses } from './addresses.ts';
import { oauthErrorBody, oauthErrors } from './answers.ts';

const field = z.string().min(1).optional();
const tokenForm = z
  .object({
    grant_type: z.string().describe('`authorization_code` or `refresh_token`'),
    client_id: z.string(),
    code: field,
    code_verifier: field,
    redirect_uri: field.describe('That of the authorization.'),
    refresh_token: field.describe('Used once: each answer brings the next one.'),
  })
  .describe('Sent as application/x-www-form-urlencoded.');

const tokens = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds.'),
    refresh_token: z.string(),
    scope: z.string().describe('What was granted, which may be less than was asked.'),
  })
  .meta({ id: 'Tokens' });

/** POST /api/v1/oauth/token (5.3). */
export function tokenRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  function answer(form: z.output<typeof tokenForm>): TokenAnswer {
    const { grant_type: grantType, client_id: clientId } = form;
    if (grantType !== 'authorization_code' && grantType !== 'refresh_token') {
      throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
    }
    if (store.clients.get(clientId) === undefined)
      throw new OAuthError('invalid_client', 'client_id is not registered');
    const at = now().getTime();
    if (grantType === 'refresh_token') {
      return refresh(store, { clientId, token: required(form.refresh_token, 'refresh_token') }, at);
    }
    const code = required(form.code, 'code');
    const verifier = required(form.code_verifier, 'code_verifier');
    return redeemCode(
      store,
      { clientId, code, verifier, redirectUri: required(form.redirect_uri, 'redirect_uri') },
      at,
    );
  }

  api.post(
    addresses.token,
    {
      errorHandler: oauthErrors('invalid_request'),
      schema: {
        operationId: 'getTokens',
        summary: 'Tokens for a code, or for a refresh token',
        tags: tag('5.3'),
        consumes: ['application/x-www-form-urlencoded'],
        body: tokenForm,
        response: { 200: tokens, 400: oauthErrorBody },
      },
      preValidation: async ({ headers }) => {
        const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
        if (!isForm) throw new OAuthError('invalid_request', 'send application/x-www-form-urlencoded');
      },
    },
    ({ body }, reply) => {
      reply.header('cache-control', 'no-store');
      return answer(body);
    },
  );
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`);
  return value;
}
