import { expect, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { open, refusalOf, serve } from './endpoint.ts';
import { typed } from './row.ts';

const at = '2026-04-21T18:47:50Z';
const pair = { line: '18457511133', number: '18455008085' };
const formatted = { line: '(845) 751-1133', number: '+1 845.500.8085' };
const thread = '/sms/conversations/18457511133/18455008085';
const callId = '1783385492.057900';
const largeId = '9007199254740993';
const picture = { filename: 'a.png', contentType: 'image/png', content: 'AAAA' } as const;
const hook = { name: 'n', url: 'https://example.test/hooks/t', type: 'AccountSMS' } as const;

const subscription = { id: 7, ...hook, enabled: true };
const state = { ...pair, resolved: true, resolvedBy: 5, resolvedAt: at };
const blocked = { ...pair, reason: 'spam', blockedAt: at };
const unresolved = { ...pair, resolved: false };
const sent = {
  from: pair.line,
  billing: { billed: true, currency: 'USD', type: 'sms', units: 1, totalPrice: 0.0083, recipientCount: 1 },
  messages: [{ id: 1, to: [pair.number], type: 'sms', status: 'sent', units: 1, unitPrice: 0.0083, price: 0.0083 }],
  skipped: [],
};

type Call = (service: Service) => Promise<{ data: unknown; status: number }>;
/** Method, path below the prefix with its query, and body; the call; what is answered, left out where that has no body. */
type Row = [request: string, call: Call, data?: unknown, status?: number];

const hookPath = '/webhooks/7';
const body = JSON.stringify;

/** Sections 4.1 to 4.7. */
const operations: Row[] = [
  ['GET /sms/lines', ({ lines }) => lines.list(), [{ number: pair.line, name: '' }]],
  [
    'POST /sms/messages {"from":"18457511133","to":["845 500 8085","+972-50-1234567","x"],"message":"é"}',
    (s) => s.messages.send({ from: '1 (845) 751-1133', to: ['845 500 8085', '+972-50-1234567', 'x'], message: 'é' }),
    sent,
    201,
  ],
  [
    `POST /sms/messages {"from":"8457511133","to":["18455008085"],"attachments":[${body(picture)}]}`,
    (s) => s.messages.send({ from: '8457511133', to: ['18455008085'], attachments: [picture] }),
    { ...sent, messages: [], skipped: [{ to: '18455008085', reason: 'opted_out' }] },
  ],

  [`GET ${thread}`, (s) => s.conversations.read(formatted), { ...pair, messages: [] }],
  [
    `GET ${thread}?groupParticipants=2%2C3&limit=50&offset=0`,
    (s) => s.conversations.read({ ...pair, groupParticipants: ['2', '3'] }, { limit: 50, offset: 0 }),
    { messages: [] },
  ],
  [
    `GET ${thread}?markRead=true`,
    (s) => s.conversations.read(pair, { markRead: true }),
    { messages: [], markedRead: true },
  ],
  [`POST ${thread}/resolve`, (s) => s.conversations.resolve(formatted), state],
  [`POST ${thread}/resolve {"resolvedBy":5}`, (s) => s.conversations.resolve(pair, { resolvedBy: 5 }), state],
  [
    `POST ${thread}/resolve {"resolvedBy":5,"comment":"done"}`,
    (s) => s.conversations.resolve(pair, { resolvedBy: 5, comment: 'done' }),
    state,
  ],
  [`POST ${thread}/comments {"comment":"a note"}`, (s) => s.conversations.comment(pair, 'a note'), unresolved, 201],
  [`POST ${thread}/assign {"userId":5}`, (s) => s.conversations.assign(pair, 5), state],
  [`POST ${thread}/assign {"userId":${largeId}}`, (s) => s.conversations.assign(pair, largeId), state],
  [`POST ${thread}/assign {"userId":null}`, (s) => s.conversations.assign(pair, null), state],
  [`POST ${thread}/reopen`, (s) => s.conversations.reopen(formatted), unresolved],
  [`POST ${thread}/read {"messageIds":[1,2]}`, (s) => s.conversations.markMessages(pair, { messageIds: [1, 2] })],
  [
    `POST ${thread}/read {"messageIds":[1],"read":false}`,
    (s) => s.conversations.markMessages(pair, { messageIds: [1], read: false }),
  ],
  [
    `POST ${thread}/read {"messageIds":[1,${largeId}]}`,
    (s) => s.conversations.markMessages(pair, { messageIds: [1, largeId] }),
  ],
  [`DELETE ${thread}/messages/${largeId}`, (s) => s.conversations.deleteMessage(pair, largeId)],
  [`DELETE ${thread}/messages/110`, (s) => s.conversations.deleteMessage(formatted, 110)],
  [`DELETE ${thread}`, (s) => s.conversations.delete(formatted)],

  [
    'POST /sms/lines/18457511133/blocked {"number":"18455008085","reason":"spam"}',
    ({ lines }) => lines.block(formatted.line, { number: formatted.number, reason: 'spam' }),
    blocked,
    201,
  ],
  [
    'POST /sms/lines/18457511133/blocked {"number":"12345"}',
    ({ lines }) => lines.block(pair.line, { number: '12345' }),
    { number: '12345' },
  ],
  [
    'GET /sms/lines/18457511133/blocked/18455008085',
    ({ lines }) => lines.blocked(formatted.line, formatted.number),
    blocked,
  ],
  ['POST /sms/lines/18457511133/read {}', ({ lines }) => lines.markRead(pair.line)],
  [
    'POST /sms/lines/18457511133/read {"since":"2026-04-21T18:47:50Z"}',
    ({ lines }) => lines.markRead(formatted.line, { since: at }),
  ],
  ['GET /sms/unread', ({ unread }) => unread.counts(), { total: 3, lines: [{ line: pair.line, count: 3 }] }],
  [
    'GET /sms/unread?lines=18457511133%2C12345&since=2026-04-21T14%3A47%3A50-04%3A00',
    ({ unread }) => unread.counts({ lines: [formatted.line, '12345'], since: '2026-04-21T14:47:50-04:00' }),
    { total: 0, lines: [] },
  ],

  [
    'PUT /sms/drafts/a%2Fb%20c {"message":""}',
    ({ drafts }) => drafts.put('a/b c', ''),
    { draftId: 'a/b c', message: '' },
  ],
  ['DELETE /sms/drafts/a%2Fb%20c', ({ drafts }) => drafts.delete('a/b c')],
  [
    'POST /sms/templates {"title":"t","body":"b"}',
    ({ templates }) => templates.create({ title: 't', body: 'b' }),
    { id: 9, title: 't', body: 'b' },
    201,
  ],
  ['DELETE /sms/templates/9', ({ templates }) => templates.delete(9)],

  ['GET /users', ({ users }) => users.list(), [{ id: 5, username: '' }]],

  [
    'POST /calls/search {"start":1,"end":2,"limit":500,"filters":{"queues":["200"]}}',
    ({ calls }) => calls.search({ start: 1, end: 2, limit: 500, filters: { queues: ['200'] } }),
    { total: 0, limit: 50, offset: 0, calls: [] },
  ],
  [`GET /calls/${callId}`, ({ calls }) => calls.get(callId), { id: callId, legs: [] }],
  [`GET /calls/${callId}/recordings`, ({ calls }) => calls.recordings(callId), []],
  [`GET /calls/${callId}/transcripts`, ({ calls }) => calls.transcripts(callId), []],

  ['GET /webhooks', ({ webhooks }) => webhooks.list(), [subscription]],
  ['GET /webhooks?type=AccountSMS&enabled=true', (s) => s.webhooks.list({ type: 'AccountSMS', enabled: true }), []],
  ['GET /webhooks/types', ({ webhooks }) => webhooks.types(), ['AccountSMS']],
  [`GET ${hookPath}`, ({ webhooks }) => webhooks.get(7), subscription],
  [`POST /webhooks ${body(hook)}`, ({ webhooks }) => webhooks.create(hook), subscription, 201],
  [`PUT ${hookPath} {"description":"d"}`, (s) => s.webhooks.update(7, { description: 'd' }), subscription],
  [`POST ${hookPath}/disable`, ({ webhooks }) => webhooks.disable(7), subscription],
  [`DELETE ${hookPath}`, ({ webhooks }) => webhooks.remove(7)],
];

test.each(operations)('%s', async (request, call, data, status = data === undefined ? 204 : 200) => {
  const { url, seen } = await serve(data === undefined ? String(status) : `${status} ${body(data)}`);
  const answer = await call(open(url));
  const [asked] = seen;
  expect(`${asked?.method} ${asked?.url.replace('/api/public/v1', '')} ${asked?.body}`.trim()).toBe(request);
  expect(asked?.headers['content-type']).toBe(asked?.body === '' ? undefined : 'application/json');
  expect(seen).toHaveLength(1);
  expect(typed(answer.data)).toEqual(data);
  expect(answer.status).toBe(status);
});

test('every method of every resource is asked for here', async () => {
  const { lines, messages, conversations, unread, drafts, templates, users, calls, webhooks } = open('http://x.test');
  const resources = { lines, messages, conversations, unread, drafts, templates, users, calls, webhooks };
  const asked = new Set<string>();
  const spies = Object.entries(resources).map(([resource, methods]) => [
    resource,
    Object.fromEntries(Object.keys(methods).map((method) => [method, () => void asked.add(`${resource}.${method}`)])),
  ]);
  for (const [, call] of operations) void call(Object.fromEntries(spies) as Service);
  const offered = Object.entries(resources).flatMap(([resource, methods]) =>
    Object.keys(methods).map((method) => `${resource}.${method}`),
  );
  expect([...asked].sort()).toEqual(offered.sort());
});

test('a number that is not blocked is not found', async () => {
  const { url } = await serve('404 not_found');
  const error = await refusalOf(open(url).lines.blocked(pair.line, pair.number));
  expect(error).toMatchObject({ code: 'not_found', advice: 'not_found', operation: 'lines.blocked' });
});

test('requests carry the credential, the name of the client and the encodings it reads', async () => {
  const { url, seen } = await serve('200 []');
  await open(url, { apiKey: 'key-1' }).lines.list();
  expect(seen[0]?.headers).toMatchObject({
    authorization: 'Bearer key-1',
    'user-agent': expect.stringMatching(/^trunkline\/\d+\.\d+\.\d+/),
    accept: 'application/json',
    'accept-encoding': 'gzip',
  });
});

test('a base address may have a path and a trailing slash', async () => {
  const { url, seen } = await serve('200 []');
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

test('parameters cannot leave their part of the path', async () => {
  const { url, seen } = await serve('200 {"draftId":"d"}');
  const { drafts } = open(url);
  await drafts.put('../users?x=1#y/%2e', '');
  expect(seen[0]?.url).toBe('/api/public/v1/sms/drafts/..%2Fusers%3Fx%3D1%23y%2F%252e');
  for (const id of ['', '.', '..']) {
    expect(await refusalOf(drafts.put(id, ''))).toMatchObject({ code: 'invalid_request', effect: 'none' });
  }
  expect(seen).toHaveLength(1);
});

test('the list of event types may hold names or objects that carry them', async () => {
  const { url } = await serve('200 ["AccountSMS",{"type":"AccountEndedCalls"},{"name":"New"}]');
  expect((await open(url).webhooks.types()).data).toEqual(['AccountSMS', 'AccountEndedCalls', 'New']);
});
