import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller } from './client/caller.ts';
import { refresh } from './oauth/login.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 5, threads: 2 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
afterAll(() => sandbox.close());

test.each([
  ['a scheme that is not Bearer', 'Basic c2FuZGJveC1rZXk='],
  ['no scheme', 'sandbox-key'],
  ['no credential', 'Bearer '],
  ['two of them', 'Bearer sandbox-key sandbox-key'],
])('an Authorization header with %s is a 401', async (_, authorization) => {
  const response = await fetch(`${sandbox.url}/api/public/v1/users`, { headers: { authorization } });
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toContain('scope="users:read"');
});

test('a token is given out for a user without any ceremony, for as long as told', async () => {
  const { status, body } = await control('POST', '/tokens', {
    userId: 4128,
    scopes: ['users:read'],
    expiresInSeconds: 60,
  });
  expect(status).toBe(201);
  expect(body.data).toMatchObject({ token_type: 'Bearer', expires_in: 60, scope: 'users:read', client_id: 'sandbox' });
  expect((await ask('GET', '/users', undefined, body.data.access_token)).status).toBe(200);
  const expired = await control('POST', '/tokens', { userId: 4128, expiresInSeconds: 0 });
  expect((await ask('GET', '/users', undefined, expired.body.data.access_token)).status).toBe(401);
});

test('expired tokens can be refreshed, revoked ones cannot', async () => {
  const { body } = await control('POST', '/tokens', { userId: 4128 });
  const { access_token, refresh_token, client_id } = body.data;
  expect((await control('DELETE', '/tokens')).status).toBe(204);
  expect((await ask('GET', '/users', undefined, access_token)).status).toBe(401);
  const renewed = await refresh(sandbox.url, client_id, refresh_token);
  expect((await ask('GET', '/users', undefined, renewed.body.access_token)).status).toBe(200);
  expect((await control('DELETE', '/grants')).status).toBe(204);
  expect((await ask('GET', '/users', undefined, renewed.body.access_token)).status).toBe(401);
  expect((await refresh(sandbox.url, client_id, renewed.body.refresh_token)).status).toBe(400);
});

test('requests are kept with the name of their key and no credential', async () => {
  await ask('GET', '/users?seen=1');
  const last = () => sandbox.requests().findLast((request) => request.path.endsWith('/users?seen=1'));
  await expect.poll(last).toMatchObject({ method: 'GET', status: 200, key: 'default' });
  expect(JSON.stringify(sandbox.requests())).not.toContain(sandbox.apiKey);
});
