import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Service, ServiceError } from '../../../src/api-client/client.ts';
import { json, listen, listenTcp, open, refusalOf, refuse, type Scripted, serve } from '../endpoint.ts';

const pair = { line: '18457511133', number: '18455008085' };
const request = { from: pair.line, to: [pair.number], message: 'hi' };
const sent = { from: pair.line, billing: { units: 1, totalPrice: 0.0083 }, messages: [{ id: 1 }], skipped: [] };
const whole = JSON.stringify({ data: sent });

/** What must stand once, however the first try ended. */
const onceOnly: Record<string, (service: Service) => Promise<unknown>> = {
  'messages.send': ({ messages }) => messages.send(request),
  'conversations.comment': ({ conversations }) => conversations.comment(pair, 'a note'),
  'conversations.resolve': ({ conversations }) => conversations.resolve(pair, { comment: 'a note' }),
  'templates.create': ({ templates }) => templates.create({ title: 't', body: 'b' }),
};

/** Counts the requests that arrive whole, and lets `answer` do what it will with each connection. */
async function countPosts(answer: (socket: Socket) => void) {
  const posts: string[] = [];
  const { url } = await listenTcp((socket) => {
    socket.on('data', (bytes) => {
      const [line] = bytes.toString().split('\r\n');
      if (line?.startsWith('POST ')) posts.push(line);
      answer(socket);
    });
  });
  return { url, posts };
}

const http = (status: number, text: string, kept = text.length) =>
  `HTTP/1.1 ${status} x\r\nkeep-alive: timeout=60\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, kept)}`;
const half = http(201, whole, 40);

const breaks: [what: string, answer: (socket: Socket) => void, told: Partial<ServiceError>][] = [
  ['a reset', (socket) => socket.resetAndDestroy(), { code: 'network' }],
  ['a connection that closes', (socket) => socket.end(), { code: 'network' }],
  ['half an answer', (socket) => socket.end(half), { code: 'network', status: 201 }],
  ['half an answer and silence', (socket) => socket.write(half), { code: 'timeout', status: 201 }],
  ['silence', () => {}, { code: 'timeout' }],
  ['something that is not HTTP', (socket) => socket.end('SSH-2.0\r\n\r\n'), { code: 'unreadable' }],
];

describe.each(breaks)('after %s', (_, answer, told) => {
  test.each(Object.entries(onceOnly))('%s is not repeated, and says that it may have happened', async (name, call) => {
    const { url, posts } = await countPosts(answer);
    const limits = told.code === 'timeout' ? { answerMs: 300, headersMs: 300 } : {};
    const service = open(url, { limits, retry: { tries: 5 } });
    const error = await refusalOf(call(service));
    expect(error).toMatchObject({ ...told, advice: 'reconcile', effect: 'unknown', operation: name });
    expect(posts).toHaveLength(1);
  });
});

const page = '<html>Bad gateway</html>';
const elsewhere = { location: '/elsewhere' };
const wordless = '{"error":{}}';
const typeOnly = (type: string) => JSON.stringify({ error: { type } });

/** An error without message is not the service's own: the service always writes both. */
test.each<[status: number, code: string, body: string, headers?: Record<string, string>]>([
  [301, 'redirect', page, elsewhere],
  [307, 'redirect', typeOnly('invalid_request'), elsewhere],
  [500, 'server', page],
  [502, 'server', typeOnly('bad_gateway')],
  [504, 'server', ''],
  [400, 'unexpected_status', page],
  [408, 'unexpected_status', typeOnly('timeout')],
  [401, 'unexpected_status', page],
  [403, 'unexpected_status', ''],
  [422, 'unexpected_status', '{"error"'],
  [429, 'rate_limited', page, { 'retry-after': '0' }],
  [201, 'unreadable', page],
  [201, 'unreadable', whole.slice(0, 40)],
  [201, 'unreadable', '{}'],
  [204, 'unreadable', ''],
  [200, 'unreadable', '{}'],
  [404, 'unexpected_status', page],
  [409, 'unexpected_status', wordless],
])('a send that is answered %i (%s) by something else is not repeated, and may have happened', async (...row) => {
  const [status, code, body, headers = {}] = row;
  const { url, seen } = await listen((response) => response.writeHead(status, headers).end(body));
  const error = await refusalOf(open(url, { retry: { tries: 5 } }).messages.send(request));
  expect(error).toMatchObject({ code, status, effect: 'unknown', advice: 'reconcile' });
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /api/public/v1/sms/messages']);
});

test.each<[answer: string, code: string, advice: string]>([
  ['400 invalid_request', 'invalid_request', 'refused'],
  ['401 unauthenticated', 'unauthenticated', 'credential'],
  ['403 insufficient_scope', 'insufficient_scope', 'scope'],
  ['403 permission_denied', 'permission_denied', 'permission'],
  ['422 invalid_request', 'invalid_request', 'refused'],
  ['429 rate_limited', 'rate_limited', 'retry'],
  ['500 internal_error', 'server', 'retry'],
  ['402 a_new_word', 'unexpected_status', 'refused'],
  ['408 a_new_word', 'unexpected_status', 'retry'],
  ['409 a_new_word', 'unexpected_status', 'refused'],
  ['413 a_new_word', 'unexpected_status', 'refused'],
  ['429 a_new_word', 'rate_limited', 'retry'],
  ['500 a_new_word', 'server', 'retry'],
  ['503 a_new_word', 'server', 'retry'],
])('a send that the service answers with %s is proof that nothing was sent', async (answer, code, advice) => {
  const [status, type = ''] = answer.split(' ');
  const scope = 'sms:send';
  const { url, seen } = await listen((response) => refuse(response, Number(status), type, { scope }));
  const error = await refusalOf(open(url, { retry: { tries: 5 } }).messages.send(request));
  expect(error).toMatchObject({ code, advice, status: Number(status), effect: 'none' });
  expect(error.scope).toBe(code === 'insufficient_scope' || code === 'unauthenticated' ? scope : undefined);
  expect(seen).toHaveLength(1);
});

test.each<Scripted[]>([['500 internal_error'], ['409 a_new_word']])(
  'only a send is proved not to have happened by %s of the service',
  async (answer) => {
    const { url, seen } = await serve(answer);
    const service = open(url);
    const effects = [];
    for (const call of Object.values(onceOnly)) effects.push((await refusalOf(call(service))).effect);
    expect(effects).toEqual(['none', 'unknown', 'unknown', 'unknown']);
    expect(seen).toHaveLength(4);
  },
);

test('a send that cannot connect, or rests with the circuit, has not left', async () => {
  const { url } = await serve('200');
  const { messages, circuit } = open(url.replace('http:', 'https:'), { circuit: { failures: 1 } });
  expect(await refusalOf(messages.send(request))).toMatchObject({ code: 'network', effect: 'none' });
  expect(circuit.state().state).toBe('open');
  expect(await refusalOf(messages.send(request))).toMatchObject({ code: 'circuit_open', effect: 'none' });
});

test('a send that its caller gives up may have happened once it left', async () => {
  const giveUp = new AbortController();
  const { url, posts } = await countPosts(() => giveUp.abort());
  const { messages } = open(url);
  const call = { signal: giveUp.signal };
  expect(await refusalOf(messages.send(request, call))).toMatchObject({ code: 'aborted', effect: 'unknown' });
  expect(await refusalOf(messages.send(request, call))).toMatchObject({ code: 'aborted', effect: 'none' });
  expect(posts).toHaveLength(1);
});

test('a send that may not leave any more once the connection is there has not left', async () => {
  const { url, posts } = await countPosts((socket) => socket.end());
  const { messages, circuit } = open(url, { circuit: { failures: 1 } });
  const error = await refusalOf(messages.send(request, { maySend: () => false }));
  expect(error).toMatchObject({ code: 'stalled', advice: 'retry', effect: 'none' });
  expect(posts).toEqual([]);
  expect(circuit.state().state).toBe('closed');
});

test('a send takes a connection of its own: an idle one might close under it', async () => {
  const opened: string[][] = [];
  const { url } = await listenTcp((socket) => {
    const asked: string[] = [];
    opened.push(asked);
    socket.on('data', (bytes) => {
      const [method = ''] = bytes.toString().split(' ');
      asked.push(method);
      socket.write(method === 'POST' ? http(201, whole) : http(200, '{"data":[]}'));
    });
  });
  const { lines, messages } = open(url);
  for (const _ of [1, 2]) {
    await lines.list();
    await messages.send(request);
  }
  expect(opened).toEqual([['GET', 'GET'], ['POST'], ['POST']]);
});

test('one call may be given its own time for the answer, longer or shorter', async () => {
  const { url, posts } = await countPosts((socket) => setTimeout(() => socket.end(http(201, whole)), 500));
  const { messages } = open(url, { limits: { answerMs: 200, headersMs: 100 } });
  expect(await messages.send(request, { answerMs: 5_000 })).toMatchObject({ status: 201 });
  const error = await refusalOf(messages.send(request, { answerMs: 50 }));
  expect(error).toMatchObject({ code: 'timeout', effect: 'unknown' });
  expect(error.message).toContain('not complete after 50 ms');
  expect(posts).toHaveLength(2);
});

test('what may be done twice is repeated', async () => {
  const { url, seen } = await listen((response, { url }, number) => {
    if (number % 2 === 1) response.destroy();
    else if (/read$|drafts/.test(url)) response.writeHead(204).end();
    else json(response, 200, { data: { ...pair, resolved: true } });
  });
  const { conversations, lines, drafts } = open(url);
  await conversations.resolve(pair, { resolvedBy: 5 });
  await conversations.reopen(pair);
  await conversations.assign(pair, 5);
  await conversations.markMessages(pair, { messageIds: [1] });
  await lines.block(pair.line, { number: pair.number });
  await lines.markRead(pair.line);
  await drafts.delete('key');
  expect(seen).toHaveLength(14);
});
