import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { assignedLine, type Cast, castOf, foreignLine, line, refusal } from './account.ts';

let sandbox: Sandbox;
let cast: Cast;
let lastNumber = 13125550300;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  cast = await castOf(sandbox);
});
afterAll(() => sandbox.close());

const at = (number: string) => `/sms/conversations/${line}/${number}`;

async function texts(count: number): Promise<{ number: string; ids: number[] }> {
  const number = String(++lastNumber);
  const ids: number[] = [];
  for (let made = 0; made < count; made++) ids.push((await sandbox.emit.sms({ line, number, announce: false })).id);
  return { number, ids };
}

interface Shown {
  id: number;
  read: boolean;
  readBy: number[];
}

async function thread(number: string, token?: string): Promise<Shown[]> {
  const { body } = await cast.ask('GET', `${at(number)}?limit=200`, undefined, token);
  return body.data.messages.toSorted((one: Shown, other: Shown) => one.id - other.id);
}

const marks = async (number: string, token?: string) => (await thread(number, token)).map(({ read }) => read);
const mark = (number: string, body: unknown, token?: string) => cast.ask('POST', `${at(number)}/read`, body, token);

test('marks only what is named, for the calling user alone', async () => {
  const { number, ids } = await texts(3);
  const { status, body } = await mark(number, { messageIds: [ids[0], ids[2]] }, cast.other.token);
  expect([status, body]).toEqual([204, undefined]);
  expect(await marks(number, cast.other.token)).toEqual([true, false, true]);
  expect(await marks(number, cast.assigned.token)).toEqual([false, false, false]);
  expect((await thread(number)).map(({ readBy }) => readBy)).toEqual([[cast.other.id], [], [cast.other.id]]);
});

test('marking twice is marking once', async () => {
  const { number, ids } = await texts(1);
  for (let time = 0; time < 2; time++) await mark(number, { messageIds: [ids[0], ids[0]] }, cast.other.token);
  expect((await thread(number))[0]?.readBy).toEqual([cast.other.id]);
});

test('read: false takes back the mark of the calling user alone', async () => {
  const { number, ids } = await texts(1);
  for (const { token } of [cast.other, cast.assigned]) await mark(number, { messageIds: ids, read: true }, token);
  await mark(number, { messageIds: ids, read: false }, cast.other.token);
  expect(await marks(number, cast.other.token)).toEqual([false]);
  expect(await marks(number, cast.assigned.token)).toEqual([true]);
  expect((await thread(number))[0]?.readBy).toEqual([cast.assigned.id]);
});

test('a key marks for the account and for no user', async () => {
  const { number, ids } = await texts(1);
  await mark(number, { messageIds: ids });
  expect(await thread(number)).toMatchObject([{ read: true, readBy: [] }]);
  expect(await marks(number, cast.other.token)).toEqual([false]);
  await mark(number, { messageIds: ids, read: false });
  expect(await marks(number)).toEqual([false]);
});

test('a key cannot take back what a user has read', async () => {
  const { number, ids } = await texts(1);
  await mark(number, { messageIds: ids }, cast.other.token);
  expect(await marks(number)).toEqual([true]);
  await mark(number, { messageIds: ids, read: false });
  expect(await thread(number)).toMatchObject([{ read: true, readBy: [cast.other.id] }]);
});

test('markRead marks for the user who reads, and returns the messages as marked', async () => {
  const { number } = await texts(2);
  const { body } = await cast.ask('GET', `${at(number)}?markRead=true&limit=1`, undefined, cast.other.token);
  expect(body.data).toMatchObject({ markedRead: true, messages: [{ read: true, readBy: [cast.other.id] }] });
  expect(await marks(number, cast.other.token)).toEqual([false, true]);
  expect(await marks(number, cast.assigned.token)).toEqual([false, false]);
});

test('reading a thread without markRead leaves it unread', async () => {
  const { number } = await texts(1);
  for (const query of ['', '?markRead=false']) {
    expect((await cast.ask('GET', at(number) + query)).body.data.markedRead).toBe(false);
  }
  expect(await marks(number)).toEqual([false]);
});

test('a message of a group is marked under any of its parties', async () => {
  const [one, two] = [String(++lastNumber), String(++lastNumber)];
  const { id } = await sandbox.emit.sms({ line, number: two, participants: [one, two] });
  for (const [number, read] of [
    [one, true],
    [two, false],
  ] as const) {
    expect((await mark(number, { messageIds: [id], read })).status).toBe(204);
    const { body } = await cast.ask('GET', `${at(one)}?groupParticipants=${two}`);
    expect(body.data.messages).toMatchObject([{ id, read }]);
  }
});

test('ids that are not in the conversation mark nothing', async () => {
  const here = await texts(1);
  const there = await texts(1);
  expect((await mark(here.number, { messageIds: [...there.ids, 1, ...here.ids] })).status).toBe(204);
  expect(await marks(here.number)).toEqual([true]);
  expect(await marks(there.number)).toEqual([false]);
});

test('marks 50 messages at once, and refuses 51 without marking one', async () => {
  const { number, ids } = await texts(51);
  const tooMany = await mark(number, { messageIds: ids });
  expect(refusal(tooMany)).toEqual([400, 'invalid_request']);
  expect(tooMany.body.error.message).toContain('messageIds');
  expect(new Set(await marks(number))).toEqual(new Set([false]));
  expect((await mark(number, { messageIds: ids.slice(0, 50) })).status).toBe(204);
  expect((await marks(number)).filter((read) => read)).toHaveLength(50);
});

test.each([
  [undefined, 'messageIds'],
  [{}, 'messageIds'],
  [{ messageIds: [] }, 'messageIds'],
  [{ messageIds: 5 }, 'messageIds'],
  [{ messageIds: ['5'] }, 'messageIds[0]'],
  [{ messageIds: [1, 2.5] }, 'messageIds[1]'],
  [{ messageIds: [null] }, 'messageIds[0]'],
  [{ messageIds: [1], read: 'no' }, 'read'],
  [{ messageIds: [1], userId: 3 }, 'userId'],
])('%j is a 400 that names %s', async (body, field) => {
  const answer = await mark('13125550300', body);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
});

test('wants a line that the credential may use', async () => {
  const body = { messageIds: [1] };
  const path = (of: string) => `/sms/conversations/${of}/13125550300/read`;
  expect(refusal(await cast.ask('POST', path(foreignLine), body))).toEqual([403, 'permission_denied']);
  const token = cast.other.token;
  expect(refusal(await cast.ask('POST', path(assignedLine), body, token))).toEqual([403, 'permission_denied']);
  expect((await cast.ask('POST', path(assignedLine), body, cast.assigned.token)).status).toBe(204);
});

test('wants the scope messages:write', async () => {
  const scopes = ['messages:read', 'sms:write'];
  const { body } = await cast.control('POST', '/keys', { name: 'cannot mark', scopes });
  const answer = await mark('13125550300', { messageIds: [1] }, body.data.key);
  expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
  expect(answer.body.error.scope).toBe('messages:write');
});
