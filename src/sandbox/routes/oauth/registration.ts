import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { defaultSettings } from '../../entities/settings.ts';
import type { Api } from '../../http/api.ts';
import { tag } from '../../http/openapi.ts';
import { faultOfRedirect } from '../../oauth/redirects.ts';
import { OAuthError } from '../../oauth/refusals.ts';
import { addresses } from './addresses.ts';
import { oauthErrorBody, oauthErrors } from './answers.ts';

const registrationBody = z
  .looseObject({
    client_name: z.string().trim().min(1).max(200).describe('Shown to the user who is asked.'),
    redirect_uris: z.array(z.string().max(2000)).min(1).max(20).describe('HTTPS, on an allowed host, no fragment.'),
  })
  .describe('Other metadata of RFC 7591 is accepted and ignored.');

const registered = z.object({
  client_id: z.string(),
  client_id_issued_at: z.int().describe('Unix seconds.'),
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.string()),
  token_endpoint_auth_method: z.literal('none'),
});

/** POST /api/v1/oauth/register (5.3): a program makes itself known. */
export function registrationRoutes(api: Api, { store, now }: Pick<Context, 'store' | 'now'>): void {
  api.post(
    addresses.registration,
    {
      errorHandler: oauthErrors('invalid_client_metadata'),
      schema: {
        operationId: 'registerClient',
        summary: 'Register a public client',
        tags: tag('5.3'),
        body: registrationBody,
        response: { 201: registered, 400: oauthErrorBody },
      },
    },
    ({ body }, reply) => {
      const settings = store.settings.get('account') ?? defaultSettings;
      for (const [index, uri] of body.redirect_uris.entries()) {
        const fault = faultOfRedirect(uri, settings);
        if (fault !== undefined) throw new OAuthError('invalid_redirect_uri', `redirect_uris[${index}] ${fault}`);
      }
      const { clientId, name, redirectUris, createdAt } = store.clients.put({
        clientId: randomUUID(),
        name: body.client_name,
        redirectUris: body.redirect_uris,
        createdAt: now().getTime(),
      });
      reply.code(201).header('cache-control', 'no-store');
      return {
        client_id: clientId,
        client_id_issued_at: Math.floor(createdAt / 1000),
        client_name: name,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none' as const,
      };
    },
  );
}
