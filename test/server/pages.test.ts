import { lookup } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createContext } from '../../src/context.ts';
import { registerPages } from '../../src/server/pages.ts';
import { createReceiver } from '../../src/server/receiver.ts';
import { createDatabase, dropDatabase } from '../stores/databases.ts';
import { migrated, migratedDatabase } from '../world/database.ts';
import { captureLog } from '../world/log.ts';
import { until } from '../world.ts';
import { adminToken, fill, secret, settingsFor } from './receiver.ts';
import { answersOf, open as openSocket } from './sockets.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

/** A receiver with its pages, and what it logs. */
async function open(databaseUrl: string, more: Readonly<Record<string, string>> = {}) {
  const { log, text } = captureLog();
  const context = await createContext(settingsFor(databaseUrl, more), { log, name: 'test', maxConnections: 3 });
  const receiver = await createReceiver(context, (app) => registerPages(app, context));
  const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await fetch(`${receiver.url}${path}`, { method, headers, redirect: 'manual' });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return {
    ...{ context, receiver, ask, logged: text },
    get: (path: string, accept = 'text/html') => ask(path, { authorization: `Bearer ${adminToken}`, accept }),
    deliver: (type: string, body: string, token = secret) =>
      fetch(`${receiver.url}/hooks/${token}/${type}`, { method: 'POST', body, headers: { 'content-type': 'odd/x' } }),
    faults: () =>
      text()
        .split('\n')
        .filter((line) => line.includes('A request could not be answered')),
    async [Symbol.asyncDispose]() {
      await receiver.close();
      await context[Symbol.asyncDispose]();
    },
  };
}
const world = await open(database.url);
const { ask, get } = world;
beforeAll(() => fill(world.context.database.db));
afterAll(() => world[Symbol.asyncDispose]());

const basic = (password: string) => `Basic ${btoa(`anybody:${password}`)}`;
const right = { authorization: `Bearer ${adminToken}` };
const paths = [
  ...['/', '/api/status', '/metrics', '/reports', '/reports?days=x', '/reports/calls', '/reports/calls.csv'],
  ...['/targets', '/deliveries.csv'],
];

describe('the admin token', () => {
  // A proxy on this machine that sends its own Host and nothing about the client looks like a person at this machine.
  test.each<Record<string, string>>([
    ...[{}, { host: 'localhost' }, { host: '[::1]' }, { host: 'trunkline.example.com' }, { authorization: 'Bearer' }],
    ...[{ authorization: 'Bearer x' }, { authorization: `Bearer ${secret}` }, { authorization: 'Basic %%%' }],
    ...[{ authorization: basic('') }, { authorization: basic('wrong') }, { cookie: 'trunkline=1; trunkline_0=1.2' }],
  ])('%j opens no page, and does nothing', async (headers) => {
    // One at a time, or further guesses would be refused for their number.
    for (const path of headers.authorization === undefined ? paths : ['/metrics']) {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      const client = openSocket(
        world.receiver.port,
        `GET ${path} HTTP/1.1`,
        ...(headers.host ? [] : ['host: x']),
        ...lines,
      );
      await until(() => answersOf(client).length > 0);
      expect(answersOf(client), path).toEqual(['401']);
      expect(client.said).toMatch(/^www-authenticate: Basic realm="Trunkline"/im);
      expect(client.said).toMatch(/^cache-control: no-store/im);
      expect(client.said).not.toContain('trunkline_deliveries');
    }
    expect((await ask('/do/sends/pause', { authorization: 'Bearer x', ...headers }, 'POST')).status).toBe(401);
    expect(await database.value('select is_paused from ops.send_control')).toBe(false);
    expect((await ask('/', {}, 'HEAD')).status).toBe(401);
  });

  test.each([right, { authorization: `bearer ${adminToken}` }, { authorization: basic(adminToken) }])(
    '%j opens them all, and none may be stored',
    async (headers) => {
      for (const path of paths) {
        const answer = await ask(path, headers);
        expect([answer.status, answer.headers.get('cache-control')], path).toEqual([
          path.includes('=x') ? 400 : 200,
          'no-store',
        ]);
      }
    },
  );

  test('is not asked for by health, which tells of its stores, nor by the hooks', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    const ready = await ask('/readyz');
    expect(JSON.parse(ready.text)).toEqual({ status: 'ready', database: true, migrations: true, queue: true });
    expect((await world.deliver('AccountEndedCalls', 'not JSON')).status).toBe(202);
  });

  test.each(['/healthz', '/readyz', '/', '/metrics', '/api/status'])(
    'lets HEAD %s be answered as GET is',
    async (path) => {
      const [asked, head] = [await ask(path, right), await ask(path, right, 'HEAD')];
      expect([asked.status, head.status, head.text]).toEqual([200, 200, '']);
      expect(head.headers.get('content-type')).toBe(asked.headers.get('content-type'));
    },
  );
});

describe('wrong tokens', () => {
  type Opened = Awaited<ReturnType<typeof open>>;
  const counted = async (own: Opened) =>
    Number(/requests_refused_total\{reason="admin_token"\} (\d+)/.exec((await own.get('/metrics')).text)?.[1] ?? 0);
  const warnings = (own: Opened) =>
    own.logged().match(/"address":"127\.0\.0\.1","msg":"A request had a wrong ADMIN_TOKEN/g)?.length;

  test('are refused after half a second, counted, and logged once; no token at all is refused at once', async () => {
    await using own = await open(database.url);
    const delayOf = async (headers: Record<string, string>) => {
      const began = performance.now();
      expect((await own.ask('/metrics', headers)).status).toBe(401);
      return performance.now() - began;
    };
    const guesses = await Promise.all([1, 2, 3].map((at) => delayOf({ authorization: `Bearer a-wrong-token-${at}` })));
    // Timers may fire a millisecond early.
    expect(Math.min(...guesses)).toBeGreaterThan(490);
    // A browser that was not asked yet is none.
    await delayOf({});
    expect(await counted(own)).toBe(3);
    expect(warnings(own)).toBe(1);
    expect(own.logged()).not.toContain('a-wrong-token');
  });

  test('in great number hold neither connections nor the right one up', async () => {
    await using own = await open(database.url);
    const guessers = Array.from({ length: 25 }, () =>
      openSocket(own.receiver.port, 'GET /healthz HTTP/1.1', 'Host: x'),
    );
    const statuses = () => guessers.flatMap(answersOf);
    await until(() => statuses().length === 25);
    // On open connections and in one go, so that the receiver takes them all before it has answered one.
    const answeredAt: number[] = [];
    for (const { socket } of guessers)
      socket
        .on('data', () => answeredAt.push(performance.now()))
        .write('GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n'.repeat(8));
    expect((await own.get('/metrics')).status).toBe(200);
    await until(() => statuses().length === 225);
    expect(statuses().filter((each) => each === '401')).toHaveLength(200);
    // Most are refused at once, and fifty half a second later.
    expect(Math.max(...answeredAt) - Math.min(...answeredAt)).toBeGreaterThan(200);
    expect(await counted(own)).toBe(200);
    expect(warnings(own)).toBe(1);
  });
});

describe('the status', () => {
  test('is a page with numbers masked and what was received escaped, that runs no script but its own', async () => {
    const { status, headers, text } = await get('/');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).toContain('Transcripts aren’t read. The API key lacks the scope recordings:read.');
    expect(text).toContain('refused for …0123');
    expect(text).not.toMatch(/18005550100|18455550123|what was said|alert\(1\)/);
    const policy = headers.get('content-security-policy') ?? '';
    for (const part of [/default-src 'none'/, /script-src 'self'/, /frame-ancestors 'none'/])
      expect(policy).toMatch(part);
    expect(policy).not.toContain('unsafe');
  });

  test('is JSON that begins with the verdict', async () => {
    const { text } = await get('/api/status');
    expect(text).toMatch(/^\{"verdict":\{"level":"problem"/);
    expect(JSON.parse(text)).toMatchObject({ queues: { value: { backend: 'postgres' } } });
    expect(text).not.toMatch(/18005550100|18455550123/);
  });

  test('is metrics of what all processes share, and of what this one accepted and refused', async () => {
    await using own = await open(database.url);
    await own.context.queues.enqueue('conversations', [{ kind: 'thread', key: '18005550100/18455550123' }]);
    await own.deliver('AccountEndedCalls', '{}');
    await own.deliver('AccountEndedCalls', '{}', 'a-wrong-secret');
    await own.deliver('AccountSMS', 'x'.repeat(1_048_577));
    const { text } = await own.get('/metrics');
    for (const series of [
      /^trunkline_targets\{kind="call",state="due"\} 1$/m,
      /^trunkline_targets\{kind="thread",state="failing"\} 1$/m,
      /^trunkline_oldest_due_seconds\{kind="call"\} [1-9]\d+/m,
      /^trunkline_queue_waiting\{queue="conversations"\} 1$/m,
      /^trunkline_deliveries_total\{[^}]*type="AccountEndedCalls"[^}]*\} 1$/m,
      /^trunkline_deliveries_refused_total\{reason="token"\} 1$/m,
      /^trunkline_deliveries_refused_total\{reason="too_large"\} 1$/m,
    ])
      expect(text).toMatch(series);
    expect(text).not.toContain(secret);
  });
});

test('a process whose migrations are missing is not ready, and from when they are there does not ask again', async () => {
  await using own = await migratedDatabase();
  await using early = await open(own.url);
  const ready = async () => JSON.parse((await early.ask('/readyz')).text);
  await own.query('alter table ops.migrations rename to migrations_elsewhere');
  expect(await ready()).toMatchObject({ status: 'not ready', migrations: false, database: true });
  await own.query('alter table ops.migrations_elsewhere rename to migrations');
  expect(await ready()).toMatchObject({ status: 'ready', migrations: true });
  await own.query('drop table ops.migrations');
  expect(await ready()).toMatchObject({ status: 'ready', migrations: true });
});

test('a receiver at localhost answers at each of its addresses', async () => {
  const both = await open(database.url, { HOST: 'localhost' });
  onTestFinished(() => both[Symbol.asyncDispose]());
  for (const { address, family } of await lookup('localhost', { all: true })) {
    const host = family === 6 ? `[${address}]` : address;
    expect((await fetch(`http://${host}:${both.receiver.port}/healthz`)).status, host).toBe(200);
  }
});

describe('when a page fails', () => {
  const fault = 'This is a fault of Trunkline: the log of this process has the error.';

  test('by its code, it is 500, and logged once with its path', async () => {
    await database.query(
      `insert into ops.rule_versions (version, rules, body, applied_by) values (1, 'null', 'rules: []', 'a test')`,
    );
    for (let time = 0; time < 2; time += 1) {
      const { status, headers, text } = await get('/rules/history/1');
      expect([status, headers.get('content-type')]).toEqual([500, 'text/html; charset=utf-8']);
      expect(text).toContain(`<h1>${fault}</h1>`);
    }
    expect(world.faults()).toEqual([expect.stringMatching(/TypeError.*"path":"\/rules\/history\/:id"/)]);
  });

  test.each([
    ['/coverage', 'text/html', 'gaps'],
    ['/coverage.csv', 'text/html', 'gaps'],
    ['/coverage.json', '*/*', 'gaps'],
    ['/rules/edit', 'text/html', 'rule_versions'],
  ])('by the SQL of %s, it is 500 and logged too', async (path, accept, table) => {
    await using own = await open(database.url);
    await database.query(`alter table ops.${table} rename to elsewhere`);
    const { status, text } = await own.get(path, accept);
    await database.query(`alter table ops.elsewhere rename to ${table}`);
    expect(status).toBe(500);
    expect(text).toContain(accept === '*/*' ? JSON.stringify({ error: fault }) : fault);
    expect(own.faults()).toEqual([expect.stringContaining(`relation \\"ops.${table}\\" does not exist`)]);
  });

  test('since Postgres is away, it is 503 and no fault, in one clear sentence; metrics keep what they last told', async () => {
    const name = `test_faults_${process.pid}`;
    await migrated(await createDatabase(name));
    await using own = await open(database.url.replace(/[^/]+$/, name));
    expect((await own.get('/')).status).toBe(200);
    const told = 'trunkline_targets{kind="call",state="due"} 0';
    const before = (await own.get('/metrics')).text;
    expect([before.includes(told), before.includes('trunkline_database_up 1')]).toEqual([true, true]);
    await dropDatabase(name);
    // The page is shared for a second; the outage shows as soon as it is asked for again.
    for (const path of [
      '/',
      '/api/status',
      '/coverage',
      '/coverage.csv',
      '/coverage.json',
      '/rules/edit',
      '/calls/1783385492.057900',
    ])
      await expect.poll(async () => (await own.get(path)).status, { message: path }).toBe(503);
    expect((await own.get('/')).text).toMatch(
      /<h1>Postgres has no such database \([^<]*\)\. Create the database that DATABASE_URL names\.<\/h1>/,
    );
    expect((await own.get('/coverage.csv')).text).toContain('Postgres doesn’t answer');
    // What metrics tell is shared for a second of its own.
    await expect.poll(async () => (await own.get('/metrics')).text).toContain('trunkline_database_up 0');
    const { status, text } = await own.get('/metrics');
    expect(status).toBe(200);
    for (const series of ['process_cpu_user_seconds_total', 'trunkline_database_up 0', told])
      expect(text).toContain(series);
    expect(own.faults()).toEqual([]);
  });
});
