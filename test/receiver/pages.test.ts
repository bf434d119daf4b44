import { afterAll, describe, expect, test } from 'vitest';
import { createWorld, secret } from '../world.ts';

const adminToken = 'the-admin-token';
const world = await createWorld({ backend: 'redis', workers: null, adminToken });
const early = await createWorld({ backend: 'redis', workers: null });
afterAll(async () => {
  await world.close();
  await early.close();
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${world.receiver.url}${path}`, { headers });
const basic = (password: string) => `Basic ${Buffer.from(`anybody:${password}`).toString('base64')}`;

test('health needs no token, and tells of its stores', async () => {
  expect(await (await get('/healthz')).json()).toEqual({ status: 'ok' });
  const ready = await get('/readyz');
  expect(ready.status).toBe(200);
  expect(await ready.json()).toEqual({ status: 'ready', database: true, migrations: true, queue: true });
});

test('a process whose migrations are missing is not ready, and from then on does not ask again', async () => {
  const ready = async () => (await fetch(`${early.receiver.url}/readyz`)).json();
  await early.query('alter table ops.migrations rename to migrations_elsewhere');
  expect(await ready()).toMatchObject({ status: 'not ready', migrations: false, database: true });
  await early.query('alter table ops.migrations_elsewhere rename to migrations');
  expect(await ready()).toMatchObject({ status: 'ready', migrations: true });
  await early.query('drop table ops.migrations');
  expect(await ready()).toMatchObject({ status: 'ready', migrations: true });
});

test.each(['/healthz', '/readyz', '/', '/metrics', '/api/status'])(
  'HEAD %s is answered as GET is, without a body',
  async (path) => {
    const authorization = `Bearer ${adminToken}`;
    const [asked, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => fetch(`${world.receiver.url}${path}`, { method, headers: { authorization } })),
    );
    expect(asked?.status).toBe(200);
    expect([head?.status, await head?.text()]).toEqual([200, '']);
    expect(head?.headers.get('content-type')).toBe(asked?.headers.get('content-type'));
  },
);

test('HEAD does not open a page without the token, and takes no answer to a log in', async () => {
  expect((await fetch(world.receiver.url, { method: 'HEAD' })).status).toBe(401);
  const callback = `${world.receiver.url}/oauth/callback?state=x&code=y`;
  expect((await fetch(callback, { method: 'HEAD' })).status).toBe(404);
});

describe('the metrics', () => {
  test.each([
    ['no token', {}],
    ['a wrong bearer', { authorization: 'Bearer the-wrong-token' }],
    ['a wrong password', { authorization: basic('wrong') }],
    ['the webhook secret', { authorization: `Bearer ${secret}` }],
    ['an odd header', { authorization: 'Bearer' }],
    ['half a basic header', { authorization: 'Basic %%%' }],
  ])('are closed to %s', async (_name, headers) => {
    const answer = await get('/metrics', headers as Record<string, string>);
    expect(answer.status).toBe(401);
    expect(await answer.text()).not.toContain('trunkline_');
  });

  test('ask a browser for the password', async () => {
    expect((await get('/metrics')).headers.get('www-authenticate')).toMatch(/^Basic realm="Trunkline"/);
  });

  test.each([
    ['bearer', `Bearer ${adminToken}`],
    ['lower-case bearer', `bearer ${adminToken}`],
    ['password', basic(adminToken)],
  ])('open to the token as %s', async (_name, authorization) => {
    const answer = await get('/metrics', { authorization });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('trunkline_deliveries_total');
  });

  test('count what was accepted and what was refused', async () => {
    await world.deliver('AccountEndedCalls', { callId: '1783386668.1' });
    await fetch(`${world.receiver.url}/hooks/a-wrong-secret/AccountSMS`, { method: 'POST', body: '{}' });
    await world.deliver('AccountSMS', 'x'.repeat(1_048_577));
    const text = await (await get('/metrics', { authorization: `Bearer ${adminToken}` })).text();
    expect(text).toMatch(/trunkline_deliveries_total\{[^}]*type="AccountEndedCalls"[^}]*\} 1/);
    expect(text).toMatch(/trunkline_deliveries_refused_total\{reason="token"\} 1/);
    expect(text).toMatch(/trunkline_deliveries_refused_total\{reason="too_large"\} 1/);
    expect(text).not.toContain(secret);
  });
});

test('the hooks do not ask for the admin token', async () => {
  expect((await world.deliver('AccountEndedCalls', { callId: '1783386668.2' })).status).toBe(202);
});

test('no answer tells which software it comes from', async () => {
  const answer = await get('/healthz');
  expect(answer.headers.get('server')).toBeNull();
  expect(answer.headers.get('x-powered-by')).toBeNull();
});
