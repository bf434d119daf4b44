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

const thread = '/sms/conversations/16465550100/12125550100';
/** Every operation of sections 4.1 to 4.7 with its scope. */
const endpoints = [
  ['GET', '/sms/lines', 'sms:read'],
  ['POST', '/sms/messages', 'sms:send'],
  ['GET', thread, 'messages:read'],
  ['POST', `${thread}/resolve`, 'sms:write'],
  ['POST', `${thread}/reopen`, 'sms:write'],
  ['POST', `${thread}/assign`, 'sms:write'],
  ['POST', `${thread}/comments`, 'sms:write'],
  ['POST', `${thread}/read`, 'messages:write'],
  ['DELETE', `${thread}/messages/1`, 'messages:write'],
  ['DELETE', thread, 'messages:write'],
  ['POST', '/sms/lines/16465550100/blocked', 'sms:write'],
  ['GET', '/sms/lines/16465550100/blocked/12125550100', 'sms:read'],
  ['GET', '/sms/unread', 'messages:read'],
  ['POST', '/sms/lines/16465550100/read', 'messages:write'],
  ['PUT', '/sms/drafts/one', 'sms:write'],
  ['DELETE', '/sms/drafts/one', 'sms:write'],
  ['POST', '/sms/templates', 'sms:write'],
  ['DELETE', '/sms/templates/1', 'sms:write'],
  ['GET', '/users', 'users:read'],
  ['POST', '/calls/search', 'reports:read'],
  ['GET', '/calls/1700000000.1', 'reports:read'],
  ['GET', '/calls/1700000000.1/recordings', 'recordings:read'],
  ['GET', '/calls/1700000000.1/transcripts', 'recordings:read'],
  ['GET', '/webhooks', 'webhooks:read'],
  ['GET', '/webhooks/types', 'webhooks:read'],
  ['GET', '/webhooks/1', 'webhooks:read'],
  ['POST', '/webhooks', 'webhooks:write'],
  ['PUT', '/webhooks/1', 'webhooks:write'],
  ['PATCH', '/webhooks/1', 'webhooks:write'],
  ['POST', '/webhooks/1/enable', 'webhooks:write'],
  ['POST', '/webhooks/1/disable', 'webhooks:write'],
  ['DELETE', '/webhooks/1', 'webhooks:write'],
] as const;

test('the table of endpoints holds every one that there is', async () => {
  const { paths } = (await (await fetch(`${sandbox.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security?: unknown }>>;
  };
  const secured = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ security }) => security !== undefined);
  expect(secured).toHaveLength(endpoints.length);
});

test.each(endpoints)('%s %s answers 401 without a credential and names %s', async (method, path, scope) => {
  for (const key of [null, 'no-such-key']) {
    const { status, headers, body } = await ask(method, path, undefined, key);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain(`scope="${scope}"`);
    expect(body).toEqual({ error: { type: 'unauthenticated', message: expect.any(String) } });
  }
});

/** A key and a token of a user who may do everything, with these scopes. */
async function credentialsWith(name: string, scopes: readonly string[]): Promise<string[]> {
  const { body: key } = await control('POST', '/keys', { name, scopes });
  const { body: token } = await control('POST', '/tokens', { userId: 4156, scopes });
  return [key.data.key, token.data.access_token];
}

const allScopes = [...new Set(endpoints.map(([, , scope]) => scope))];

test.each(endpoints)('%s %s answers 403 to whoever has all scopes but %s', async (method, path, scope) => {
  const others = allScopes.filter((other) => other !== scope);
  for (const credential of await credentialsWith(`without ${scope} ${method} ${path}`, others)) {
    const { status, body } = await ask(method, path, undefined, credential);
    expect(status).toBe(403);
    expect(body).toEqual({ error: { type: 'insufficient_scope', message: expect.any(String), scope } });
  }
});

test.each(endpoints)('%s %s lets in whoever has %s alone', async (method, path, scope) => {
  for (const credential of await credentialsWith(`with ${scope} ${method} ${path}`, [scope])) {
    const { status } = await ask(method, path, undefined, credential);
    expect([200, 201, 204, 400, 404]).toContain(status);
  }
});

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

test('a key loses a scope, and gets it back', async () => {
  const { body } = await control('POST', '/keys', { name: 'changing' });
  const { key } = body.data;
  const changed = await control('PATCH', '/keys/changing', { scopes: ['sms:read'] });
  expect(changed.body.data).toEqual({ key, name: 'changing', scopes: ['sms:read'] });
  expect((await ask('GET', '/users', undefined, key)).body.error.scope).toBe('users:read');
  await control('PATCH', '/keys/changing', { scopes: ['sms:read', 'users:read'] });
  expect((await ask('GET', '/users', undefined, key)).status).toBe(200);
  expect((await control('PATCH', '/keys/nobody', { scopes: [] })).status).toBe(404);
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

test.each([
  ['nobody', { userId: 1 }, 'userId'],
  ['somebody without portal access', { userId: 4170 }, 'userId'],
  ['an unknown client', { userId: 4128, clientId: 'nobody' }, 'clientId'],
  ['an unknown scope', { userId: 4128, scopes: ['sms:everything'] }, 'scopes[0]'],
  ['an unknown field', { userId: 4128, admin: true }, 'admin'],
])('no token is given out for %s', async (_, body, field) => {
  const answer = await control('POST', '/tokens', body);
  expect({ status: answer.status, type: answer.body.error.type }).toEqual({ status: 400, type: 'invalid_request' });
  expect(answer.body.error.message).toContain(field);
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

test('a revoked key is as good as none', async () => {
  const { body } = await control('POST', '/keys', { name: 'short-lived' });
  expect((await ask('GET', '/users', undefined, body.data.key)).status).toBe(200);
  expect((await control('DELETE', '/keys/short-lived')).status).toBe(204);
  expect((await ask('GET', '/users', undefined, body.data.key)).status).toBe(401);
});

test('a key with an unknown scope is refused', async () => {
  const { status, body } = await control('POST', '/keys', { name: 'odd', scopes: ['sms:everything'] });
  expect(status).toBe(400);
  expect(body.error.message).toContain('scopes[0]');
});

test('an unknown path is a 404 in the envelope', async () => {
  const { status, body } = await ask('GET', '/nothing/here');
  expect(status).toBe(404);
  expect(body.error.type).toBe('not_found');
});

test('a body that is not JSON is a 400 in the envelope', async () => {
  const { status, body } = await ask('POST', '/calls/search', '{"start":');
  expect(status).toBe(400);
  expect(body).toEqual({ error: { type: 'invalid_request', message: 'the body is not JSON' } });
});

test('requests are kept with the name of their key and no credential', async () => {
  await ask('GET', '/users?seen=1');
  const last = () => sandbox.requests().findLast((request) => request.path.endsWith('/users?seen=1'));
  await expect.poll(last).toMatchObject({ method: 'GET', status: 200, key: 'default' });
  expect(JSON.stringify(sandbox.requests())).not.toContain(sandbox.apiKey);
});
