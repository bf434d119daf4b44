import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Cast, castOf, line, refusal } from './account.ts';

let dataDir: string;
let sandbox: Sandbox;
let cast: Cast;
const clock = Date.parse('2026-05-04T12:00:00Z');
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
