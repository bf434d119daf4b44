import * as oidc from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { caller } from '../client/caller.ts';
import { decide, open, redirectUri, ticketOf } from './login.ts';

/** The library as anybody would use it: nothing about it is changed. */
const insecure: oidc.DiscoveryRequestOptions = { execute: [oidc.allowInsecureRequests], algorithm: 'oauth2' };

let sandbox: Sandbox;
let config: oidc.Configuration;
beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  const metadata = { client_name: 'Unmodified', redirect_uris: [redirectUri] };
  config = await oidc.dynamicClientRegistration(new URL(sandbox.url), metadata, oidc.None(), insecure);
});
afterAll(() => sandbox.close());

async function begin(scope: string) {
  const [pkceCodeVerifier, expectedState] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
  const address = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state: expectedState,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  return { address: address.href, checks: { pkceCodeVerifier, expectedState } };
}

async function answer(address: string, fields: Record<string, string | string[]>): Promise<URL> {
  const form = { ticket: ticketOf((await open(address)).body), user: '4128', ...fields };
  return new URL((await decide(address, form)).headers.get('location') ?? '');
}

test('openid-client discovers, registers, logs in, refreshes, and is refused a second refresh', async () => {
  const clientId = config.clientMetadata().client_id;
  const discovered = await oidc.discovery(new URL(sandbox.url), clientId, undefined, oidc.None(), insecure);
  expect(discovered.serverMetadata()).toEqual(config.serverMetadata());
  expect(discovered.serverMetadata().supportsPKCE()).toBe(true);

  const { address, checks } = await begin('users:read sms:send');
  const callback = await answer(address, { scope: ['users:read', 'sms:send'], decision: 'allow' });
  const tokens = await oidc.authorizationCodeGrant(config, callback, checks);
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'users:read sms:send' });
  expect((await caller(sandbox)('GET', '/users', undefined, tokens.access_token)).status).toBe(200);

  const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
  expect(renewed.access_token).not.toBe(tokens.access_token);
  const reuse = oidc.refreshTokenGrant(config, tokens.refresh_token ?? '');
  await expect(reuse).rejects.toMatchObject({ error: 'invalid_grant', status: 400 });
  const replay = oidc.authorizationCodeGrant(config, callback, checks);
  await expect(replay).rejects.toMatchObject({ error: 'invalid_grant', status: 400 });
});

test('openid-client sees a denial as one', async () => {
  const { address, checks } = await begin('users:read');
  const callback = await answer(address, { decision: 'deny' });
  const grant = oidc.authorizationCodeGrant(config, callback, checks);
  await expect(grant).rejects.toMatchObject({ error: 'access_denied', code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' });
});
