import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller } from './client/caller.ts';
import { approve, redeem, refresh, register } from './oauth/login.ts';

let sandbox: Sandbox;
let control: Ask;
beforeEach(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  control = caller(sandbox, '/_sandbox');
});
afterEach(() => sandbox.close());

test('settings are shown, and changed one by one', async () => {
  const { body: before } = await control('GET', '/account');
  expect(before.data).toMatchObject({
    restrictDeletingSms: false,
    sensitiveContent: false,
    plainLoopbackRedirects: false,
    accessTokenSeconds: 3600,
  });
  const rates = [{ prefix: '1', smsMicros: 7_500, mmsMicros: 20_000 }];
  const { status, body } = await control('PATCH', '/account', { sensitiveContent: true, rates });
  expect(status).toBe(200);
  expect(body.data).toEqual({ ...before.data, sensitiveContent: true, rates });
  expect((await control('GET', '/account')).body).toEqual(body);
});

test.each([
  ['an unknown setting', { colour: 'red' }, 'colour'],
  ['another type', { sensitiveContent: 'yes' }, 'sensitiveContent'],
  ['a rate without a price', { rates: [{ prefix: '1', smsMicros: 1 }] }, 'rates[0].mmsMicros'],
  ['a price below nothing', { rates: [{ prefix: '1', smsMicros: -1, mmsMicros: 0 }] }, 'rates[0].smsMicros'],
  ['a prefix that is no number', { rates: [{ prefix: '+1', smsMicros: 1, mmsMicros: 1 }] }, 'rates[0].prefix'],
  ['an address as a host', { redirectHosts: ['https://own.test'] }, 'redirectHosts[0]'],
])('%s is refused, and changes nothing', async (_, change, field) => {
  const { body: before } = await control('GET', '/account');
  const { status, body } = await control('PATCH', '/account', { restrictDeletingSms: true, ...change });
  expect({ status, type: body.error.type }).toEqual({ status: 400, type: 'invalid_request' });
  expect(body.error.message).toContain(field);
  expect((await control('GET', '/account')).body).toEqual(before);
});

test('the lifetime of new access tokens is the one that is set', async () => {
  await control('PATCH', '/account', { accessTokenSeconds: 2 });
  const { client_id } = (await register(sandbox.url)).body;
  const code = await approve(sandbox.url, client_id, 4128, ['users:read']);
  const { body } = await redeem(sandbox.url, client_id, code);
  expect(body.expires_in).toBe(2);
  await control('PATCH', '/account', { accessTokenSeconds: 5 });
  expect((await refresh(sandbox.url, client_id, body.refresh_token)).body.expires_in).toBe(5);
});

test('a role is shown and replaced as a whole', async () => {
  const { body: before } = await control('GET', '/users/4100/role');
  expect(before.data).toEqual({ users: null, phoneNumbers: true, callReports: false, allowRecordings: false });
  const role = { users: [4128, 4107], phoneNumbers: false, callReports: true, allowRecordings: true };
  expect((await control('PUT', '/users/4100/role', role)).body.data).toEqual(role);
  expect((await control('GET', '/users/4100/role')).body.data).toEqual(role);
  const { users: _, ...partial } = role;
  expect((await control('PUT', '/users/4100/role', partial)).body.error.message).toContain('users');
});

const role = { users: 'all', phoneNumbers: true, callReports: true, allowRecordings: true };

test('roles are for users with portal access, and see users of the account', async () => {
  expect((await control('GET', '/users/4170/role')).body).toEqual({ data: null });
  expect((await control('PUT', '/users/4170/role', role)).body.error.message).toContain('portal access');
  expect((await control('GET', '/users/1/role')).status).toBe(404);
  expect((await control('PUT', '/users/1/role', role)).status).toBe(404);
  expect((await control('PUT', '/users/4100/role', { ...role, users: [1] })).body.error.message).toContain('1');
});

test('settings and roles survive a restart, and end with a reset', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const first = await createSandbox({ dataDir, calls: 0, threads: 0 });
  await caller(first, '/_sandbox')('PATCH', '/account', { restrictDeletingSms: true });
  await caller(first, '/_sandbox')('PUT', '/users/4100/role', role);
  await first.close();
  const second = await createSandbox({ dataDir });
  const ask = caller(second, '/_sandbox');
  const held = async () => {
    const [account, user] = [await ask('GET', '/account'), await ask('GET', '/users/4100/role')];
    return [account.body.data.restrictDeletingSms, user.body.data.users];
  };
  expect(await held()).toEqual([true, 'all']);
  await second.reset();
  expect(await held()).toEqual([false, null]);
  await second.close();
  await rm(dataDir, { recursive: true });
});

test('logins without TLS on this machine are an option', async () => {
  const local = { redirect_uris: ['http://localhost:4000/callback'] };
  expect((await register(sandbox.url, local)).status).toBe(400);
  const lax = await createSandbox({ calls: 0, threads: 0, plainLoopbackRedirects: true });
  expect((await register(lax.url, local)).status).toBe(201);
  await lax.reset();
  expect((await register(lax.url, local)).status).toBe(201);
  await lax.close();
});
