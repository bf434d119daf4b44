import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
const line = '16465550100';
const number = '12125550142';

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  ask = caller(sandbox);
});
afterAll(() => sandbox.close());

test('lists the lines with their restrictions', async () => {
  const { body } = await ask('GET', '/sms/lines');
  expect(body.data).toHaveLength(4);
  expect(body.data[0]).toEqual({ number: line, name: 'Brightwater', userIds: [], bulkEnabled: true });
  expect(body.data.filter((one: { userIds: number[] }) => one.userIds.length > 0)).toHaveLength(1);
});

test.each(['application/x-www-form-urlencoded', 'text/plain', 'application/octet-stream', 'application/json'])(
  'no body may come as %s where none is needed, and a body as JSON alone',
  async (type) => {
    const send = async (body: string) => {
      const url = `${sandbox.url}/api/public/v1/sms/conversations/${line}/${number}/resolve`;
      const headers = { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': type };
      return (await fetch(url, { method: 'POST', headers, body })).status;
    };
    expect([await send(''), await send('{}')]).toEqual([200, type === 'application/json' ? 200 : 400]);
  },
);

test('lists users by last name, first name and id', async () => {
  const { body } = await ask('GET', '/users');
  const names = body.data.map((user: { lastName: string; firstName: string }) => `${user.lastName} ${user.firstName}`);
  expect(names).toEqual(names.toSorted());
  expect(names).toHaveLength(12);
  expect(new Set(body.data.map((user: { company: string }) => user.company)).has('')).toBe(false);
});

test('accepts formatted numbers and answers with digits', async () => {
  await sandbox.emit.sms({ line, number, text: 'hello' });
  const { status, body } = await ask('GET', '/sms/conversations/+1 (646) 555-0100/(212) 555-0142');
  expect(status).toBe(200);
  expect(body.data).toMatchObject({ line, number, markedRead: false });
  expect(body.data.messages[0]).toMatchObject({ direction: 'in', from: number, to: line, text: 'hello', read: false });
});

test('a segment that is no phone number is a 400, a foreign line a 403, a silent pair is empty', async () => {
  const wrong = await ask('GET', `/sms/conversations/${line}/someone`);
  expect([wrong.status, wrong.body.error.type]).toEqual([400, 'invalid_request']);
  const foreign = await ask('GET', `/sms/conversations/12125550199/${number}`);
  expect([foreign.status, foreign.body.error.type]).toEqual([403, 'permission_denied']);
  const silent = await ask('GET', `/sms/conversations/${line}/13125550199`);
  expect(silent.body.data.messages).toEqual([]);
});

test('pages through a thread from the newest message on', async () => {
  const made: number[] = [];
  for (let count = 0; count < 7; count++) {
    made.push((await sandbox.emit.sms({ line, number: '13125550101', text: `text ${count}`, announce: false })).id);
  }
  const seen: number[] = [];
  for (let offset = 0; offset < 9; offset += 3) {
    const { body } = await ask('GET', `/sms/conversations/${line}/13125550101?limit=3&offset=${offset}`);
    seen.push(...body.data.messages.map((message: { id: number }) => message.id));
  }
  expect(seen).toEqual(made.toReversed());
});

test.each(['limit=0', 'limit=201', 'limit=-1', 'limit=x', 'offset=-1', 'markRead=maybe'])(
  'refuses %s',
  async (query) => {
    const { status, body } = await ask('GET', `/sms/conversations/${line}/${number}?${query}`);
    expect(status).toBe(400);
    expect(body.error.type).toBe('invalid_request');
    expect(body.error.message).toContain(query.split('=')[0]);
  },
);

test('markRead marks only the messages that it returns', async () => {
  const to = '13125550102';
  for (const text of ['one', 'two']) await sandbox.emit.sms({ line, number: to, text });
  const marked = await ask('GET', `/sms/conversations/${line}/${to}?markRead=true&limit=1`);
  expect(marked.body.data).toMatchObject({ markedRead: true, messages: [{ text: 'two', read: true }] });
  const after = await ask('GET', `/sms/conversations/${line}/${to}`);
  expect(after.body.data.messages.map((message: { read: boolean }) => message.read)).toEqual([true, false]);
});

test('a group thread is found by its participants in any order and stands apart from pairs', async () => {
  const [one, two] = ['13125550103', '13125550104'] as const;
  await sandbox.emit.sms({ line, number: one, text: 'only me' });
  const group = await sandbox.emit.sms({ line, number: two, participants: [one, two], text: 'us both' });
  expect(group.participants).toEqual([one, two]);

  for (const path of [`${one}?groupParticipants=${two},${one}`, `${two}?groupParticipants=${one},${line}`]) {
    const { body } = await ask('GET', `/sms/conversations/${line}/${path}`);
    expect(body.data.messages).toMatchObject([{ text: 'us both', from: two, groupParticipants: [one, two] }]);
  }
  const pair = await ask('GET', `/sms/conversations/${line}/${one}`);
  expect(pair.body.data.messages).toMatchObject([{ text: 'only me' }]);
  expect(pair.body.data.messages[0]).not.toHaveProperty('groupParticipants');
});

test('a picture can be fetched by its link and by nothing else', async () => {
  await sandbox.emit.sms({ line, number: '13125550105', media: ['leak one.jpg'] });
  const { body } = await ask('GET', `/sms/conversations/${line}/13125550105`);
  const [message] = body.data.messages;
  expect(message.text).toBe('');
  expect((await fetch(message.media[0])).headers.get('content-type')).toBe('image/gif');
  expect((await fetch(message.media[0].replace(/signature=.*/, 'signature=guess'))).status).toBe(404);
});
