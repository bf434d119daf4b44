import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Cast, castOf, refusal } from './account.ts';

let sandbox: Sandbox;
let cast: Cast;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  cast = await castOf(sandbox);
});
afterAll(() => sandbox.close());

const reply = { title: 'Hours', body: 'We open at nine.' };
const save = (body: unknown, token?: string) => cast.ask('POST', '/sms/templates', body, token);
const drop = (id: number | string, token = cast.other.token) =>
  cast.ask('DELETE', `/sms/templates/${id}`, undefined, token);

test('a user saves a reply', async () => {
  const { status, body } = await save(reply, cast.other.token);
  expect(status).toBe(201);
  expect(body).toEqual({ data: { id: expect.any(Number), ...reply } });
});

test('two replies of the same words are two', async () => {
  const [first, second] = [await save(reply, cast.other.token), await save(reply, cast.other.token)];
  expect(second.body.data.id).not.toBe(first.body.data.id);
});

test('an API key cannot save a reply', async () => {
  expect(refusal(await save(reply))).toEqual([400, 'invalid_request']);
});

test.each([
  [undefined, 'title'],
  [{ body: 'x' }, 'title'],
  [{ title: 'x' }, 'body'],
  [{ title: 1, body: 'x' }, 'title'],
  [{ title: 'x', body: null }, 'body'],
  [{ title: 'x', body: 'y', line: 'z' }, 'line'],
])('%j is a 400 that names %s', async (body, field) => {
  const answer = await save(body, cast.other.token);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
});

test('a user deletes their own once; then it is a 404', async () => {
  const { body } = await save(reply, cast.other.token);
  const { status, body: empty } = await drop(body.data.id, cast.other.token);
  expect([status, empty]).toEqual([204, undefined]);
  expect(refusal(await drop(body.data.id, cast.other.token))).toEqual([404, 'not_found']);
});

test("another user's reply does not exist for a user, and a key is nobody who could have saved one", async () => {
  const { body } = await save(reply, cast.other.token);
  expect(refusal(await drop(body.data.id, cast.assigned.token))).toEqual([404, 'not_found']);
  expect(refusal(await cast.ask('DELETE', `/sms/templates/${body.data.id}`))).toEqual([400, 'invalid_request']);
  expect((await drop(body.data.id)).status).toBe(204);
});

test.each(['x', '1.5', '-1'])('the id %s is a 400', async (id) => {
  expect(refusal(await drop(id))).toEqual([400, 'invalid_request']);
});

test('both want the scope sms:write', async () => {
  const { body } = await cast.control('POST', '/tokens', { userId: cast.other.id, scopes: ['sms:read'] });
  const token = body.data.access_token;
  for (const answer of [await save(reply, token), await drop(1, token)]) {
    expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
    expect(answer.body.error.scope).toBe('sms:write');
  }
});

test('replies and the ids that were given survive a restart', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const options = { dataDir, calls: 0, threads: 0 };
  const first = await createSandbox(options);
  const { ask, other } = await castOf(first);
  const kept = await ask('POST', '/sms/templates', reply, other.token);
  const gone = await ask('POST', '/sms/templates', reply, other.token);
  await ask('DELETE', `/sms/templates/${gone.body.data.id}`, undefined, other.token);
  await first.close();

  const second = await createSandbox(options);
  const { ask: again } = await castOf(second);
  const next = await again('POST', '/sms/templates', reply, other.token);
  expect(next.body.data.id).toBe(gone.body.data.id + 1);
  const drop = (id: number) => again('DELETE', `/sms/templates/${id}`, undefined, other.token);
  expect((await drop(kept.body.data.id)).status).toBe(204);
  expect((await drop(gone.body.data.id)).status).toBe(404);
  await second.close();
  await rm(dataDir, { recursive: true });
});
