import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { assignedLine, type Cast, castOf, foreignLine, line, refusal } from './account.ts';

let sandbox: Sandbox;
let cast: Cast;
let lastNumber = 13125550400;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  cast = await castOf(sandbox);
});
afterAll(() => sandbox.close());

const at = (number: string, of = line) => `/sms/conversations/${of}/${number}`;
const drop = (path: string, token?: string) => cast.ask('DELETE', path, undefined, token);

async function texts(...words: string[]): Promise<{ number: string; ids: number[] }> {
  const number = String(++lastNumber);
  const ids: number[] = [];
  for (const text of words) ids.push((await sandbox.emit.sms({ line, number, text, announce: false })).id);
  return { number, ids };
}

async function shown(number: string, query = ''): Promise<string[]> {
  const { body } = await cast.ask('GET', at(number) + query);
  return body.data.messages.map((message: { text: string }) => message.text);
}

test('one message goes and the others stay; a second delete is a 404', async () => {
  const { number, ids } = await texts('one', 'two', 'three');
  const path = `${at(number)}/messages/${ids[1]}`;
  const { status, body } = await drop(path);
  expect([status, body]).toEqual([204, undefined]);
  expect(await shown(number)).toEqual(['three', 'one']);
  expect(refusal(await drop(path))).toEqual([404, 'not_found']);
});

test('a message is not found under another number or line', async () => {
  const { number, ids } = await texts('mine');
  for (const path of [at('13125550499'), at(number, assignedLine)]) {
    expect(refusal(await drop(`${path}/messages/${ids[0]}`))).toEqual([404, 'not_found']);
  }
  expect(await shown(number)).toEqual(['mine']);
});

test.each(['x', '1.5', '-1', '99999999999999999999'])('the message id %s is a 400', async (id) => {
  expect(refusal(await drop(`${at('13125550400')}/messages/${id}`))).toEqual([400, 'invalid_request']);
});

test('a conversation goes with every message, and can go twice', async () => {
  const { number, ids } = await texts('one', 'two', 'three');
  for (let time = 0; time < 2; time++) expect((await drop(at(number))).status).toBe(204);
  expect(await shown(number)).toEqual([]);
  expect(refusal(await drop(`${at(number)}/messages/${ids[0]}`))).toEqual([404, 'not_found']);
});

test('a conversation without messages is deleted as well', async () => {
  expect((await drop(at('13125550498'))).status).toBe(204);
});

test('deleting a conversation spares its state, other conversations and groups', async () => {
  const { number } = await texts('of the pair');
  const other = await texts('of others');
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
  const { number, ids } = await texts('kept');
  await cast.control('PATCH', '/account', { restrictDeletingSms: true });
  for (const token of [undefined, cast.other.token]) {
    for (const path of [at(number), `${at(number)}/messages/${ids[0]}`, `${at(number)}/messages/1`]) {
      expect(refusal(await drop(path, token))).toEqual([403, 'permission_denied']);
    }
  }
  await cast.control('PATCH', '/account', { restrictDeletingSms: false });
  expect(await shown(number)).toEqual(['kept']);
  expect((await drop(at(number), cast.other.token)).status).toBe(204);
});

test.each(['', '/messages/1'])(
  'DELETE …%s wants a line that the credential may use, and messages:write',
  async (rest) => {
    const path = (of: string) => at('13125550400', of) + rest;
    expect(refusal(await drop(path(foreignLine)))).toEqual([403, 'permission_denied']);
    expect(refusal(await drop(path(assignedLine), cast.other.token))).toEqual([403, 'permission_denied']);
    expect([204, 404]).toContain((await drop(path(assignedLine), cast.assigned.token)).status);

    const name = `cannot delete ${rest}`;
    const { body } = await cast.control('POST', '/keys', { name, scopes: ['messages:read', 'sms:write'] });
    const answer = await drop(path(line), body.data.key);
    expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
    expect(answer.body.error.scope).toBe('messages:write');
  },
);

test('an id is not given twice, not even after a restart, and what was deleted stays so', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const options = { dataDir, calls: 0, threads: 3 };
  const first = await createSandbox(options);
  const { id, number } = await first.emit.sms({ line, number: '13125550497' });
  const { ask } = await castOf(first);
  expect((await ask('DELETE', `${at(number)}/messages/${id}`)).status).toBe(204);
  const next = await first.emit.sms({ line, number });
  expect(next.id).toBe(id + 1);
  expect((await ask('DELETE', at(number))).status).toBe(204);
  await first.close();

  const second = await createSandbox(options);
  const { ask: again } = await castOf(second);
  expect((await again('GET', at(number))).body.data.messages).toEqual([]);
  expect((await second.emit.sms({ line, number })).id).toBe(id + 2);
  await second.close();
  await rm(dataDir, { recursive: true });
});
