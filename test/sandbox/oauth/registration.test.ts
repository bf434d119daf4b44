import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { caller } from '../client/caller.ts';
import { open, register } from './login.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
});
afterAll(() => sandbox.close());

test('discovery names the addresses of the host that was asked, and what is supported', async () => {
  const { status, body } = await open(`${sandbox.url}/.well-known/oauth-authorization-server`);
  expect(status).toBe(200);
  expect(body).toEqual({
    issuer: sandbox.url,
    authorization_endpoint: `${sandbox.url}/api/v1/oauth/authorize`,
    token_endpoint: `${sandbox.url}/api/v1/oauth/token`,
    registration_endpoint: `${sandbox.url}/api/v1/oauth/register`,
    scopes_supported: expect.arrayContaining(['webhooks:read', 'sms:send', 'messages:read', 'messages:write']),
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  });
  const elsewhere = sandbox.url.replace('127.0.0.1', 'localhost');
  const { body: other } = await open(`${elsewhere}/.well-known/oauth-authorization-server`);
  expect(other.token_endpoint).toBe(`${elsewhere}/api/v1/oauth/token`);
});

test('a registration gives an id and says what it kept; metadata that it does not know is ignored', async () => {
  const redirects = ['https://app.example.com/callback', 'https://localhost:8443/cb?from=here'];
  const { status, body } = await register(sandbox.url, {
    redirect_uris: redirects,
    logo_uri: 'https://app.example.com/logo.png',
    token_endpoint_auth_method: 'client_secret_basic',
  });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    client_id: expect.stringMatching(/./),
    client_name: 'A program',
    redirect_uris: redirects,
  });
  expect((await register(sandbox.url)).body.client_id).not.toBe(body.client_id);
});

test.each([
  ['http://app.example.com/callback', 'must be HTTPS'],
  ['http://127.0.0.1:8080/callback', 'must be HTTPS'],
  ['app:/callback', 'must be HTTPS'],
  ['https://elsewhere.test/callback', 'allow-list'],
  ['https://app.example.com.elsewhere.test/callback', 'allow-list'],
  ['https://app.example.com@elsewhere.test/callback', 'a user or a password'],
  ['https://app.example.com/callback#part', 'fragment'],
  ['https://app.example.com/callback#', 'fragment'],
  ['/callback', 'not an address'],
])('the redirect %s is refused: %s', async (uri, reason) => {
  const { status, body } = await register(sandbox.url, { redirect_uris: ['https://example.com/fine', uri] });
  expect(status).toBe(400);
  expect(body).toEqual({ error: 'invalid_redirect_uri', error_description: expect.stringContaining(reason) });
  expect(body.error_description).toContain('redirect_uris[1]');
});

test('the operator decides which hosts may be sent to, and whether this machine may do without TLS', async () => {
  const control = caller(sandbox, '/_sandbox');
  const plain = { redirect_uris: ['http://127.0.0.1:8080/callback'] };
  const own = { redirect_uris: ['https://own.test/callback'] };
  expect((await register(sandbox.url, plain)).status).toBe(400);
  expect((await register(sandbox.url, own)).status).toBe(400);
  await control('PATCH', '/account', { plainLoopbackRedirects: true, redirectHosts: ['127.0.0.1', 'own.test'] });
  expect((await register(sandbox.url, plain)).status).toBe(201);
  expect((await register(sandbox.url, own)).status).toBe(201);
  expect((await register(sandbox.url, { redirect_uris: ['http://own.test/callback'] })).status).toBe(400);
  expect((await register(sandbox.url)).status).toBe(400);
});
