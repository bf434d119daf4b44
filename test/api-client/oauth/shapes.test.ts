import { expect, test } from 'vitest';
import { json, refusalOf } from '../endpoint.ts';
import { before, callback, client, document, login, noon, openOAuth, startService, tokens } from './service.ts';

const asked = { name: 'Trunkline', redirectUri: login.client.redirectUri };

test('discovery with only the four keys is enough for every step', async () => {
  const { url, seen } = await startService();
  const oauth = openOAuth(url);
  expect(await oauth.register(asked)).toEqual(login.client);
  expect((await oauth.begin({ client: login.client, scopes: login.scopes })).url).toContain(`${url}/login?`);
  expect((await oauth.complete(login, callback)).tokens.accessToken).toBe(tokens.access_token);
  expect((await oauth.refresh(client, before)).refreshToken).toBe(tokens.refresh_token);
  expect(seen.filter(({ method }) => method === 'POST').map((one) => one.url)).toEqual([
    '/register',
    '/token',
    '/token',
  ]);
});

test('the requests are those of 5.3, and hold nothing else', async () => {
  const { url, seen } = await startService();
  const oauth = openOAuth(url);
  await oauth.register(asked);
  await oauth.complete(login, callback);
  await oauth.refresh(client, before);
  const posts = seen.filter(({ method }) => method === 'POST');
  expect(JSON.parse(posts[0]?.body ?? '')).toEqual({
    client_name: asked.name,
    redirect_uris: [asked.redirectUri],
  });
  expect(Object.fromEntries(new URLSearchParams(posts[1]?.body))).toEqual({
    grant_type: 'authorization_code',
    code: 'code-77aa',
    code_verifier: login.verifier,
    client_id: 'client-1',
    redirect_uri: login.client.redirectUri,
  });
  expect(Object.fromEntries(new URLSearchParams(posts[2]?.body))).toEqual({
    grant_type: 'refresh_token',
    refresh_token: before.refreshToken,
    client_id: 'client-1',
  });
  for (const { headers } of posts.slice(1)) {
    expect(headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
    expect(headers.authorization).toBeUndefined();
  }
});

test('a base address with a path has its document below it', async () => {
  const { url, seen } = await startService();
  await openOAuth(`${url}/telephony/`).discover();
  expect(seen[0]?.url).toBe('/telephony/.well-known/oauth-authorization-server');
});

test('the addresses are read again each time, since they may move', async () => {
  let moves = 0;
  const service = await startService({
    discovery: (response) =>
      json(response, 200, { ...document(service.url), authorization_endpoint: `${service.url}/${moves++}` }),
  });
  const oauth = openOAuth(service.url);
  expect((await oauth.discover()).authorizationEndpoint).toBe(`${service.url}/0`);
  expect((await oauth.discover()).authorizationEndpoint).toBe(`${service.url}/1`);
});

test('another issuer, further keys and the envelope of data do no harm', async () => {
  const service = await startService({
    discovery: (response) =>
      json(response, 200, { data: { ...document(service.url), issuer: 'https://elsewhere.test', novelty: [1] } }),
    registration: (response) => json(response, 200, { data: { client_id: 'client-1' } }),
    token: (response) => json(response, 200, { data: { ...tokens, id_token: 'no token at all' } }),
  });
  const oauth = openOAuth(service.url);
  expect(await oauth.register(asked)).toEqual(login.client);
  expect((await oauth.complete(login, callback)).tokens.refreshToken).toBe(tokens.refresh_token);
});

test.each([
  ['answered 200', 200, { client_id: 'client-1' }],
  ['with a number for an id', 201, { client_id: 1 }],
  ['with a secret that nobody needs', 201, { client_id: 'client-1', client_secret: 'secret' }],
])('a registration %s will do', async (_, status, body) => {
  const { url } = await startService({ registration: (response) => json(response, status, body) });
  expect((await openOAuth(url).register(asked)).clientId).toBe(String(body.client_id));
});

test.each([
  ['no lifetime', { expires_in: undefined }, { expiresAt: noon + 3_600_000 }],
  ['a lifetime as text', { expires_in: '60' }, { expiresAt: noon + 60_000 }],
  ['no scope', { scope: undefined }, { scopes: ['sms:read'] }],
  ['no new refresh token', { refresh_token: undefined }, { refreshToken: before.refreshToken }],
  ['no token type', { token_type: undefined }, { accessToken: tokens.access_token }],
])('a refresh that is answered with %s keeps what was', async (_, change, expected) => {
  const { url } = await startService({ token: (response) => json(response, 200, { ...tokens, ...change }) });
  expect(await openOAuth(url).refresh(client, before)).toMatchObject(expected);
});

test('another content type of the same JSON will do', async () => {
  const { url } = await startService({
    token: (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(JSON.stringify(tokens)),
  });
  expect((await openOAuth(url).refresh(client, before)).accessToken).toBe(tokens.access_token);
});

test.each([
  ['no access token', { ...tokens, access_token: undefined }],
  ['an access token that no header can carry', { ...tokens, access_token: 'a b' }],
  ['another kind of token', { ...tokens, token_type: 'DPoP' }],
  ['a list', [tokens]],
])('an answer with %s is unreadable, and leaves the effect in doubt', async (_, body) => {
  const { url } = await startService({ token: (response) => json(response, 200, body) });
  const error = await refusalOf(openOAuth(url).refresh(client, before));
  expect(error).toMatchObject({ code: 'unreadable', advice: 'retry', effect: 'unknown', operation: 'oauth.refresh' });
});

test('a login without a refresh token would not last, and is unreadable', async () => {
  const { url } = await startService({
    token: (response) => json(response, 200, { ...tokens, refresh_token: undefined }),
  });
  const error = await refusalOf(openOAuth(url).complete(login, callback));
  expect(error).toMatchObject({ code: 'unreadable', effect: 'unknown' });
  expect(error.message).toContain('refresh_token');
});

test('a login that grants nothing of what was asked is a missing scope', async () => {
  const { url } = await startService({ token: (response) => json(response, 200, { ...tokens, scope: 'other' }) });
  const error = await refusalOf(openOAuth(url).complete(login, callback));
  expect(error).toMatchObject({ code: 'insufficient_scope', advice: 'scope', scope: 'sms:read users:read' });
});

test.each([
  ['no token endpoint', { token_endpoint: undefined }, 'token_endpoint'],
  ['a token endpoint that is no address', { token_endpoint: '/token' }, 'token_endpoint'],
  [
    'an authorization endpoint for a script',
    { authorization_endpoint: 'javascript:alert(1)' },
    'authorization_endpoint',
  ],
])('discovery with %s is unreadable, and names the key', async (_, change, key) => {
  const service = await startService({
    discovery: (response) => json(response, 200, { ...document(service.url), ...change }),
  });
  const error = await refusalOf(openOAuth(service.url).refresh(client, before));
  expect(error).toMatchObject({ code: 'unreadable', effect: 'none' });
  expect(error.message).toContain(key);
  expect(service.seen).toHaveLength(1);
});

test('without a registration endpoint there is no registering, and everything else works', async () => {
  const service = await startService({
    discovery: (response) => json(response, 200, { ...document(service.url), registration_endpoint: undefined }),
  });
  const oauth = openOAuth(service.url);
  expect(await refusalOf(oauth.register(asked))).toMatchObject({ code: 'unsupported', effect: 'none' });
  expect((await oauth.discover()).registrationEndpoint).toBeUndefined();
  expect((await oauth.refresh(client, before)).accessToken).toBe(tokens.access_token);
});
