import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConversationState } from '../../../src/sandbox/account.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { assignedLine, type Cast, castOf, line, refusal } from './account.ts';

let dataDir: string;
let sandbox: Sandbox;
let cast: Cast;
let clock = Date.parse('2026-05-04T12:00:00Z');
let lastNumber = 13125550200;
const newNumber = () => String(++lastNumber);
const at = (number: string) => `/sms/conversations/${line}/${number}`;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  sandbox = await createSandbox({ calls: 0, threads: 0, dataDir, now: () => new Date(clock) });
  cast = await castOf(sandbox);
});
afterAll(async () => {
  await sandbox.close();
  await rm(dataDir, { recursive: true });
});

/** A conversation that nobody has touched, and what to do with it. A second passes before each request. */
function conversation(token?: string) {
  const number = newNumber();
  const ask = (verb: string, body?: unknown, as = token) => {
    clock += 1_000;
    return cast.ask('POST', `/sms/conversations/${line}/${number}/${verb}`, body, as);
  };
  return { number, ask };
}

/** What the journal keeps under a key: no operation reads drafts, notes and assignees. */
async function kept<Entity>(wanted: string): Promise<Entity | undefined> {
  const changes = (await readFile(join(dataDir, 'sandbox.jsonl'), 'utf8')).trim().split('\n').slice(1);
  return changes.map((text) => JSON.parse(text)).findLast(({ key }) => key === wanted)?.put;
}

const stateOf = (number: string) => kept<ConversationState>(`${line}/${number}`);

const seconds = () => new Date(clock).toISOString().replace('.000', '');

describe('the state of a conversation', () => {
  test.each([null, [], 'text', 7])('a body of %j is malformed, and unassigns nobody', async (body) => {
    const { number, ask } = conversation();
    await ask('assign', { userId: cast.other.id });
    expect(refusal(await ask('assign', body))).toEqual([400, 'invalid_request']);
    expect((await stateOf(number))?.assignedTo).toBe(cast.other.id);
  });

  test('an operation without a body refuses unknown fields, and takes an empty object', async () => {
    const { number, ask } = conversation();
    expect(refusal(await ask('reopen', { userId: null }))).toEqual([400, 'invalid_request']);
    expect((await ask('reopen', {})).status).toBe(200);
    const remove = cast.ask('DELETE', `/sms/conversations/${line}/${number}`, { force: true });
    expect(refusal(await remove)).toEqual([400, 'invalid_request']);
  });

  test('a comment is kept with the resolve, also with one that changes nothing else', async () => {
    const { number, ask } = conversation();
    await ask('resolve', { comment: 'refunded', resolvedBy: cast.other.id });
    const first = seconds();
    await ask('resolve', { comment: 'called as well' });
    expect(await stateOf(number)).toMatchObject({
      resolvedAt: first,
      notes: [
        { by: cast.other.id, text: 'refunded', at: first },
        { text: 'called as well', at: seconds() },
      ],
    });
  });

  test.each([
    ['null', { userId: null }],
    ['an empty object', {}],
    ['no body', undefined],
  ])('assign with %s gives the thread back to nobody', async (_, body) => {
    const { number, ask } = conversation();
    await ask('assign', { userId: cast.other.id });
    expect((await stateOf(number))?.assignedTo).toBe(cast.other.id);
    expect((await ask('assign', body)).status).toBe(200);
    expect(await stateOf(number)).toEqual({ line, number, resolved: false, notes: [] });
  });

  test('resolving and reopening leave the assignment as it is', async () => {
    const { number, ask } = conversation();
    await ask('assign', { userId: cast.other.id });
    for (const verb of ['resolve', 'reopen']) {
      await ask(verb);
      expect((await stateOf(number))?.assignedTo).toBe(cast.other.id);
    }
  });

  test('a note is kept with its writer, and neither the thread nor a webhook shows it', async () => {
    const { number, ask } = conversation();
    const { body: hook } = await cast.ask('POST', '/webhooks', { type: 'AccountSMS', url: 'http://127.0.0.1:1/hook' });
    await ask('comments', { comment: 'a hard one' }, cast.other.token);
    const first = seconds();
    await ask('comments', { comment: 'from a program' });
    expect((await stateOf(number))?.notes).toEqual([
      { by: cast.other.id, text: 'a hard one', at: first },
      { text: 'from a program', at: seconds() },
    ]);
    expect((await cast.ask('GET', `/sms/conversations/${line}/${number}`)).body.data.messages).toEqual([]);
    expect(sandbox.deliveries()).toEqual([]);
    await cast.ask('DELETE', `/webhooks/${hook.data.id}`);
  });

  test('a text that comes in does not reopen a resolved conversation', async () => {
    const { number, ask } = conversation();
    const { body } = await ask('resolve');
    await sandbox.emit.sms({ line, number });
    expect((await ask('resolve')).body).toEqual(body);
  });

  test('a token may not name a resolver, not even its owner', async () => {
    const { number, ask } = conversation(cast.other.token);
    const answer = await ask('resolve', { resolvedBy: cast.other.id });
    expect(refusal(answer)).toEqual([400, 'invalid_request']);
    expect(answer.body.error.message).toContain('API keys only');
    expect(await stateOf(number)).toBeUndefined();
  });
});

describe('blocking', () => {
  const block = (body: unknown) => cast.ask('POST', `/sms/lines/${line}/blocked`, body);
  const look = (number: string, of = line) => cast.ask('GET', `/sms/lines/${of}/blocked/${number}`);

  test('blocking again is 201 with the first reason and time', async () => {
    const number = '13125550503';
    const first = await block({ number, reason: 'spam' });
    clock += 60_000;
    for (const body of [{ number }, { number, reason: 'other' }]) {
      const again = await block(body);
      expect([again.status, again.body]).toEqual([201, first.body]);
    }
    expect((await look(number)).body).toEqual(first.body);
  });

  test('a number is blocked on one line only', async () => {
    await block({ number: '13125550505' });
    expect(refusal(await look('13125550505', assignedLine))).toEqual([404, 'not_found']);
  });
});

describe('deleting', () => {
  const drop = (path: string, token?: string) => cast.ask('DELETE', path, undefined, token);

  async function text(words: string): Promise<{ number: string; id: number }> {
    const number = newNumber();
    return { number, id: (await sandbox.emit.sms({ line, number, text: words, announce: false })).id };
  }

  async function shown(number: string, query = ''): Promise<string[]> {
    const { body } = await cast.ask('GET', at(number) + query);
    return body.data.messages.map((message: { text: string }) => message.text);
  }

  test('a conversation without messages is deleted as well', async () => {
    expect((await drop(at('13125550498'))).status).toBe(204);
  });

  test('deleting a conversation spares its state, other conversations and groups', async () => {
    const { number } = await text('of the pair');
    const other = await text('of others');
    const group = { line, number, participants: [number, other.number], text: 'of the group' };
    const { id } = await sandbox.emit.sms(group);
    const { body: resolved } = await cast.ask('POST', `${at(number)}/resolve`);
    await drop(at(number));
    expect(await shown(number)).toEqual([]);
    expect(await shown(other.number)).toEqual(['of others']);
    expect(await shown(number, `?groupParticipants=${other.number}`)).toEqual(['of the group']);
    expect((await cast.ask('POST', `${at(number)}/resolve`)).body).toEqual(resolved);

    expect((await drop(`${at(other.number)}/messages/${id}`)).status).toBe(204);
    expect(await shown(number, `?groupParticipants=${other.number}`)).toEqual([]);
  });

  test('the account setting refuses both, whatever the credential, and tells nothing of what exists', async () => {
    const { number, id } = await text('kept');
    await cast.control('PATCH', '/account', { restrictDeletingSms: true });
    for (const token of [undefined, cast.other.token]) {
      for (const path of [at(number), `${at(number)}/messages/${id}`, `${at(number)}/messages/1`]) {
        expect(refusal(await drop(path, token))).toEqual([403, 'permission_denied']);
      }
    }
    await cast.control('PATCH', '/account', { restrictDeletingSms: false });
    expect(await shown(number)).toEqual(['kept']);
    expect((await drop(at(number), cast.other.token)).status).toBe(204);
  });
});

describe('read marks', () => {
  async function text(): Promise<{ number: string; ids: number[] }> {
    const number = newNumber();
    return { number, ids: [(await sandbox.emit.sms({ line, number, announce: false })).id] };
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

  test('a key marks for the account and for no user', async () => {
    const { number, ids } = await text();
    await mark(number, { messageIds: ids });
    expect(await thread(number)).toMatchObject([{ read: true, readBy: [] }]);
    expect(await marks(number, cast.other.token)).toEqual([false]);
    await mark(number, { messageIds: ids, read: false });
    expect(await marks(number)).toEqual([false]);
  });

  test('a key cannot take back what a user has read', async () => {
    const { number, ids } = await text();
    await mark(number, { messageIds: ids }, cast.other.token);
    expect(await marks(number)).toEqual([true]);
    await mark(number, { messageIds: ids, read: false });
    expect(await thread(number)).toMatchObject([{ read: true, readBy: [cast.other.id] }]);
  });

  test('a message of a group is marked under any of its parties', async () => {
    const [one, two] = [newNumber(), newNumber()];
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
    const here = await text();
    const there = await text();
    expect((await mark(here.number, { messageIds: [...there.ids, 1, ...here.ids] })).status).toBe(204);
    expect(await marks(here.number)).toEqual([true]);
    expect(await marks(there.number)).toEqual([false]);
  });
});

describe('drafts and saved replies', () => {
  const draft = (draftId: string) => `/sms/drafts/${encodeURIComponent(draftId)}`;
  const put = (draftId: string, body: unknown) => cast.ask('PUT', draft(draftId), body);
  const drop = (draftId: string) => cast.ask('DELETE', draft(draftId));

  test.each(['a', 'line/16465550100', '100%', 'ключ ✎', 'a?b#c&d=e', ' spaced ', '__proto__'])(
    'the key %j is kept as it is',
    async (draftId) => {
      const { status, body } = await put(draftId, { message: 'hello' });
      expect(status).toBe(200);
      expect(body).toEqual({ data: { draftId, message: 'hello' } });
      expect(await kept(draftId)).toEqual({ draftId, message: 'hello' });
      expect((await drop(draftId)).status).toBe(204);
      expect(await kept(draftId)).toBeUndefined();
    },
  );

  test.each([
    ['128 characters', 'k'.repeat(128), 200, 204],
    ['129 characters', 'k'.repeat(129), 400, 400],
    ['128 characters outside the basic plane', '✎'.repeat(127).concat('😀'), 200, 204],
    ['129 of them', '😀'.repeat(129), 400, 400],
  ])('a key of %s answers %i to PUT and %i to DELETE', async (_, draftId, putStatus, dropStatus) => {
    const answers = [await put(draftId, { message: 'x' }), await drop(draftId)];
    expect(answers.map(({ status }) => status)).toEqual([putStatus, dropStatus]);
    for (const { status, body } of answers) if (status === 400) expect(body.error.type).toBe('invalid_request');
  });

  const reply = { title: 'Hours', body: 'We open at nine.' };
  test("another user's reply does not exist for a user, and a key is nobody who could have saved one", async () => {
    const { body } = await cast.ask('POST', '/sms/templates', reply, cast.other.token);
    const path = `/sms/templates/${body.data.id}`;
    const remove = (token?: string) => cast.ask('DELETE', path, undefined, token);
    expect(refusal(await remove(cast.assigned.token))).toEqual([404, 'not_found']);
    expect(refusal(await remove())).toEqual([400, 'invalid_request']);
    expect((await remove(cast.other.token)).status).toBe(204);
  });
});

test.each(['application/x-www-form-urlencoded', 'text/plain', 'application/octet-stream', 'application/json'])(
  'no body may come as %s where none is needed, and a body as JSON alone',
  async (type) => {
    const send = async (body: string) => {
      const url = `${sandbox.url}/api/public/v1/sms/conversations/${line}/12125550142/resolve`;
      const headers = { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': type };
      return (await fetch(url, { method: 'POST', headers, body })).status;
    };
    expect([await send(''), await send('{}')]).toEqual([200, type === 'application/json' ? 200 : 400]);
  },
);

test('a picture can be fetched by its link and by nothing else', async () => {
  await sandbox.emit.sms({ line, number: '13125550105', media: ['leak one.jpg'] });
  const { body } = await cast.ask('GET', at('13125550105'));
  const [message] = body.data.messages;
  expect(message.text).toBe('');
  expect((await fetch(message.media[0])).headers.get('content-type')).toBe('image/gif');
  expect((await fetch(message.media[0].replace(/signature=.*/, 'signature=guess'))).status).toBe(404);
});

test('an id is not given twice, not even after a restart, and what was deleted stays so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const options = { dataDir: folder, calls: 0, threads: 3 };
  const first = await createSandbox(options);
  const { id, number } = await first.emit.sms({ line, number: '13125550497' });
  const { ask, other } = await castOf(first);
  const save = async (asked: typeof ask) => (await asked('POST', '/sms/templates', reply, other.token)).body.data.id;
  const reply = { title: 'Hours', body: 'We open at nine.' };
  const saved = await save(ask);
  await ask('DELETE', `/sms/templates/${saved}`, undefined, other.token);
  expect((await ask('DELETE', `${at(number)}/messages/${id}`)).status).toBe(204);
  const next = await first.emit.sms({ line, number });
  expect(next.id).toBe(id + 1);
  expect((await ask('DELETE', at(number))).status).toBe(204);
  await first.close();

  const second = await createSandbox(options);
  const { ask: again } = await castOf(second);
  expect(await save(again)).toBe(saved + 1);
  expect((await again('GET', at(number))).body.data.messages).toEqual([]);
  expect((await second.emit.sms({ line, number })).id).toBe(id + 2);
  await second.close();
  await rm(folder, { recursive: true });
});

describe('unread counts', () => {
  const [one, two] = ['13125550601', '13125550602'] as const;
  beforeEach(async () => {
    await sandbox.reset();
    cast = await castOf(sandbox);
  });

  const count = (query = '', token?: string) => cast.ask('GET', `/sms/unread${query}`, undefined, token);
  const total = async (query = '', token?: string) => (await count(query, token)).body.data.total;
  async function arrive(on = line, number: string = one, sentAt?: string): Promise<number> {
    const { id } = await sandbox.emit.sms({ line: on, number, announce: false, ...(sentAt && { sentAt }) });
    return id;
  }

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
    await arrive('16465550101');
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
});
