import type { Context } from '../../context.ts';
import type { Api } from '../../http/api.ts';

/** OAuth 2.1 with PKCE (5.3), outside the prefix of the API. */
export function oauthRoutes(_api: Api, _context: Context): void {}
