import { z } from 'zod';
import { scopes } from '../../entities/access.ts';
import type { Api } from '../../http/api.ts';
import { tag } from '../../http/openapi.ts';
import { addresses } from './addresses.ts';

const metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string(),
  scopes_supported: z.array(z.enum(scopes)).describe('The live list.'),
  response_types_supported: z.array(z.string()),
  grant_types_supported: z.array(z.string()),
  code_challenge_methods_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()),
});

/** GET /.well-known/oauth-authorization-server (5.3): the addresses are those of the host that was asked. */
export function discoveryRoutes(api: Api): void {
  api.get(
    addresses.discovery,
    {
      schema: {
        operationId: 'discoverOAuth',
        summary: 'Where authorization happens; read it at run time',
        tags: tag('5.3'),
        response: { 200: metadata },
      },
    },
    (request) => {
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
  );
}
