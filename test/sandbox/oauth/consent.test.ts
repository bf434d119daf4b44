import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { caller } from '../client/caller.ts';
import { approve, authorizationUrl, decide, open, redeem, redirectUri, register, sentBack, ticketOf } from './login.ts';

let sandbox: Sandbox;
let clientId: string;
let late = 0;
beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, now: () => new Date(Date.now() + late) });
  clientId = (await register(sandbox.url, { client_name: 'Mirror <b>&"co"' })).body.client_id;
});
afterAll(() => sandbox.close());

test('the page names the program, its address, the users with portal access and what is asked for', async () => {
  const { status, headers, body } = await open(authorizationUrl(sandbox.url, clientId));
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/html');
  expect(body).toContain('<b>Mirror &#60;b&#62;&#38;&#34;co&#34;</b> asks to act for you');
  expect(body).toContain('app.example.com');
  expect(body).toContain('Karen Whitfield, Billing manager');
  expect(body).not.toContain('Owen Bell');
  expect([...body.matchAll(/name="scope" value="([^"]+)" checked/g)].map(([, scope]) => scope)).toEqual([
    'users:read',
    'sms:read',
  ]);
});

test('the page loads nothing, runs nothing, cannot be framed, and its form leads to the program alone', async () => {
  const { headers, body } = await open(authorizationUrl(sandbox.url, clientId));
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^default-src 'none'; form-action 'self' https:\/\/app\.example\.com;/);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(body).not.toMatch(/<script|\son\w+=|style="/);
});

test('allowing leads back with a code and the state, keeping the query of the redirect', async () => {
  const uri = 'https://example.com/callback?tenant=7';
  const { body: client } = await register(sandbox.url, { redirect_uris: [uri] });
  const address = authorizationUrl(sandbox.url, client.client_id, { redirect_uri: uri, state: 'ü &=' });
  const form = { user: '4100', scope: 'sms:read', decision: 'allow' };
  const answer = await decide(address, { ...form, ticket: ticketOf((await open(address)).body) });
  expect(sentBack(answer)).toEqual({ tenant: '7', code: expect.stringMatching(/^[\w-]{43}$/), state: 'ü &=' });
});

test('a user may grant less than was asked, and never more', async () => {
  const address = authorizationUrl(sandbox.url, clientId, { scope: 'sms:read users:read' });
  const ticket = ticketOf((await open(address)).body);
  const scope = ['users:read', 'sms:send', 'sms:everything'];
  const { code = '' } = sentBack(await decide(address, { ticket, user: '4100', scope, decision: 'allow' }));
  expect((await redeem(sandbox.url, clientId, code)).body.scope).toBe('users:read');
});

test.each([
  ['nobody', { user: '', scope: 'sms:read' }, 'Choose a user to sign in as'],
  ['a stranger', { user: '99', scope: 'sms:read' }, 'Choose a user to sign in as'],
  ['somebody without portal access', { user: '4170', scope: 'sms:read' }, 'Choose a user to sign in as'],
  ['no permission at all', { user: '4135', scope: [] }, 'Tick at least one scope'],
  ['a permission that was not asked for', { user: '4135', scope: 'sms:send' }, 'Tick at least one scope'],
])('choosing %s is refused, and the form can still be answered', async (_, chosen, notice) => {
  const address = authorizationUrl(sandbox.url, clientId);
  const ticket = ticketOf((await open(address)).body);
  const { status, body } = await decide(address, { ticket, ...chosen, decision: 'allow' });
  expect(status).toBe(400);
  expect(body).toContain(notice);
  const form = { ticket, user: '4100', scope: 'sms:read', decision: 'allow' };
  expect(sentBack(await decide(address, form))).toHaveProperty('code');
});

test.each(['allow', 'deny'])('a form is answered once: after %s it leads nowhere', async (decision) => {
  const address = authorizationUrl(sandbox.url, clientId);
  const form = { ticket: ticketOf((await open(address)).body), user: '4100', scope: 'sms:read', decision };
  await decide(address, form);
  const { status, headers, body } = await decide(address, { ...form, decision: 'allow' });
  expect({ status, location: headers.get('location') }).toEqual({ status: 400, location: null });
  expect(body).toContain('answered already');
});

test('a form that is too old, or that nobody was shown, leads nowhere', async () => {
  const address = authorizationUrl(sandbox.url, clientId);
  const ticket = ticketOf((await open(address)).body);
  late += 600_001;
  for (const each of [ticket, 'made-up']) {
    const form = { ticket: each, user: '4100', scope: 'sms:read', decision: 'allow' };
    expect((await decide(address, form)).status).toBe(400);
  }
  expect((await decide(address, { decision: 'allow' })).body).toContain('is invalid');
});

test.each([
  ['an unknown client', { client_id: 'nobody' }],
  ['no client', { client_id: undefined }],
  ['another redirect', { redirect_uri: 'https://app.example.com/other' }],
  ['a redirect with more to it', { redirect_uri: `${redirectUri}?x=1` }],
  ['the same redirect, written otherwise', { redirect_uri: 'https://APP.example.com/callback' }],
  ['no redirect', { redirect_uri: undefined }],
])('%s gets a page that says so, and no redirect', async (_, query) => {
  const { status, headers, body } = await open(authorizationUrl(sandbox.url, clientId, query));
  expect({ status, location: headers.get('location') }).toEqual({ status: 400, location: null });
  expect(body).toContain('This login cannot continue');
});

test('a host that left the allow-list after the registration is not sent to', async () => {
  const control = caller(sandbox, '/_sandbox');
  const { redirectHosts } = (await control('GET', '/account')).body.data;
  await control('PATCH', '/account', { redirectHosts: ['example.com'] });
  const { status, body } = await open(authorizationUrl(sandbox.url, clientId));
  await control('PATCH', '/account', { redirectHosts });
  expect(status).toBe(400);
  expect(body).toContain('allow-list');
});

test.each([
  ['no response type', { response_type: undefined }, 'invalid_request'],
  ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
  ['no challenge', { code_challenge: undefined }, 'invalid_request'],
  ['a challenge that is no hash', { code_challenge: 'short' }, 'invalid_request'],
  ['no challenge method', { code_challenge_method: undefined }, 'invalid_request'],
  ['the plain challenge method', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['no scope', { scope: undefined }, 'invalid_scope'],
  ['an empty scope', { scope: ' ' }, 'invalid_scope'],
  ['an unknown scope', { scope: 'sms:read sms:everything' }, 'invalid_scope'],
])('%s leads back with %s and the state', async (_, query: Record<string, string | undefined>, error) => {
  const answer = await open(authorizationUrl(sandbox.url, clientId, query));
  expect(sentBack(answer)).toEqual({ error, error_description: expect.any(String), state: 'a state' });
});

test('the tokens act for the user who was chosen', async () => {
  const code = await approve(sandbox.url, clientId, 4128, ['users:read']);
  const { body } = await redeem(sandbox.url, clientId, code);
  const seen = await caller(sandbox)('GET', '/users', undefined, body.access_token);
  expect(seen.status).toBe(200);
  const asked = () => sandbox.requests().findLast(({ path }) => path.endsWith('/users'))?.key;
  await expect.poll(asked).toBe('karen.whitfield by Mirror <b>&"co"');
});
