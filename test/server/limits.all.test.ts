import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createGuardedServer } from '../../src/server/connections.ts';
import { createBodyBudget, readBody } from '../../src/server/read-body.ts';
import { root } from '../faults/deployment/part.ts';
import { inherited } from '../inherited.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated } from '../world/database.ts';
import { createWorld, secret, until } from '../world.ts';

const adminToken = 'the-admin-token-of-limits';
const world = await createWorld({ backend: 'postgres', workers: null, adminToken });
const webDatabaseUrl = await databaseForTest(migrated);
afterAll(() => world.close());

const mebibyte = 1_048_576;
const callOf = (at: number) => JSON.stringify({ callId: `1783386668.${at}` });

interface Client {
  readonly socket: Socket;
  /** All that it was sent. */
  said: string;
  /** The server ended the connection. */
  isEnded: boolean;
}

function open(port: number, ...lines: string[]): Client {
  const client = clientOf(connect(port, '127.0.0.1'));
  if (lines.length > 0) client.socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return client;
}

function clientOf(socket: Socket): Client {
  const client = { socket, said: '', isEnded: false };
  socket.on('data', (data) => {
    client.said += data;
  });
  socket.on('error', () => undefined);
  socket.on('end', () => {
    client.isEnded = true;
  });
  socket.on('close', () => {
    client.isEnded = true;
  });
  onTestFinished(() => void socket.destroy());
  return client;
}

const statusOf = ({ said }: Client) => Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? 0);
const post = (port: number, path: string, ...headers: string[]) =>
  open(port, `POST ${path} HTTP/1.1`, 'Host: localhost', ...headers);

test.each<[string, number, string[]]>([
  ['no request', 400, ['NONSENSE']],
  ['a request with too many headers', 431, ['GET / HTTP/1.1', 'Host: x', `A: ${'a'.repeat(20_000)}`]],
  ['an address that cannot be decoded', 400, ['GET /%zz HTTP/1.1', 'Host: x', 'Connection: close']],
])('%s is answered %i with a connection that is closed and says so', async (_, status, lines) => {
  const client = open(world.receiver.port, ...lines);
  await until(() => client.isEnded);
  expect(statusOf(client)).toBe(status);
  expect(client.said.toLowerCase()).toContain('connection: close');
});

test('an idle connection is kept longer than proxies keep theirs', async () => {
  const client = open(world.receiver.port, 'GET /healthz HTTP/1.1', 'Host: x');
  await until(() => statusOf(client) === 200);
  // Caddy lets go after 120 s.
  expect(Number(/^keep-alive: timeout=(\d+)/im.exec(client.said)?.[1])).toBeGreaterThan(130);
});

describe('a request that is refused', () => {
  test.each([
    ['/nope', 404],
    ['/hooks', 404],
    ['/hooks/another-secret/AccountSMS', 404],
    ['/hooks/%zz', 404],
    ['/%zz', 400],
    ['/healthz', 404],
    ['/', 404],
    ['/queues', 404],
    ['/queues/x', 404],
  ])('at %s is answered %i before its body has come, and the connection is closed', async (path, status) => {
    for (const type of ['application/json', 'text/plain', 'nonsense;;']) {
      const client = post(world.receiver.port, path, `Content-Length: ${mebibyte}`, `Content-Type: ${type}`);
      client.socket.write('[[],');
      await until(() => client.isEnded);
      expect([status, 415]).toContain(statusOf(client));
      expect(client.said.toLowerCase()).toContain('connection: close');
    }
  });

  test('in chunks, and one that waits for 100 Continue, are refused likewise', async () => {
    const chunked = post(world.receiver.port, '/nope', 'Transfer-Encoding: chunked');
    chunked.socket.write('5\r\n[[],[\r\n');
    const patient = post(world.receiver.port, '/nope', 'Content-Length: 5', 'Expect: 100-continue');
    await until(() => chunked.isEnded && patient.isEnded);
    expect([statusOf(chunked), statusOf(patient)]).toEqual([404, 404]);
  });

  test('hears the answer while it still sends', async () => {
    const body = Buffer.alloc(4 * mebibyte);
    for (let time = 0; time < 10; time += 1) {
      const answer = await fetch(`${world.receiver.url}/nope`, { method: 'POST', body });
      expect(answer.status).toBe(404);
    }
  });

  test('takes no other request of its connection along', async () => {
    const client = post(world.receiver.port, '/nope', 'Content-Length: 2');
    client.socket.write(`{}POST /hooks/${secret}/AccountEndedCalls HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    await until(() => client.isEnded);
    expect(client.said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404']);
  });

  test('without a body keeps its connection', async () => {
    const client = open(world.receiver.port, 'GET /nope HTTP/1.1', 'Host: localhost');
    await until(() => statusOf(client) === 404);
    client.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until(() => client.said.includes('"status":"ok"'));
  });
});

test('a delivery keeps its connection, however its body comes', async () => {
  const client = open(world.receiver.port);
  const head = (...headers: string[]) =>
    `${[`POST /hooks/${secret}/AccountEndedCalls HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;
  const answers = () => client.said.match(/HTTP\/1\.1 202/g)?.length ?? 0;
  client.socket.write(`${head(`Content-Length: ${callOf(1).length}`)}${callOf(1)}`);
  await until(() => answers() === 1);
  client.socket.write(head('Transfer-Encoding: chunked'));
  for (const letter of callOf(2)) {
    client.socket.write(`1\r\n${letter}\r\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.socket.write('0\r\n\r\n');
  await until(() => answers() === 2);
  client.socket.write(head('Content-Length: 0'));
  await until(() => answers() === 3);
  expect(client.isEnded).toBe(false);
  expect(await world.value(`select count(*)::integer from ops.sync_targets where key like '1783386668.%'`)).toBe(2);
});

describe('the memory for bodies', () => {
  const maxBytes = 100_000;

  /** A server that reads bodies as the hooks do, and answers when it is told. */
  async function readingServer(): Promise<{ port: number; budget: ReturnType<typeof createBodyBudget>; go(): void }> {
    const budget = createBodyBudget(maxBytes);
    const gate = Promise.withResolvers<void>();
    const server = createGuardedServer(
      async (request, response) => {
        using share = budget.share();
        const read = await readBody(request, response, { share, maxBytes: 60_000 });
        if (read.outcome === 'read') await gate.promise;
        response.end(read.outcome === 'read' ? `read ${read.body}` : read.outcome);
      },
      { maxConnections: 1_000, onEvicted: () => undefined },
    );
    return { port: await listen(server), budget, go: () => gate.resolve() };
  }

  test('counts what has arrived, and not what is announced', async () => {
    const { port, budget } = await readingServer();
    const clients = Array.from({ length: 20 }, () => post(port, '/', 'Content-Length: 50000'));
    clients.map(({ socket }) => socket.write('x'.repeat(1_000)));
    await until(() => budget.held === 20_000);
    for (const { socket } of clients) socket.destroy();
    await until(() => budget.held === 0);
  });

  test('is given back once, whether a body is read, cut off, too large or finds no room', async () => {
    const { port, budget, go } = await readingServer();
    const whole = post(port, '/', 'Content-Length: 5');
    whole.socket.write('whole');
    const trickled = post(port, '/', 'Transfer-Encoding: chunked');
    for (const letter of 'trickled') trickled.socket.write(`1\r\n${letter}\r\n`);
    trickled.socket.write('0\r\n\r\n');
    const aborted = post(port, '/', 'Content-Length: 30');
    aborted.socket.write('half of it');
    await until(() => budget.held >= 'whole'.length + 'trickled'.length + 'half of it'.length);
    aborted.socket.destroy();

    const announced = post(port, '/', 'Content-Length: 60001');
    const unannounced = post(port, '/', 'Transfer-Encoding: chunked');
    unannounced.socket.write(`${(60_001).toString(16)}\r\n${'x'.repeat(60_001)}\r\n`);
    await until(() => announced.isEnded && unannounced.isEnded);
    for (const { said } of [announced, unannounced]) expect(said).toContain('too_large');

    const many = Array.from({ length: 10 }, () => post(port, '/', 'Content-Length: 30000'));
    for (const { socket } of many) socket.write('x'.repeat(29_999));
    await until(() => many.filter(({ said }) => said.includes('no_room')).length >= 7);
    expect(budget.held).toBeLessThanOrEqual(maxBytes);
    for (const { socket } of many) socket.destroy();
    await until(() => budget.held < 100);
    go();
    await until(() => whole.said.includes('read whole') && trickled.said.includes('read trickled'));
    await until(() => budget.held === 0);
  });

  test('of a delivery that finds none is answered 503, and closed', async () => {
    const held = Array.from({ length: 40 }, () =>
      post(world.receiver.port, `/hooks/${secret}/AccountSMS`, `Content-Length: ${mebibyte}`),
    );
    for (const { socket } of held) socket.write(Buffer.alloc(mebibyte - 1, ' '));
    await until(() => held.filter((client) => statusOf(client) === 503 && client.isEnded).length >= 40 - 32);
    expect(held.find((client) => statusOf(client) === 503)?.said.toLowerCase()).toContain('retry-after: ');
    for (const { socket } of held) socket.destroy();
    await until(async () => (await world.deliver('AccountEndedCalls', callOf(3))).status === 202);
  });
});

describe('connections', () => {
  test('parse nothing after a refusal', async () => {
    const server = createGuardedServer((_request, response) => response.writeHead(404).end(), {
      maxConnections: 10,
      onEvicted: () => undefined,
    });
    const parsed: unknown[] = [];
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      parsed.push(error.code);
      socket.destroy();
    });
    const port = await listen(server);
    const client = clientOf(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
    client.socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await until(() => statusOf(client) === 404);
    client.socket.write('no chunk\r\n');
    await until(() => connectionsOf(server).then((count) => count === 0));
    expect(parsed).not.toContain('HPE_INVALID_CHUNK_SIZE');
  });

  test('may pipeline a few requests; more at once close the connection, and reach no handler', async () => {
    const gate = Promise.withResolvers<void>();
    let handled = 0;
    const server = createGuardedServer(
      async (_request, response) => {
        handled += 1;
        await gate.promise;
        response.end('done');
      },
      { maxConnections: 10, onEvicted: () => undefined },
    );
    const port = await listen(server);
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    const few = open(port);
    few.socket.write(request.repeat(3));
    const many = open(port);
    many.socket.write(request.repeat(1_600));
    await until(() => many.isEnded && handled >= 6);
    expect(handled).toBeLessThan(20);
    gate.resolve();
    await until(() => few.said.match(/done/g)?.length === 3);
    expect(few.isEnded).toBe(false);
  });

  test('beyond the limit close the one that has been idle longest, and none that is at work', async () => {
    const gate = Promise.withResolvers<void>();
    let evicted = 0;
    const server = createGuardedServer(
      async ({ url }, response) => {
        if (url === '/slow') await gate.promise;
        response.end('done');
      },
      { maxConnections: 10, onEvicted: () => (evicted += 1) },
    );
    const port = await listen(server);
    const slow = open(port, 'GET /slow HTTP/1.1', 'Host: x');
    await until(() => connectionsOf(server).then((count) => count === 1));
    const idle: Client[] = [];
    for (let at = 0; at < 30; at += 1) {
      const client = open(port, 'GET / HTTP/1.1', 'Host: x');
      idle.push(client);
      await until(() => client.said.endsWith('done'));
    }
    await until(() => idle.filter(({ isEnded }) => isEnded).length === 21);
    expect(idle.findIndex(({ isEnded }) => !isEnded)).toBe(21);
    expect(evicted).toBe(21);
    expect(await connectionsOf(server)).toBe(10);
    gate.resolve();
    await until(() => slow.said.endsWith('done'));
  });
});

// What has to hold of the process as a whole is tried on a real one, with few files to open and a small heap of memory.
describe('a web process', () => {
  test('stays small and answers under bodies that never end, bombs and idle connections', async () => {
    const { port, pid, log } = await startWeb('ulimit -n 512; ');
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await until(isReady);
    const before = residentMiB(pid);
    const wanted = 280;

    // Each would be a mebibyte that is held; JSON of empty arrays takes twenty times as much when it is parsed.
    const almost = Buffer.from('[[]'.padEnd(mebibyte - 1, ',[]'));
    for (const path of ['/nope', '/queues/x', '/hooks/another/x', `/hooks/${secret}/AccountSMS`]) {
      const clients = Array.from({ length: wanted }, () =>
        post(port, path, `Content-Length: ${mebibyte}`, 'Content-Type: application/json'),
      );
      for (const { socket } of clients) socket.write(almost);
      const isOurs = path.includes(secret);
      const refused = () => clients.filter(statusOf).length;
      await until(() => refused() >= (isOurs ? wanted - 64 : wanted * 0.9));
      await until(isReady);
      expect(residentMiB(pid) - before, path).toBeLessThan(250);
      for (const { socket } of clients) socket.destroy();
    }

    // Compressed to a thousandth.
    const bomb = gzipSync(Buffer.from(`[${'[],'.repeat(340_000)}[]]`));
    const bombs = Array.from({ length: 60 }, (_, at) => `http://127.0.0.1:${port}/${at % 2 ? 'nope' : 'queues/x'}`);
    await Promise.all(
      bombs.map((url) =>
        fetch(url, {
          method: 'POST',
          body: bomb,
          headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
        }),
      ),
    );
    await until(isReady);

    const warnings = () => log().match(/All connections are in use/g)?.length ?? 0;
    const warned = warnings();
    const idle = Array.from({ length: 900 }, () => open(port));
    await until(() => idle.filter(({ isEnded }) => isEnded).length >= 900 - 512);
    await until(isReady);
    for (const { socket } of idle) socket.destroy();

    const answer = await fetch(`http://127.0.0.1:${port}/hooks/${secret}/AccountEndedCalls`, {
      method: 'POST',
      body: callOf(9),
    });
    expect(answer.status).toBe(202);
    expect(residentMiB(pid) - before).toBeLessThan(300);
    expect(warnings()).toBeGreaterThan(0);
    expect(warnings()).toBeLessThanOrEqual(warned + 1);
  });
});

async function startWeb(prelude: string): Promise<{ port: number; pid: number; log: () => string }> {
  const child = spawn('sh', ['-c', `${prelude}exec "$0" src/trunkline.cjs web --json`, process.execPath], {
    cwd: root,
    env: { ...inherited, DATABASE_URL: webDatabaseUrl, WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  await until(
    () => out.includes('\n'),
    () => err,
  );
  return { port: (JSON.parse(out) as { port: number }).port, pid: child.pid ?? 0, log: () => err };
}

function residentMiB(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1_024;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
