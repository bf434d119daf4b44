import { expect, test } from 'vitest';
import { karen, sandboxOfFile } from './client/caller.ts';
import { submit } from './client/login.ts';

const { sandbox, ask, control } = await sandboxOfFile();
const readUsers = async (token: string) => (await ask('GET', '/users', undefined, token)).status;

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

test('a token is given out without any ceremony; expired ones can be refreshed, revoked ones cannot', async () => {
  const refresh = (refresh_token: string) =>
    submit(`${sandbox.url}/api/v1/oauth/token`, { grant_type: 'refresh_token', client_id: 'sandbox', refresh_token });
  const asked = { userId: karen, scopes: ['users:read'], expiresInSeconds: 60 };
  const { status, body } = await control('POST', '/tokens', asked);
  const shown = { token_type: 'Bearer', expires_in: 60, scope: 'users:read', client_id: 'sandbox' };
  expect([status, body.data]).toEqual([201, expect.objectContaining(shown)]);
  const { access_token, refresh_token } = body.data;
  expect(await readUsers(access_token)).toBe(200);
  expect((await control('DELETE', '/tokens')).status).toBe(204);
  expect(await readUsers(access_token)).toBe(401);
  const renewed = (await refresh(refresh_token)).body;
  expect(await readUsers(renewed.access_token)).toBe(200);
  expect((await control('DELETE', '/grants')).status).toBe(204);
  expect(await readUsers(renewed.access_token)).toBe(401);
  expect((await refresh(renewed.refresh_token)).status).toBe(400);
});

test('requests are kept with the name of their key and no credential', async () => {
  await ask('GET', '/users?seen=1');
  const last = () => sandbox.requests().findLast((request) => request.path.endsWith('/users?seen=1'));
  await expect.poll(last).toMatchObject({ method: 'GET', status: 200, key: 'default' });
  expect(JSON.stringify(sandbox.requests())).not.toContain(sandbox.apiKey);
});
