import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { listen, listenTcp, open, refusalOf, serve } from '../endpoint.ts';

const once = { tries: 1 };
const body = JSON.stringify({ data: [{ number: '18457511133', name: 'x'.repeat(500) }] });

test.each([
  ['gzip', gzipSync],
  ['identity', Buffer.from],
])('an answer in %s is decoded', async (encoding, encode: (text: string) => Buffer) => {
  const { url } = await listen((response) =>
    response.writeHead(200, { 'content-encoding': encoding }).end(encode(body)),
  );
  expect((await open(url).lines.list()).data).toMatchObject([{ number: '18457511133' }]);
});

test('a bomb in gzip stops at the cap', async () => {
  const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, 0x20));
  expect(bomb.length).toBeLessThan(1024 * 1024);
  const { url } = await listen((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
  const error = await refusalOf(open(url, { limits: { bodyBytes: 1024 * 1024 } }).lines.list());
  expect(error).toMatchObject({ code: 'too_large', advice: 'retry', status: 200 });
  expect(error.message).toContain('more than 1048576 bytes once decoded');
});

test('a body that is too large is cut off while it comes', async () => {
  let sent = 0;
  const { url } = await listen((response) => {
    const chunk = Buffer.alloc(256 * 1024, 0x20);
    const more = (): void => {
      sent += chunk.length;
      if (sent < 512 * chunk.length && !response.destroyed) response.write(chunk, more);
    };
    more();
  });
  const error = await refusalOf(open(url, { limits: { bodyBytes: 1024 * 1024 } }).lines.list());
  expect(error.code).toBe('too_large');
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test.each([
  ['gzip', Buffer.from('not gzip at all')],
  ['gzip', gzipSync(body).subarray(0, 40)],
  ['br', Buffer.from(body)],
])('a body that does not decode as %s is unreadable', async (encoding, sent) => {
  const { url } = await listen((response) => response.writeHead(200, { 'content-encoding': encoding }).end(sent));
  expect(await refusalOf(open(url).lines.list())).toMatchObject({ code: 'unreadable', status: 200 });
});

test('an answer that drips is cut off after its whole time', async () => {
  const { url } = await listenTcp((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
    const drip = setInterval(() => socket.write(' '), 10);
    socket.on('close', () => clearInterval(drip));
  });
  const began = performance.now();
  const error = await refusalOf(open(url, { limits: { answerMs: 200 }, retry: once }).lines.list());
  expect(error).toMatchObject({ code: 'timeout', status: 200, effect: 'unknown' });
  expect(error.message).toContain('not complete after 200 ms');
  expect(performance.now() - began).toBeLessThan(30_000);
});

test('a caller can give up while the body comes', async () => {
  const giveUp = new AbortController();
  const { url } = await listenTcp((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{"data"', () => setImmediate(() => giveUp.abort()));
  });
  const error = await refusalOf(open(url).lines.list({ signal: giveUp.signal }));
  expect(error).toMatchObject({ code: 'aborted', effect: 'unknown' });
});

test('headers that do not come are waited for no longer than their time', async () => {
  const { url } = await listen(() => {});
  const error = await refusalOf(open(url, { limits: { headersMs: 100 }, retry: once }).lines.list());
  expect(error).toMatchObject({ code: 'timeout', effect: 'unknown' });
});

test('waiting for a free connection does not count against the service', async () => {
  const { url, seen } = await listen((response) => setTimeout(() => response.end('{"data":[]}'), 100));
  const { lines } = open(url, { limits: { connections: 1, answerMs: 500 }, retry: once });
  await Promise.all(Array.from({ length: 6 }, () => lines.list()));
  expect(seen).toHaveLength(6);
});

test.each([
  ['a body that ends early', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"data":[', 'network'],
  ['no answer at all', '', 'network'],
  ['an unfinished chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"data"', 'network'],
  ['something that is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'unreadable'],
])('%s is %3$s', async (_, sent, code) => {
  const { url } = await listenTcp((socket) => socket.once('data', () => socket.end(sent)));
  expect(await refusalOf(open(url, { retry: once }).lines.list())).toMatchObject({ code, effect: 'unknown' });
});

test('a server that does not speak TLS is a network failure in which nothing left', async () => {
  const { url } = await serve('200');
  const error = await refusalOf(open(url.replace('http:', 'https:'), { retry: once }).lines.list());
  expect(error).toMatchObject({ code: 'network', effect: 'none' });
});
