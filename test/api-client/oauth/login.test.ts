import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { apiKey, createService } from '../../../src/api-client/client.ts';
import { type Client, createOAuth, type PendingLogin } from '../../../src/api-client/oauth/oauth.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createLog } from '../../../src/shared/log.ts';
import { refusalOf } from '../endpoint.ts';
import { noon, openOAuth } from './service.ts';

const redirectUri = 'https://app.example.com/callback?from=trunkline';
let sandbox: Sandbox;
let client: Client;
beforeAll(async () => {
  sandbox = await createSandbox({ calls: 2, threads: 1 });
  const oauth = createOAuth({ baseUrl: sandbox.url, log: createLog('silent') });
  client = await oauth.register({ name: 'Trunkline', redirectUri });
  await oauth.close();
});
afterEach(() => sandbox.faults());
afterAll(() => sandbox.close());

/** What a browser brings back after the consent page. */
async function decide(
  login: PendingLogin & { url: string },
  fields: Record<string, string | string[]>,
): Promise<string> {
  const page = await (await fetch(login.url)).text();
  const ticket = /name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const form = Object.entries({ ticket, user: '4128', ...fields });
  const body = new URLSearchParams(
    form.flatMap(([key, value]) => [value].flat().map((one): [string, string] => [key, one])),
  );
  const answer = await fetch(login.url, { method: 'POST', redirect: 'manual', body });
  return answer.headers.get('location') ?? '';
}

async function loggedIn() {
  const oauth = openOAuth(sandbox.url);
  const login = await oauth.begin({ client, scopes: ['users:read', 'sms:read'] });
  const callback = await decide(login, { scope: login.scopes.slice(), decision: 'allow' });
  return { oauth, login, callback, granted: await oauth.complete(login, callback) };
}

test('discovery tells where everything is, and which scopes there are', async () => {
  expect(await openOAuth(`${sandbox.url}/`).discover()).toEqual({
    authorizationEndpoint: `${sandbox.url}/api/v1/oauth/authorize`,
    tokenEndpoint: `${sandbox.url}/api/v1/oauth/token`,
    registrationEndpoint: `${sandbox.url}/api/v1/oauth/register`,
    scopes: expect.arrayContaining(['users:read', 'messages:write']),
  });
});

test('the address of a login carries all that 5.3 asks for, and is another one each time', async () => {
  const oauth = openOAuth(sandbox.url);
  const [login, other] = [
    await oauth.begin({ client, scopes: ['users:read', 'sms:read'] }),
    await oauth.begin({ client, scopes: ['users:read'] }),
  ];
  expect(Object.fromEntries(new URL(login.url).searchParams)).toEqual({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: 'users:read sms:read',
    state: login.state,
    code_challenge: createHash('sha256').update(login.verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  expect(Buffer.from(login.verifier, 'base64url')).toHaveLength(32);
  expect([other.state, other.verifier]).not.toEqual([login.state, login.verifier]);
  expect(JSON.parse(JSON.stringify(login))).toEqual(login);
});

test('an allowed login gives tokens that the API takes', async () => {
  const { granted } = await loggedIn();
  expect(granted).toEqual({
    tokens: {
      accessToken: expect.stringMatching(/./),
      refreshToken: expect.stringMatching(/./),
      expiresAt: noon + 3_600_000,
      scopes: ['users:read', 'sms:read'],
    },
    missingScopes: [],
  });
  const credential = apiKey(granted.tokens.accessToken);
  const service = createService({ baseUrl: sandbox.url, credential, log: createLog('silent') });
  expect((await service.users.list()).data.length).toBeGreaterThan(0);
  await service.close();
});

test('scopes that the user did not grant are named', async () => {
  const oauth = openOAuth(sandbox.url);
  const login = await oauth.begin({ client, scopes: ['users:read', 'sms:send', 'sms:read'] });
  const granted = await oauth.complete(login, await decide(login, { scope: 'sms:read', decision: 'allow' }));
  expect(granted).toMatchObject({ tokens: { scopes: ['sms:read'] }, missingScopes: ['users:read', 'sms:send'] });
});

test('a receiver may give the path of the callback alone', async () => {
  const oauth = openOAuth(sandbox.url);
  const login = await oauth.begin({ client, scopes: ['sms:read'] });
  const { pathname, search } = new URL(await decide(login, { scope: 'sms:read', decision: 'allow' }));
  expect((await oauth.complete(login, pathname + search)).tokens.scopes).toEqual(['sms:read']);
});

test('a denied login is a missing permission, and exchanges nothing', async () => {
  const oauth = openOAuth(sandbox.url);
  const login = await oauth.begin({ client, scopes: ['sms:read'] });
  const error = await refusalOf(oauth.complete(login, await decide(login, { decision: 'deny' })));
  expect(error).toMatchObject({ code: 'permission_denied', advice: 'permission', effect: 'none' });
});

test('a scope that the service does not know is refused at the callback', async () => {
  const oauth = openOAuth(sandbox.url);
  const login = await oauth.begin({ client, scopes: ['sms:everything'] });
  const callback = (await fetch(login.url, { redirect: 'manual' })).headers.get('location') ?? '';
  expect(await refusalOf(oauth.complete(login, callback))).toMatchObject({
    code: 'insufficient_scope',
    effect: 'none',
  });
});

test('a code that was used is refused: log in again', async () => {
  const { oauth, login, callback } = await loggedIn();
  const error = await refusalOf(oauth.complete(login, callback));
  expect(error).toMatchObject({ code: 'unauthenticated', advice: 'credential', effect: 'none', status: 400 });
});

test('another verifier is refused', async () => {
  const oauth = openOAuth(sandbox.url);
  const login = await oauth.begin({ client, scopes: ['sms:read'] });
  const callback = await decide(login, { scope: 'sms:read', decision: 'allow' });
  const error = await refusalOf(oauth.complete({ ...login, verifier: 'w'.repeat(43) }, callback));
  expect(error).toMatchObject({ code: 'unauthenticated', effect: 'none' });
});

test('a refresh gives new tokens, and using the old one again is a refusal', async () => {
  const { oauth, granted } = await loggedIn();
  const renewed = await oauth.refresh(client, granted.tokens);
  expect(renewed.scopes).toEqual(granted.tokens.scopes);
  expect([renewed.accessToken, renewed.refreshToken]).not.toContain(granted.tokens.refreshToken);
  const error = await refusalOf(oauth.refresh(client, granted.tokens));
  expect(error).toMatchObject({ code: 'unauthenticated', advice: 'credential', effect: 'none' });
  expect((await oauth.refresh(client, renewed)).scopes).toEqual(granted.tokens.scopes);
});

test('a refresh whose answer is lost is in doubt, and only another try tells that the token is used up', async () => {
  const { oauth, granted } = await loggedIn();
  sandbox.faults({ kind: 'reset', when: 'after', operation: 'getTokens' });
  expect(await refusalOf(oauth.refresh(client, granted.tokens))).toMatchObject({ code: 'network', effect: 'unknown' });
  sandbox.faults();
  expect(await refusalOf(oauth.refresh(client, granted.tokens))).toMatchObject({
    code: 'unauthenticated',
    effect: 'none',
  });
});

test('a refresh that never reached the token endpoint harmed nothing', async () => {
  const { oauth, granted } = await loggedIn();
  sandbox.faults({ kind: 'reset', operation: 'discoverOAuth' });
  expect(await refusalOf(oauth.refresh(client, granted.tokens))).toMatchObject({ advice: 'retry', effect: 'none' });
  sandbox.faults();
  expect((await oauth.refresh(client, granted.tokens)).accessToken).toMatch(/./);
});

test('a redirect that the operator does not allow cannot be registered, and the reason is told', async () => {
  const asked = { name: 'Trunkline', redirectUri: 'https://elsewhere.test/callback' };
  const error = await refusalOf(openOAuth(sandbox.url).register(asked));
  expect(error).toMatchObject({ code: 'invalid_request', advice: 'refused', effect: 'none', status: 400 });
  expect(error.message).toContain('allow-list');
});
