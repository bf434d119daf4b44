import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Cast, castOf, refusal } from './account.ts';

let dataDir: string;
let sandbox: Sandbox;
let cast: Cast;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  sandbox = await createSandbox({ calls: 0, threads: 0, dataDir });
  cast = await castOf(sandbox);
});
afterAll(async () => {
  await sandbox.close();
  await rm(dataDir, { recursive: true });
});

const at = (draftId: string) => `/sms/drafts/${encodeURIComponent(draftId)}`;
const put = (draftId: string, body: unknown, token?: string) => cast.ask('PUT', at(draftId), body, token);
const drop = (draftId: string, token?: string) => cast.ask('DELETE', at(draftId), undefined, token);

/** What is kept under a key: no operation reads a draft. Undefined when it was removed, or never there. */
async function kept(draftId: string): Promise<string | undefined> {
  const changes = (await readFile(join(dataDir, 'sandbox.jsonl'), 'utf8')).trim().split('\n').slice(1);
  const last = changes.map((text) => JSON.parse(text)).findLast((change) => change.key === draftId);
  return last?.put?.message;
}

test.each(['a', 'line/16465550100', '100%', 'ключ ✎', 'a?b#c&d=e', ' spaced ', '__proto__'])(
  'the key %j is kept as it is',
  async (draftId) => {
    const { status, body } = await put(draftId, { message: 'hello' });
    expect(status).toBe(200);
    expect(body).toEqual({ data: { draftId, message: 'hello' } });
    expect(await kept(draftId)).toBe('hello');
    expect((await drop(draftId)).status).toBe(204);
    expect(await kept(draftId)).toBeUndefined();
  },
);

test('writing again overwrites, and an empty message is one', async () => {
  for (const message of ['first', 'first', 'second', '']) {
    const { status, body } = await put('again', { message });
    expect([status, body]).toEqual([200, { data: { draftId: 'again', message } }]);
    expect(await kept('again')).toBe(message);
  }
});

test('removing what is not there succeeds', async () => {
  for (let time = 0; time < 2; time++) {
    const { status, body } = await drop('never there');
    expect([status, body]).toEqual([204, undefined]);
  }
});

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

test.each([
  [undefined, 'message'],
  [{}, 'message'],
  [{ message: null }, 'message'],
  [{ message: 5 }, 'message'],
  [{ message: 'x', title: 'y' }, 'title'],
])('%j is a 400 that names %s', async (body, field) => {
  const answer = await put('refused', body);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
  expect(await kept('refused')).toBeUndefined();
});

test('both credential kinds may write drafts, with sms:write', async () => {
  expect((await put('mine', { message: 'x' }, cast.other.token)).status).toBe(200);
  expect((await drop('mine', cast.other.token)).status).toBe(204);
  const { body } = await cast.control('POST', '/keys', { name: 'no drafts', scopes: ['sms:read', 'sms:send'] });
  for (const answer of [await put('mine', { message: 'x' }, body.data.key), await drop('mine', body.data.key)]) {
    expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
    expect(answer.body.error.scope).toBe('sms:write');
  }
});
