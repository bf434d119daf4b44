import * as oidc from 'openid-client';
import { expect, test } from 'vitest';
import { karen, sandboxOfFile } from './client/caller.ts';
import { createProgram, hiddenFields, open, redirectUri, sentBack, state, submit } from './client/login.ts';

/* The flow itself stands in the conformance cases of section 5.3. */

let late = 0;
const { sandbox, ask } = await sandboxOfFile({ now: () => new Date(Date.now() + late) });
const program = (registration?: object) => createProgram(sandbox.url, ['users:read', 'sms:read'], registration);

test('the page names the program, its address, the users with portal access and what is asked for', async () => {
  const { address } = await program({ client_name: 'Mirror <b>&"co"' });
  const { status, headers, body } = await open(address());
  expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  expect(body).toContain('<b>Mirror &#60;b&#62;&#38;&#34;co&#34;</b> asks to act for you');
  for (const shown of ['app.example.com', 'Karen Whitfield, Billing manager']) expect(body).toContain(shown);
  expect(body).not.toContain('Owen Bell');
  const scopes = [...body.matchAll(/name="scope" value="([^"]+)" checked/g)].map(([, scope]) => scope);
  expect(scopes).toEqual(['users:read', 'sms:read']);
});

test('the page loads nothing, runs nothing, cannot be framed, and its form leads to the program alone', async () => {
  const { headers, body } = await open((await program()).address());
  const policy = headers.get('content-security-policy');
  expect(policy).toMatch(/^default-src 'none'; form-action 'self' https:\/\/app\.example\.com;/);
  expect(policy).toContain("frame-ancestors 'none'");
  expect([headers.get('cache-control'), headers.get('referrer-policy')]).toEqual(['no-store', 'no-referrer']);
  expect(body).not.toMatch(/<script|\son\w+=|style="/);
});

test('a form is answered once, within ten minutes, and only if it was shown', async () => {
  const { address } = await program();
  const shown = async () => ({ ...hiddenFields((await open(address())).body), user: String(karen), scope: 'sms:read' });
  for (const decision of ['allow', 'deny']) {
    const form = await shown();
    await submit(address(), { ...form, decision });
    const { status, headers, body } = await submit(address(), { ...form, decision: 'allow' });
    expect([status, headers.get('location'), body]).toEqual([400, null, expect.stringContaining('answered already')]);
  }
  const form = { ...(await shown()), decision: 'allow' };
  late += 600_001;
  for (const each of [form, { ...form, ticket: 'made-up' }]) expect((await submit(address(), each)).status).toBe(400);
  expect((await submit(address(), { decision: 'allow' })).body).toContain('is invalid');
});

test('a code expires after a minute', async () => {
  const { approve, redeem } = await program();
  const [inTime, tooLate] = [await approve(karen), await approve(karen)];
  late += 58_000;
  expect((await redeem(inTime)).status).toBe(200);
  late += 2_000;
  expect((await redeem(tooLate)).body).toEqual({ error: 'invalid_grant', error_description: 'the code is expired' });
});

test.each([
  ['an unknown code', { code: 'made-up' }, 'invalid_grant'],
  ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
  ['an empty code', { code: '' }, 'invalid_request'],
  ['an empty verifier', { code_verifier: '' }, 'invalid_request'],
  ['another grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
])('an exchange with %s is a 400, and the code is still good', async (_, changes, error) => {
  const { approve, redeem } = await program();
  const code = await approve(karen);
  const { status, headers, body } = await redeem(code, changes);
  expect({ status, body }).toEqual({ status: 400, body: { error, error_description: expect.any(String) } });
  expect(headers.get('cache-control')).toBe('no-store');
  expect((await redeem(code)).status).toBe(200);
});

test("a code and a refresh token are their client's alone, and of many refreshes one succeeds", async () => {
  const [mine, other] = [await program(), await program()];
  const code = await mine.approve(karen);
  expect((await mine.redeem(code, { client_id: other.clientId })).body.error).toBe('invalid_grant');
  const { refresh_token } = (await mine.redeem(code)).body;
  expect((await other.refresh(refresh_token)).body.error).toBe('invalid_grant');
  const answers = await Promise.all(Array.from({ length: 20 }, () => mine.refresh(refresh_token)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)]);
});

test('requests are kept without what is secret in them', async () => {
  const { approve, redeem } = await program();
  const code = await approve(karen);
  const { body } = await redeem(code);
  await ask('GET', '/users?last', undefined, body.access_token);
  const kept = () => JSON.stringify(sandbox.requests());
  await expect.poll(kept).toContain('/users?last');
  expect(kept()).toContain('/api/v1/oauth/token');
  const secrets = [code, body.access_token, body.refresh_token, state.replaceAll(' ', '+')];
  for (const secret of secrets) expect(kept()).not.toContain(secret);
});

test('openid-client, unmodified, discovers, registers, logs in, refreshes, and sees a denial', async () => {
  const insecure: oidc.DiscoveryRequestOptions = { execute: [oidc.allowInsecureRequests], algorithm: 'oauth2' };
  const metadata = { client_name: 'Unmodified', redirect_uris: [redirectUri] };
  const config = await oidc.dynamicClientRegistration(new URL(sandbox.url), metadata, oidc.None(), insecure);
  expect(config.serverMetadata().supportsPKCE()).toBe(true);

  async function logIn(decision: 'allow' | 'deny', scope: string) {
    const [pkceCodeVerifier, expectedState] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
    const challenge = await oidc.calculatePKCECodeChallenge(pkceCodeVerifier);
    const asked = { redirect_uri: redirectUri, scope, state: expectedState, code_challenge_method: 'S256' };
    const address = oidc.buildAuthorizationUrl(config, { ...asked, code_challenge: challenge });
    const form = {
      ...hiddenFields((await open(address)).body),
      user: String(karen),
      scope: scope.split(' '),
      decision,
    };
    const callback = sentBack(await submit(address, form));
    return () => oidc.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
  }

  const grant = await logIn('allow', 'users:read sms:send');
  const tokens = await grant();
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'users:read sms:send' });
  expect((await ask('GET', '/users', undefined, tokens.access_token)).status).toBe(200);
  const { refresh_token = '' } = tokens;
  expect((await oidc.refreshTokenGrant(config, refresh_token)).access_token).not.toBe(tokens.access_token);
  const used = { error: 'invalid_grant', status: 400 };
  await expect(oidc.refreshTokenGrant(config, refresh_token)).rejects.toMatchObject(used);
  await expect(grant()).rejects.toMatchObject(used);
  const denied = { error: 'access_denied', code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' };
  await expect((await logIn('deny', 'users:read'))()).rejects.toMatchObject(denied);
});
