import { once } from 'node:events';
import { afterAll, describe, expect, test } from 'vitest';
import { createWorld, secret, until } from '../world.ts';
import { answersOf, type Client, open } from './sockets.ts';

const world = await createWorld({ backend: 'postgres', workers: null, adminToken: 'the-admin-token-of-limits' });
afterAll(() => world.close());

const mebibyte = 1_048_576;
const ask = (path: string, ...headers: string[]) =>
  open(world.receiver.port, `GET ${path} HTTP/1.1`, 'Host: x', ...headers);
const post = (path: string, ...headers: string[]) =>
  open(world.receiver.port, `POST ${path} HTTP/1.1`, 'Host: x', ...headers);
const hook = `/hooks/${secret}/AccountEndedCalls`;
const answered = (client: Client, ...statuses: string[]) =>
  expect.poll(() => answersOf(client), { timeout: 10_000 }).toEqual(statuses);

describe('headers', () => {
  test('of single sign-on are taken up to 64 KiB; larger ones are refused, which is logged once', async () => {
    await answered(ask('/healthz', `Cookie: a=${'a'.repeat(60_000)}`), '200');
    for (let time = 0; time < 3; time += 1) await answered(ask('/healthz', `Cookie: a=${'a'.repeat(66_000)}`), '431');
    expect(world.logged().match(/its headers, such as cookies, are too large/g)).toHaveLength(1);
  });

  test('that are none are refused', () => answered(open(world.receiver.port, 'NONSENSE'), '400'));
});

test('an idle connection is kept longer than proxies keep theirs', async () => {
  const client = ask('/healthz');
  await answered(client, '200');
  // Caddy lets go after 120 s.
  expect(Number(/^keep-alive: timeout=(\d+)/im.exec(client.said)?.[1])).toBeGreaterThan(130);
});

describe('a request that is refused', () => {
  test.each(['/nope', '/hooks', '/hooks/another-secret/AccountSMS', '/hooks/%zz', '/%zz', '/healthz', '/queues/x'])(
    'at %s is answered 404 before its body has come, however that is announced',
    async (path) => {
      for (const announced of [`Content-Length: ${mebibyte}`, 'Content-Length: 9999999', 'Transfer-Encoding: chunked'])
        for (const type of ['application/json', 'text/plain'])
          await answered(post(path, announced, `Content-Type: ${type}`), '404');
    },
  );

  test('hears the answer while it still sends', async () => {
    const body = Buffer.alloc(4 * mebibyte);
    for (const path of ['/nope', '/hooks/another-secret/AccountSMS', hook])
      for (let time = 0; time < 5; time += 1) {
        const { status } = await fetch(`${world.receiver.url}${path}`, { method: 'POST', body });
        expect(status).toBe(path === hook ? 413 : 404);
      }
  });

  test('takes no other request of its connection along', async () => {
    const client = post('/nope', 'Content-Length: 2');
    client.socket.write(`{}POST ${hook} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    await answered(client, '404', '202');
  });
});

test('a delivery keeps its connection, however its body comes', async () => {
  const body = '{"callId":"1783386668.1"}';
  const client = post(hook, `Content-Length: ${body.length}`);
  const head = (header: string) => client.socket.write(`POST ${hook} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
  client.socket.write(body);
  await answered(client, '202');
  head('Transfer-Encoding: chunked');
  for (const letter of body.replace('1"', '2"')) {
    client.socket.write(`1\r\n${letter}\r\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.socket.write('0\r\n\r\n');
  await answered(client, '202', '202');
  head('Content-Length: 0');
  await answered(client, '202', '202', '202');
  expect(client.isEnded).toBe(false);
  expect(await world.value(`select count(*)::integer from ops.sync_targets where key like '1783386668.%'`)).toBe(2);
});

test('more deliveries than are taken at a time are answered 503, until those before them are gone', async () => {
  const clients = Array.from({ length: 600 }, () => post(hook, 'Content-Length: 100'));
  for (const { socket } of clients) socket.write('half');
  const refused = () => clients.filter((client) => answersOf(client)[0] === '503');
  await until(() => refused().length === 100);
  expect(refused()[0]?.said).toMatch(/^retry-after: 5\r$/im);
  for (const { socket } of clients) socket.destroy();
  await expect.poll(async () => (await world.deliver('AccountEndedCalls', {})).status).toBe(202);
});

test('connections beyond the limit are refused and counted, and the others are kept', async () => {
  const first = ask('/healthz');
  await answered(first, '200');
  // More at once than wait in the backlog would be tried again by the system, only seconds later.
  for (let batch = 0; batch < 20; batch += 1)
    await Promise.all(Array.from({ length: 101 }, () => once(open(world.receiver.port).socket, 'connect')));
  first.socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer the-admin-token-of-limits\r\n\r\n');
  await answered(first, '200', '200');
  await until(() => /requests_refused_total\{reason="connection_limit"\} [1-9]/.test(first.said));
  expect(world.logged().match(/All connections are in use/g)).toHaveLength(1);
});

test('a receiver that is closed cuts requests that never end', async () => {
  const own = await createWorld({ backend: 'postgres', workers: null });
  const client = open(own.receiver.port, `POST ${hook} HTTP/1.1`, 'Host: x', 'Content-Length: 100');
  client.socket.write('half');
  await fetch(`${own.receiver.url}/healthz`);
  const began = performance.now();
  await own.close();
  expect(performance.now() - began).toBeLessThan(9_000);
  await until(() => client.isEnded);
  expect(client.said).toBe('');
});
