import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';
import { authorizationRoutes } from './authorization.ts';
import { discoveryRoutes } from './discovery.ts';
import { registrationRoutes } from './registration.ts';
import { tokenRoutes } from './token.ts';

/** OAuth 2.1 with PKCE (5.3), outside the prefix of the API. */
export function oauthRoutes(api: Api, context: Context): void {
  acceptForms(api);
  discoveryRoutes(api);
  registrationRoutes(api, context);
  authorizationRoutes(api, context);
  tokenRoutes(api, context);
}

/** A field that comes twice becomes a list, which no schema of a single field accepts. */
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
