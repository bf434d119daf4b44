import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createWorld, secret, until } from '../world.ts';

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

test('HEAD does not open a page without the token', async () => {
  expect((await fetch(world.receiver.url, { method: 'HEAD' })).status).toBe(401);
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

describe('wrong tokens', () => {
  const wrong = (at: number) => get('/metrics', { authorization: `Bearer a-wrong-token-${at}` });
  const counted = async () => {
    const text = await (await get('/metrics', { authorization: `Bearer ${adminToken}` })).text();
    return Number(/trunkline_requests_refused_total\{reason="admin_token"\} (\d+)/.exec(text)?.[1] ?? 0);
  };
  const warnings = () =>
    world.logged().match(/"address":"127\.0\.0\.1","msg":"A request had a wrong ADMIN_TOKEN/g)?.length;

  test('are refused ever more slowly, counted, and logged once; the right one passes at once', async () => {
    const before = await counted();
    const delays: number[] = [];
    for (let at = 0; at < 8; at += 1) {
      const began = performance.now();
      expect((await wrong(at)).status).toBe(401);
      delays.push(performance.now() - began);
    }
    // Timers never fire early, so that a slow machine only adds to these.
    expect(delays.at(-1)).toBeGreaterThan(350);
    expect(delays.reduce((sum, each) => sum + each)).toBeGreaterThan(1_750);
    expect(await counted()).toBe(before + 8);
    expect(warnings()).toBe(1);
    expect(world.logged()).not.toContain('a-wrong-token');
  });

  test('in great number hold no connections, nor the right one up', async () => {
    const before = await counted();
    const guess = 'GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n';
    let said = '';
    const guessers = Array.from({ length: 25 }, () => connect(world.receiver.port, '127.0.0.1'));
    for (const guesser of guessers) {
      onTestFinished(() => void guesser.destroy());
      guesser.on('data', (data) => {
        said += data;
      });
      guesser.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    }
    const statuses = () => said.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];
    await until(() => statuses().length === 25);
    said = '';
    // On open connections and in one go, so that the receiver takes them all before it has answered one.
    for (const guesser of guessers) guesser.write(guess.repeat(8));
    expect((await get('/metrics', { authorization: `Bearer ${adminToken}` })).status).toBe(200);
    await until(() => statuses().length === 200);
    expect(statuses().filter((status) => status === '401')).toHaveLength(50);
    expect(statuses().filter((status) => status === '429')).toHaveLength(150);
    expect(await counted()).toBe(before + 200);
    expect(warnings()).toBe(1);
  });

  test('are not those of a browser that was not asked yet', async () => {
    const before = await counted();
    for (let at = 0; at < 5; at += 1) expect((await get('/')).status).toBe(401);
    expect(await counted()).toBe(before);
  });
});

describe('without a token the pages', () => {
  const pages = ['/', '/api/status', '/metrics', '/reports', '/reports/volume.csv', '/reports/rows.csv', '/targets'];
  const statusAt = (path: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request(`${early.receiver.url}${path}`, { headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on('error', reject).end();
    });

  // A proxy on this machine that sends its own Host and nothing about the client looks like a person at this machine.
  test.each([
    { host: 'localhost' },
    { host: '127.0.0.1:3000' },
    { host: '[::1]' },
    { host: 'trunkline.example.com' },
    { host: 'localhost', authorization: 'Bearer x' },
    { host: 'localhost', authorization: 'Bearer' },
    { host: 'localhost', authorization: basic('') },
    { host: 'localhost', cookie: 'trunkline=1; trunkline_00000000=1.2' },
  ])('are closed to %j', async (headers) => {
    for (const path of pages) expect(await statusAt(path, headers as Record<string, string>), path).toBe(401);
    expect(await statusAt('/healthz', headers as Record<string, string>)).toBe(200);
  });

  test('are closed to actions, which do nothing', async () => {
    for (const authorization of ['Bearer x', basic('x')]) {
      const answer = await fetch(`${early.receiver.url}/sends/pause`, { method: 'POST', headers: { authorization } });
      expect(answer.status).toBe(401);
    }
    expect(await early.value('select is_paused from ops.send_control')).toBe(false);
  });
});

test('no page may be stored, whatever is answered', async () => {
  const authorization = `Bearer ${adminToken}`;
  const paths = [
    '/',
    '/api/status',
    '/metrics',
    '/reports',
    '/reports?days=x',
    '/reports/volume.csv',
    '/reports/rows?set=missed',
    '/targets',
  ];
  for (const path of paths) {
    for (const headers of [{ authorization }, undefined]) {
      expect((await get(path, headers)).headers.get('cache-control'), path).toBe('no-store');
    }
  }
});

test('the hooks do not ask for the admin token', async () => {
  expect((await world.deliver('AccountEndedCalls', { callId: '1783386668.2' })).status).toBe(202);
});

test('a receiver at localhost answers at each of its addresses', async () => {
  const both = await createWorld({ backend: 'redis', workers: null, environment: { HOST: 'localhost' } });
  onTestFinished(both.close);
  const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));
  for (const host of hasIpv6 ? ['127.0.0.1', '[::1]'] : ['127.0.0.1']) {
    expect((await fetch(`http://${host}:${both.receiver.port}/healthz`)).status, host).toBe(200);
  }
});

test('no answer tells which software it comes from', async () => {
  const answer = await get('/healthz');
  expect(answer.headers.get('server')).toBeNull();
  expect(answer.headers.get('x-powered-by')).toBeNull();
});
