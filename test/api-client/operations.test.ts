import { describe, expect, test } from 'vitest';
import type { Service } from '../../src/api-client/client.ts';
import { json, listen, open, refusalOf } from './endpoint.ts';
import { typed } from './row.ts';

const at = '2026-04-21T18:47:50Z';
const pair = { line: '18457511133', number: '18455008085' };
const formatted = { line: '(845) 751-1133', number: '+1 845.500.8085' };
const thread = '/sms/conversations/18457511133/18455008085';
const callId = '1783385492.057900';
const picture = { filename: 'a.png', contentType: 'image/png', content: 'AAAA' } as const;
const hook = { name: 'n', url: 'https://example.test/hooks/t', type: 'AccountSMS' } as const;

const subscription = { id: 7, ...hook, enabled: true };
const state = { ...pair, resolved: true, resolvedBy: 5, resolvedAt: at };
const blocked = { ...pair, reason: 'spam', blockedAt: at };
const call = { id: callId, legs: [] };
const page = { total: 0, limit: 50, offset: 0, calls: [] };
const sent = {
  from: pair.line,
  billing: { billed: true, currency: 'USD', type: 'sms', units: 1, totalPrice: 0.0083, recipientCount: 1 },
  messages: [{ id: 1, to: [pair.number], type: 'sms', status: 'sent', units: 1, unitPrice: 0.0083, price: 0.0083 }],
  skipped: [],
};

interface Row {
  call: (service: Service) => Promise<{ data: unknown; status: number }>;
  /** Method, path below the prefix with its query, and body. */
  request: string;
  status?: number;
  /** Left out where the answer has no body. */
  data?: unknown;
}

const operations: Record<string, Row[]> = {
  'lines and sending (4.1)': [
    { call: ({ lines }) => lines.list(), request: 'GET /sms/lines', data: [{ number: pair.line, name: '' }] },
    {
      call: ({ messages }) =>
        messages.send({ from: '1 (845) 751-1133', to: ['845 500 8085', '+972-50-1234567', 'x'], message: 'é' }),
      request: 'POST /sms/messages {"from":"18457511133","to":["845 500 8085","+972-50-1234567","x"],"message":"é"}',
      status: 201,
      data: sent,
    },
    {
      call: ({ messages }) => messages.send({ from: '8457511133', to: ['18455008085'], attachments: [picture] }),
      request: `POST /sms/messages {"from":"8457511133","to":["18455008085"],"attachments":[${JSON.stringify(picture)}]}`,
      data: { ...sent, messages: [], skipped: [{ to: '18455008085', reason: 'opted_out' }] },
    },
  ],
  'conversations (4.2)': [
    { call: (s) => s.conversations.read(formatted), request: `GET ${thread}`, data: { ...pair, messages: [] } },
    {
      call: (s) => s.conversations.read({ ...pair, groupParticipants: ['2', '3'] }, { limit: 50, offset: 0 }),
      request: `GET ${thread}?groupParticipants=2%2C3&limit=50&offset=0`,
      data: { messages: [] },
    },
    {
      call: (s) => s.conversations.read(pair, { markRead: true }),
      request: `GET ${thread}?markRead=true`,
      data: { messages: [], markedRead: true },
    },
    { call: (s) => s.conversations.resolve(formatted), request: `POST ${thread}/resolve`, data: state },
    {
      call: (s) => s.conversations.resolve(pair, { resolvedBy: 5 }),
      request: `POST ${thread}/resolve {"resolvedBy":5}`,
      data: state,
    },
    {
      call: (s) => s.conversations.resolve(pair, { resolvedBy: 5, comment: 'done' }),
      request: `POST ${thread}/resolve {"resolvedBy":5,"comment":"done"}`,
      data: state,
    },
    {
      call: (s) => s.conversations.comment(pair, 'a note'),
      request: `POST ${thread}/comments {"comment":"a note"}`,
      status: 201,
      data: { ...pair, resolved: false },
    },
    { call: (s) => s.conversations.assign(pair, 5), request: `POST ${thread}/assign {"userId":5}`, data: state },
    { call: (s) => s.conversations.assign(pair, null), request: `POST ${thread}/assign {"userId":null}`, data: state },
    {
      call: (s) => s.conversations.reopen(formatted),
      request: `POST ${thread}/reopen`,
      data: { ...pair, resolved: false },
    },
    {
      call: (s) => s.conversations.markMessages(pair, { messageIds: [1, 2] }),
      request: `POST ${thread}/read {"messageIds":[1,2]}`,
    },
    {
      call: (s) => s.conversations.markMessages(pair, { messageIds: [1], read: false }),
      request: `POST ${thread}/read {"messageIds":[1],"read":false}`,
    },
    {
      call: (s) => s.conversations.markMessages(pair, { messageIds: [1, '9007199254740993'] }),
      request: `POST ${thread}/read {"messageIds":[1,9007199254740993]}`,
    },
    {
      call: (s) => s.conversations.deleteMessage(pair, '9007199254740993'),
      request: `DELETE ${thread}/messages/9007199254740993`,
    },
    { call: (s) => s.conversations.deleteMessage(formatted, 110), request: `DELETE ${thread}/messages/110` },
    { call: (s) => s.conversations.delete(formatted), request: `DELETE ${thread}` },
  ],
  'blocking and unread (4.3)': [
    {
      call: ({ lines }) => lines.block(formatted.line, { number: formatted.number, reason: 'spam' }),
      request: 'POST /sms/lines/18457511133/blocked {"number":"18455008085","reason":"spam"}',
      status: 201,
      data: blocked,
    },
    {
      call: ({ lines }) => lines.block(pair.line, { number: '12345' }),
      request: 'POST /sms/lines/18457511133/blocked {"number":"12345"}',
      data: { number: '12345' },
    },
    {
      call: ({ lines }) => lines.blocked(formatted.line, formatted.number),
      request: 'GET /sms/lines/18457511133/blocked/18455008085',
      data: blocked,
    },
    { call: ({ lines }) => lines.markRead(pair.line), request: 'POST /sms/lines/18457511133/read {}' },
    {
      call: ({ lines }) => lines.markRead(formatted.line, { since: at }),
      request: 'POST /sms/lines/18457511133/read {"since":"2026-04-21T18:47:50Z"}',
    },
    {
      call: ({ unread }) => unread.counts(),
      request: 'GET /sms/unread',
      data: { total: 3, lines: [{ line: pair.line, count: 3 }] },
    },
    {
      call: ({ unread }) => unread.counts({ lines: [formatted.line, '12345'], since: '2026-04-21T14:47:50-04:00' }),
      request: 'GET /sms/unread?lines=18457511133%2C12345&since=2026-04-21T14%3A47%3A50-04%3A00',
      data: { total: 0, lines: [] },
    },
  ],
  'drafts and saved replies (4.4)': [
    {
      call: ({ drafts }) => drafts.put('a/b c', ''),
      request: 'PUT /sms/drafts/a%2Fb%20c {"message":""}',
      data: { draftId: 'a/b c', message: '' },
    },
    { call: ({ drafts }) => drafts.delete('a/b c'), request: 'DELETE /sms/drafts/a%2Fb%20c' },
    {
      call: ({ templates }) => templates.create({ title: 't', body: 'b' }),
      request: 'POST /sms/templates {"title":"t","body":"b"}',
      status: 201,
      data: { id: 9, title: 't', body: 'b' },
    },
    { call: ({ templates }) => templates.delete(9), request: 'DELETE /sms/templates/9' },
  ],
  'users (4.5)': [{ call: ({ users }) => users.list(), request: 'GET /users', data: [{ id: 5, username: '' }] }],
  'calls (4.6)': [
    {
      call: ({ calls }) => calls.search({ start: 1, end: 2, limit: 500, filters: { queues: ['200'] } }),
      request: 'POST /calls/search {"start":1,"end":2,"limit":500,"filters":{"queues":["200"]}}',
      data: page,
    },
    { call: ({ calls }) => calls.get(callId), request: `GET /calls/${callId}`, data: call },
    { call: ({ calls }) => calls.recordings(callId), request: `GET /calls/${callId}/recordings`, data: [] },
    { call: ({ calls }) => calls.transcripts(callId), request: `GET /calls/${callId}/transcripts`, data: [] },
  ],
  'webhooks (4.7)': [
    { call: ({ webhooks }) => webhooks.list(), request: 'GET /webhooks', data: [subscription] },
    {
      call: ({ webhooks }) => webhooks.list({ type: 'AccountSMS', enabled: true }),
      request: 'GET /webhooks?type=AccountSMS&enabled=true',
      data: [],
    },
    { call: ({ webhooks }) => webhooks.types(), request: 'GET /webhooks/types', data: ['AccountSMS'] },
    { call: ({ webhooks }) => webhooks.get(7), request: 'GET /webhooks/7', data: subscription },
    {
      call: ({ webhooks }) => webhooks.create(hook),
      request: `POST /webhooks ${JSON.stringify(hook)}`,
      status: 201,
      data: subscription,
    },
    {
      call: ({ webhooks }) => webhooks.update(7, { description: 'd' }),
      request: 'PUT /webhooks/7 {"description":"d"}',
      data: subscription,
    },
    { call: ({ webhooks }) => webhooks.disable(7), request: 'POST /webhooks/7/disable', data: subscription },
    { call: ({ webhooks }) => webhooks.remove(7), request: 'DELETE /webhooks/7' },
  ],
};

describe.each(Object.entries(operations))('%s', (_, rows) => {
  test.each(rows)('$request', async ({ call, request, data, status = data === undefined ? 204 : 200 }) => {
    const { url, seen } = await listen((response) =>
      data === undefined ? response.writeHead(status).end() : json(response, status, { data }),
    );
    const answer = await call(open(url));
    const [asked] = seen;
    expect(`${asked?.method} ${asked?.url.replace('/api/public/v1', '')} ${asked?.body}`.trim()).toBe(request);
    expect(asked?.headers['content-type']).toBe(asked?.body === '' ? undefined : 'application/json');
    expect(seen).toHaveLength(1);
    expect(typed(answer.data)).toEqual(data);
    expect(answer.status).toBe(status);
  });
});

test('every method of every resource is asked for here', async () => {
  const { lines, messages, conversations, unread, drafts, templates, users, calls, webhooks } = open('http://x.test');
  const resources = { lines, messages, conversations, unread, drafts, templates, users, calls, webhooks };
  const asked = new Set<string>();
  const spies = Object.entries(resources).map(([resource, methods]) => [
    resource,
    Object.fromEntries(Object.keys(methods).map((method) => [method, () => void asked.add(`${resource}.${method}`)])),
  ]);
  for (const { call } of Object.values(operations).flat()) void call(Object.fromEntries(spies) as Service);
  const offered = Object.entries(resources).flatMap(([resource, methods]) =>
    Object.keys(methods).map((method) => `${resource}.${method}`),
  );
  expect([...asked].sort()).toEqual(offered.sort());
});

test('a number that is not blocked is not found', async () => {
  const { url } = await listen((response) => json(response, 404, { error: { type: 'not_found', message: '' } }));
  const error = await refusalOf(open(url).lines.blocked(pair.line, pair.number));
  expect(error).toMatchObject({ code: 'not_found', advice: 'not_found', operation: 'lines.blocked' });
});

test('requests carry the credential, the name of the client and the encodings it reads', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: [] }));
  await open(url, { apiKey: 'key-1' }).lines.list();
  expect(seen[0]?.headers).toMatchObject({
    authorization: 'Bearer key-1',
    'user-agent': expect.stringMatching(/^trunkline\/\d+\.\d+\.\d+/),
    accept: 'application/json',
    'accept-encoding': 'gzip',
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

test('parameters cannot leave their part of the path', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: { draftId: 'd' } }));
  const { drafts } = open(url);
  await drafts.put('../users?x=1#y/%2e', '');
  expect(seen[0]?.url).toBe('/api/public/v1/sms/drafts/..%2Fusers%3Fx%3D1%23y%2F%252e');
  for (const id of ['', '.', '..']) {
    expect(await refusalOf(drafts.put(id, ''))).toMatchObject({ code: 'invalid_request', effect: 'none' });
  }
  expect(seen).toHaveLength(1);
});

test('the list of event types may hold names or objects that carry them', async () => {
  const { url } = await listen((response) =>
    json(response, 200, { data: ['AccountSMS', { type: 'AccountEndedCalls' }, { name: 'New' }] }),
  );
  expect((await open(url).webhooks.types()).data).toEqual(['AccountSMS', 'AccountEndedCalls', 'New']);
});
