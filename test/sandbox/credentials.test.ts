import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller } from './client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 5, threads: 2 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
afterAll(() => sandbox.close());

const endpoints = [
  ['GET', '/sms/lines', 'sms:read'],
  ['GET', '/sms/conversations/16465550100/12125550100', 'messages:read'],
  ['GET', '/users', 'users:read'],
  ['POST', '/calls/search', 'reports:read'],
  ['GET', '/calls/1700000000.1', 'reports:read'],
  ['GET', '/calls/1700000000.1/recordings', 'recordings:read'],
  ['GET', '/calls/1700000000.1/transcripts', 'recordings:read'],
  ['GET', '/webhooks', 'webhooks:read'],
  ['GET', '/webhooks/types', 'webhooks:read'],
  ['POST', '/webhooks', 'webhooks:write'],
  ['PUT', '/webhooks/1', 'webhooks:write'],
  ['PATCH', '/webhooks/1', 'webhooks:write'],
  ['POST', '/webhooks/1/disable', 'webhooks:write'],
  ['DELETE', '/webhooks/1', 'webhooks:write'],
] as const;

test.each(endpoints)('%s %s answers 401 without a credential and names %s', async (method, path, scope) => {
  for (const key of [null, 'no-such-key']) {
    const { status, headers, body } = await ask(method, path, undefined, key);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain(`scope="${scope}"`);
    expect(body).toEqual({ error: { type: 'unauthenticated', message: expect.any(String) } });
  }
});

test.each(endpoints)('%s %s answers 403 to a key without %s', async (method, path, scope) => {
  const others = endpoints.map(([, , other]) => other).filter((other) => other !== scope);
  const name = `without ${scope} ${method} ${path}`;
  const { body: made } = await control('POST', '/keys', { name, scopes: [...new Set(others)] });
  const { status, body } = await ask(method, path, undefined, made.data.key);
  expect(status).toBe(403);
  expect(body).toEqual({ error: { type: 'insufficient_scope', message: expect.any(String), scope } });
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
  const last = sandbox.requests().findLast((request) => request.path.endsWith('/users?seen=1'));
  expect(last).toMatchObject({ method: 'GET', status: 200, key: 'default' });
  expect(JSON.stringify(sandbox.requests())).not.toContain(sandbox.apiKey);
});
