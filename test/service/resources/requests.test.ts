import { expect, test } from 'vitest';
import { apiKey } from '../../../src/service/client.ts';
import { json, listen, open, refusalOf } from '../endpoint.ts';

const subscription = { id: 7, name: 'n', url: 'https://example.test/hooks/t', type: 'AccountSMS', enabled: true };
const call = { id: '1783385492.057900', legs: [] };

test('every operation asks its specified address', async () => {
  const { url, seen } = await listen((response, { method, url }) => {
    if (url.includes('/sms/conversations/')) json(response, 200, { data: { messages: [] } });
    else if (url.endsWith('/calls/search')) json(response, 200, { data: { total: 0, calls: [] } });
    else if (/\/calls\/[^/]+$/.test(url)) json(response, 200, { data: call });
    else if (url.includes('/webhooks') && method !== 'GET') json(response, 200, { data: subscription });
    else json(response, 200, { data: [] });
  });
  const { lines, users, conversations, calls, webhooks } = open(url);
  await lines.list();
  await users.list();
  await conversations.read({ line: '18457511133', number: '18455008085' });
  await calls.search({ start: 1, end: 2, limit: 500, filters: { queues: ['200'] } });
  await calls.get('1783385492.057900');
  await calls.recordings('1783385492.057900');
  await calls.transcripts('1783385492.057900');
  await webhooks.list();
  await webhooks.list({ type: 'AccountSMS', enabled: true });
  await webhooks.types();
  await webhooks.create({ name: 'n', url: 'https://example.test/hooks/t', type: 'AccountSMS' });
  await webhooks.update(7, { description: 'd' });
  await webhooks.enable(7);
  await webhooks.disable(7);

  expect(seen.map(({ method, url, body }) => `${method} ${url} ${body}`.trim())).toEqual([
    'GET /api/public/v1/sms/lines',
    'GET /api/public/v1/users',
    'GET /api/public/v1/sms/conversations/18457511133/18455008085',
    'POST /api/public/v1/calls/search {"start":1,"end":2,"limit":500,"filters":{"queues":["200"]}}',
    'GET /api/public/v1/calls/1783385492.057900',
    'GET /api/public/v1/calls/1783385492.057900/recordings',
    'GET /api/public/v1/calls/1783385492.057900/transcripts',
    'GET /api/public/v1/webhooks',
    'GET /api/public/v1/webhooks?type=AccountSMS&enabled=true',
    'GET /api/public/v1/webhooks/types',
    'POST /api/public/v1/webhooks {"name":"n","url":"https://example.test/hooks/t","type":"AccountSMS"}',
    'PUT /api/public/v1/webhooks/7 {"description":"d"}',
    'PUT /api/public/v1/webhooks/7 {"enabled":true}',
    'POST /api/public/v1/webhooks/7/disable',
  ]);
});

test('requests carry the credential, the name of the client and the encodings it reads', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: [] }));
  await open(url, { credential: apiKey('key-1') }).lines.list();
  expect(seen[0]?.headers).toMatchObject({
    authorization: 'Bearer key-1',
    'user-agent': expect.stringMatching(/^trunkline\/\d+\.\d+\.\d+/),
    accept: 'application/json',
    'accept-encoding': 'gzip, br, deflate',
  });
});

test('a base address may have a path and a trailing slash', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: [] }));
  await open(`${url}/gateway/eu/`).users.list();
  expect(seen[0]?.url).toBe('/gateway/eu/api/public/v1/users');
});

test.each(['', 'service.test', 'ftp://service.test', 'https://me:secret@service.test', 'https://service.test/?a=1'])(
  'the base address %j is refused when the client is opened, and not repeated in the message',
  (baseUrl) => {
    expect(() => open(baseUrl)).toThrow(/base address should look like/);
    expect(() => open(baseUrl)).not.toThrow(/secret/);
  },
);

test('a thread page is asked for with its group, and never marks anything read by itself', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: { messages: [] } }));
  const { conversations } = open(url);
  const thread = { line: '1', number: '2', groupParticipants: ['2', '3'] };
  await conversations.read(thread, { limit: 50, offset: 0 });
  await conversations.read(thread, { markRead: true });
  expect(seen.map((request) => request.url.split('?')[1])).toEqual([
    'groupParticipants=2%2C3&limit=50&offset=0',
    'groupParticipants=2%2C3&markRead=true',
  ]);
});

test('parameters cannot leave their part of the path', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: [] }));
  const { calls } = open(url);
  await calls.recordings('../users?x=1#y/%2e');
  expect(seen[0]?.url).toBe('/api/public/v1/calls/..%2Fusers%3Fx%3D1%23y%2F%252e/recordings');
  for (const id of ['', '.', '..']) {
    expect(await refusalOf(calls.recordings(id))).toMatchObject({ code: 'invalid_request', effect: 'none' });
  }
  expect(seen).toHaveLength(1);
});

test('the list of event types may hold names or objects that carry them', async () => {
  const { url } = await listen((response) =>
    json(response, 200, { data: ['AccountSMS', { type: 'AccountEndedCalls' }, { name: 'New' }, 5] }),
  );
  const { data, omitted } = await open(url).webhooks.types();
  expect({ data, omitted }).toEqual({ data: ['AccountSMS', 'AccountEndedCalls', 'New', '5'], omitted: 0 });
});
