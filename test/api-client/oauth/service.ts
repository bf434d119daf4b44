import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { createOAuth, type OAuth, type OAuthOptions, type PendingLogin } from '../../../src/api-client/oauth/oauth.ts';
import { createLog } from '../../../src/shared/log.ts';
import { type Endpoint, json, listen, type Seen } from '../endpoint.ts';

export const noon = Date.parse('2026-04-21T12:00:00Z');

/** An OAuth client for one test, at noon. */
export function openOAuth(baseUrl: string, options: Partial<OAuthOptions> = {}): OAuth {
  const oauth = createOAuth({ baseUrl, log: createLog('silent'), now: () => noon, ...options });
  onTestFinished(() => oauth.close());
  return oauth;
}

export type Respond = (response: ServerResponse, request: Seen) => void;

/** How a small service answers; what is left out is as the specification shows it. */
export interface Behaviour {
  discovery?: Respond;
  registration?: Respond;
  token?: Respond;
}

/** What 5.3 shows of the discovery document, and nothing more. */
export function document(base: string): Record<string, unknown> {
  return {
    authorization_endpoint: `${base}/login`,
    token_endpoint: `${base}/token`,
    registration_endpoint: `${base}/register`,
    scopes_supported: ['sms:read', 'users:read'],
  };
}

export const tokens = {
  access_token: 'access-2f7c',
  token_type: 'Bearer',
  expires_in: 3600,
  refresh_token: 'refresh-9b1e',
  scope: 'sms:read users:read',
};

/** A real HTTP service that does what 5.3 shows, but for what a test wants otherwise. */
export async function startService(behaviour: Behaviour = {}): Promise<Endpoint> {
  const endpoint = await listen((response, request) => {
    const path = request.url.split('?')[0];
    if (path?.endsWith('/.well-known/oauth-authorization-server')) {
      if (behaviour.discovery) return behaviour.discovery(response, request);
      return json(response, 200, document(endpoint.url));
    }
    if (path === '/register') {
      if (behaviour.registration) return behaviour.registration(response, request);
      const { redirect_uris } = JSON.parse(request.body);
      return json(response, 201, { client_id: 'client-1', redirect_uris });
    }
    if (path === '/token') {
      if (behaviour.token) return behaviour.token(response, request);
      return json(response, 200, tokens);
    }
    response.writeHead(404).end();
  });
  return endpoint;
}

/** A login that waits for its callback. */
export const login: PendingLogin = {
  client: { clientId: 'client-1', redirectUri: 'https://app.example.com/callback' },
  scopes: ['sms:read', 'users:read'],
  verifier: 'verifier-'.padEnd(43, 'x'),
  state: 'state-51d0',
};

export const callback = `${login.client.redirectUri}?code=code-77aa&state=${login.state}`;
export const before = { refreshToken: 'refresh-old', scopes: ['sms:read'] };
export const client = { clientId: 'client-1' };
