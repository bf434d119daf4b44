import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Message } from '../../../src/sandbox/account.ts';
import { createRandom } from '../../../src/sandbox/random.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createMessageTable, isUnread } from '../../../src/sandbox/store/messages.ts';
import { assignedLine, type Cast, castOf, foreignLine, line, refusal } from './account.ts';

let sandbox: Sandbox;
let cast: Cast;
const [one, two] = ['13125550601', '13125550602'] as const;
const second = '16465550101';

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
});
afterAll(() => sandbox.close());
beforeEach(async () => {
  await sandbox.reset();
  cast = await castOf(sandbox);
});

const count = (query = '', token?: string) => cast.ask('GET', `/sms/unread${query}`, undefined, token);
const total = async (query = '', token?: string) => (await count(query, token)).body.data.total;
const markLine = (body: unknown, token: string | undefined, of = line) =>
  cast.ask('POST', `/sms/lines/${of}/read`, body, token);

async function arrive(on = line, number: string = one, sentAt?: string): Promise<number> {
  const { id } = await sandbox.emit.sms({ line: on, number, announce: false, ...(sentAt && { sentAt }) });
  return id;
}

test('an API key gets what nobody has read, line by line', async () => {
  const id = await arrive();
  await arrive(line, two);
  await arrive(assignedLine);
  const { status, body } = await count();
  expect(status).toBe(200);
  const counts = body.data.lines as { line: string; count: number }[];
  expect(body.data.total).toBe(3);
  expect(Object.fromEntries(counts.map((each) => [each.line, each.count]))).toEqual({
    [line]: 2,
    [second]: 0,
    [assignedLine]: 1,
    '16465550103': 0,
  });
  await cast.ask('POST', `/sms/conversations/${line}/${one}/read`, { messageIds: [id] }, cast.other.token);
  expect(await total()).toBe(2);
});

test('a user counts what that user has not read, on the lines that are theirs', async () => {
  const id = await arrive();
  await arrive(assignedLine);
  expect(await total('', cast.other.token)).toBe(1);
  expect(await total('', cast.assigned.token)).toBe(2);
  await cast.ask('POST', `/sms/conversations/${line}/${one}/read`, { messageIds: [id] }, cast.other.token);
  expect(await total('', cast.other.token)).toBe(0);
  expect(await total('', cast.assigned.token)).toBe(2);
});

test('only messages that came in count; groups do too, the deleted do not', async () => {
  const id = await arrive();
  await sandbox.emit.sms({ line, number: one, direction: 'out', delivery: null, announce: false });
  await sandbox.emit.sms({ line, number: one, participants: [one, two], announce: false });
  expect(await total()).toBe(2);
  await cast.ask('DELETE', `/sms/conversations/${line}/${one}/messages/${id}`);
  expect(await total()).toBe(1);
});

test('lines narrows to the named ones, once each and in their order, and total is their sum', async () => {
  await arrive();
  await arrive(second);
  await arrive(assignedLine);
  const query = `?lines=${assignedLine},${encodeURIComponent('(646) 555-0100')},${line}`;
  expect((await count(query)).body).toEqual({
    data: {
      total: 2,
      lines: [
        { line: assignedLine, count: 1 },
        { line, count: 1 },
      ],
    },
  });
});

test.each([
  ['2026-05-04T12:00:09Z', 3],
  ['2026-05-04T12:00:10Z', 2],
  ['2026-05-04T12:00:10.100Z', 3],
  ['2026-05-04T12:00:10.900Z', 2],
  ['2026-05-04T08:00:10-04:00', 2],
  ['2026-05-04T12:00:20Z', 1],
  ['2026-05-04T12:00:30Z', 0],
])('since %s counts %i messages: those after it, and a whole second is over at its end', async (since, expected) => {
  for (const at of ['10.400', '20.000', '30.999']) await arrive(line, one, `2026-05-04T12:00:${at}Z`);
  for (const token of [undefined, cast.other.token]) {
    expect(await total(`?since=${encodeURIComponent(since)}`, token)).toBe(expected);
  }
});

test.each([
  ['since=yesterday', 'since'],
  ['since=2026-05-04', 'since'],
  ['since=2026-05-04T12:00:00', 'since'],
  ['since=1777896000', 'since'],
  ['since=', 'since'],
  ['since=2026-13-04T12:00:00Z', 'since'],
  [`lines=${line},nobody`, 'lines'],
  ['lines=', 'lines'],
])('%s is a 400 that names %s', async (query, field) => {
  const answer = await count(`?${query}`);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
});

test('one line that the credential may not use is a 403 for all', async () => {
  expect(refusal(await count(`?lines=${line},${foreignLine}`))).toEqual([403, 'permission_denied']);
  expect(refusal(await count(`?lines=${line},${assignedLine}`, cast.other.token))).toEqual([403, 'permission_denied']);
  expect((await count(`?lines=${line},${assignedLine}`, cast.assigned.token)).status).toBe(200);
});

test('a user without the permission Phone numbers gets 403', async () => {
  const { body } = await cast.control('GET', `/users/${cast.other.id}/role`);
  await cast.control('PUT', `/users/${cast.other.id}/role`, { ...body.data, phoneNumbers: false });
  expect(refusal(await count('', cast.other.token))).toEqual([403, 'permission_denied']);
  expect(refusal(await markLine({}, cast.other.token))).toEqual([403, 'permission_denied']);
});

test('a user marks a whole line read, every conversation of it, for nobody else', async () => {
  await arrive();
  await arrive(line, two);
  await sandbox.emit.sms({ line, number: one, participants: [one, two], announce: false });
  await arrive(second);
  const { status, body } = await markLine({}, cast.other.token);
  expect([status, body]).toEqual([204, undefined]);
  expect((await count(`?lines=${line},${second}`, cast.other.token)).body.data.lines).toEqual([
    { line, count: 0 },
    { line: second, count: 1 },
  ]);
  expect(await total('', cast.assigned.token)).toBe(4);
});

test('with since, what came after it is marked', async () => {
  for (const at of ['10', '20', '30']) await arrive(line, one, `2026-05-04T12:00:${at}Z`);
  await markLine({ since: '2026-05-04T12:00:20Z' }, cast.other.token);
  const { body } = await cast.ask('GET', `/sms/conversations/${line}/${one}`, undefined, cast.other.token);
  expect(body.data.messages.map((message: { read: boolean }) => message.read)).toEqual([true, false, false]);
});

test('a key cannot mark a whole line read', async () => {
  await arrive();
  expect(refusal(await markLine({}, undefined))).toEqual([400, 'invalid_request']);
  expect(await total()).toBe(1);
});

test.each([
  [{ since: 'now' }, 'since'],
  [{ since: null }, 'since'],
  [{ until: '2026-05-04T12:00:00Z' }, 'until'],
])('marking a line with %j is a 400 that names %s', async (body, field) => {
  const answer = await markLine(body, cast.other.token);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
});

test('marking a line wants one that the user may use', async () => {
  expect(refusal(await markLine({}, cast.other.token, assignedLine))).toEqual([403, 'permission_denied']);
  expect(refusal(await markLine({}, cast.other.token, foreignLine))).toEqual([403, 'permission_denied']);
  expect((await markLine({}, cast.assigned.token, assignedLine)).status).toBe(204);
});

test('counting wants messages:read and marking messages:write', async () => {
  const tokenOf = async (scope: string) =>
    (await cast.control('POST', '/tokens', { userId: cast.other.id, scopes: [scope] })).body.data.access_token;
  const [reader, writer] = [await tokenOf('messages:read'), await tokenOf('messages:write')];
  expect((await count('', writer)).body.error).toMatchObject({ type: 'insufficient_scope', scope: 'messages:read' });
  expect((await markLine({}, reader)).body.error).toMatchObject({
    type: 'insufficient_scope',
    scope: 'messages:write',
  });
  expect((await count('', reader)).status).toBe(200);
  expect((await markLine({}, writer)).status).toBe(204);
});

test('the running counts agree with counting, whatever happens to messages', () => {
  const random = createRandom(7);
  const table = createMessageTable(() => {});
  const lines = ['1', '2'];
  for (let step = 0; step < 3_000; step++) {
    const known = table.values();
    const old = known.length > 0 ? random.pick(known) : undefined;
    if (old !== undefined && random.chance(0.2)) table.delete(old.id);
    else table.put(invent(random.chance(0.5) ? (old?.id ?? 1) : table.nextId()));
  }
  expect(table.size()).toBeGreaterThan(100);
  for (const of of lines) {
    const all = table.values().filter((message) => message.line === of);
    const sorted = all.toSorted((first, other) => first.sentAt - other.sentAt || first.id - other.id);
    expect(table.ofLine(of)).toEqual(sorted);
    for (const reader of ['account', 1, 2, 3] as const) {
      const unread = sorted.filter((message) => isUnread(message, reader));
      expect(table.unread(of, reader)).toBe(unread.length);
      for (const after of [0, 12, 25, 38, 50]) {
        expect(table.unread(of, reader, after)).toBe(unread.filter(({ sentAt }) => sentAt > after).length);
      }
    }
  }

  function invent(id: number): Message {
    return {
      id,
      line: random.pick(lines),
      number: String(random.int(1, 3)),
      participants: [],
      direction: random.chance(0.6) ? 'in' : 'out',
      from: '',
      text: '',
      media: [],
      sentAt: random.int(1, 50),
      readBy: [1, 2, 3].filter(() => random.chance(0.3)),
      readByAccount: random.chance(0.3),
    };
  }
});
