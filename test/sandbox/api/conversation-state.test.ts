import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConversationState } from '../../../src/sandbox/account.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { assignedLine, type Cast, castOf, foreignLine, line, refusal } from './account.ts';

let dataDir: string;
let sandbox: Sandbox;
let cast: Cast;
let clock = Date.parse('2026-05-04T12:00:00Z');
let lastNumber = 13125550200;

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
  const number = String(++lastNumber);
  const ask = (verb: string, body?: unknown, as = token) => {
    clock += 1_000;
    return cast.ask('POST', `/sms/conversations/${line}/${number}/${verb}`, body, as);
  };
  return { number, ask };
}

/** What the sandbox keeps of a conversation and shows to nobody. */
async function kept(number: string): Promise<ConversationState | undefined> {
  const changes = (await readFile(join(dataDir, 'sandbox.jsonl'), 'utf8')).trim().split('\n').slice(1);
  const last = changes.map((text) => JSON.parse(text)).findLast(({ key }) => key === `${line}/${number}`);
  return last?.put;
}

const seconds = () => new Date(clock).toISOString().replace('.000', '');

test('a key resolves a conversation that never was: nobody is credited, the time is now', async () => {
  const { number, ask } = conversation();
  const { status, body } = await ask('resolve');
  expect(status).toBe(200);
  expect(body).toEqual({ data: { line, number, resolved: true, resolvedAt: seconds() } });
});

test('a key credits the user that it names', async () => {
  const { number, ask } = conversation();
  const { body } = await ask('resolve', { resolvedBy: cast.other.id });
  expect(body.data).toEqual({ line, number, resolved: true, resolvedBy: cast.other.id, resolvedAt: seconds() });
});

test.each([null, [], 'text', 7])('a body of %j is malformed, and unassigns nobody', async (body) => {
  const { number, ask } = conversation();
  await ask('assign', { userId: cast.other.id });
  expect(refusal(await ask('assign', body))).toEqual([400, 'invalid_request']);
  expect((await kept(number))?.assignedTo).toBe(cast.other.id);
});

test('an operation without a body refuses unknown fields, and takes an empty object', async () => {
  const { number, ask } = conversation();
  expect(refusal(await ask('reopen', { userId: null }))).toEqual([400, 'invalid_request']);
  expect((await ask('reopen', {})).status).toBe(200);
  const remove = cast.ask('DELETE', `/sms/conversations/${line}/${number}`, { force: true });
  expect(refusal(await remove)).toEqual([400, 'invalid_request']);
});

test('a token credits its owner', async () => {
  const { number, ask } = conversation(cast.other.token);
  const { body } = await ask('resolve', {});
  expect(body.data).toEqual({ line, number, resolved: true, resolvedBy: cast.other.id, resolvedAt: seconds() });
});

test.each([
  ['an absent body', undefined],
  ['an empty text as body', ''],
  ['an empty object', {}],
])('resolve takes %s', async (_, body) => {
  expect((await conversation().ask('resolve', body)).body.data.resolved).toBe(true);
});

test('resolving again re-stamps nothing, whoever asks', async () => {
  const { ask } = conversation();
  const first = await ask('resolve', { resolvedBy: cast.other.id });
  for (const again of [
    await ask('resolve'),
    await ask('resolve', { resolvedBy: cast.assigned.id }),
    await ask('resolve', {}, cast.assigned.token),
  ]) {
    expect([again.status, again.body]).toEqual([200, first.body]);
  }
});

test('a comment is kept with the resolve, also with one that changes nothing else', async () => {
  const { number, ask } = conversation();
  await ask('resolve', { comment: 'refunded', resolvedBy: cast.other.id });
  const first = seconds();
  await ask('resolve', { comment: 'called as well' });
  expect(await kept(number)).toMatchObject({
    resolvedAt: first,
    notes: [
      { by: cast.other.id, text: 'refunded', at: first },
      { text: 'called as well', at: seconds() },
    ],
  });
});

const open = { resolved: false };
const closed = { resolved: true, resolvedAt: expect.any(String) };

test.each([
  ['never touched', [], 'reopen', open],
  ['never touched', [], 'assign', open],
  ['never touched', [], 'unassign', open],
  ['never touched', [], 'comments', open],
  ['open', ['resolve', 'reopen'], 'reopen', open],
  ['open', ['resolve', 'reopen'], 'resolve', closed],
  ['open', ['resolve', 'reopen'], 'assign', open],
  ['resolved', ['resolve'], 'reopen', open],
  ['resolved', ['resolve'], 'resolve', closed],
  ['resolved', ['resolve'], 'assign', closed],
  ['resolved', ['resolve', 'assign'], 'unassign', closed],
  ['assigned', ['assign'], 'unassign', open],
  ['assigned', ['assign'], 'resolve', closed],
  ['resolved', ['resolve'], 'comments', closed],
] as const)('%s, after %j: %s', async (_, before, verb, after) => {
  const { number, ask } = conversation();
  const steps = {
    resolve: () => ask('resolve'),
    reopen: () => ask('reopen'),
    assign: () => ask('assign', { userId: cast.other.id }),
    unassign: () => ask('assign', { userId: null }),
    comments: () => ask('comments', { comment: 'look here' }),
  };
  for (const step of before) await steps[step]();
  const { status, body } = await steps[verb]();
  expect(status).toBe(verb === 'comments' ? 201 : 200);
  expect(body).toEqual({ data: { line, number, ...after } });
});

test('who resolved it is forgotten when it opens again, and stamped again with the next resolve', async () => {
  const { number, ask } = conversation();
  await ask('resolve', { resolvedBy: cast.other.id });
  expect((await ask('reopen')).body.data).toEqual({ line, number, resolved: false });
  expect((await ask('resolve')).body.data).toEqual({ line, number, resolved: true, resolvedAt: seconds() });
});

test.each([
  ['null', { userId: null }],
  ['an empty object', {}],
  ['no body', undefined],
])('assign with %s gives the thread back to nobody', async (_, body) => {
  const { number, ask } = conversation();
  await ask('assign', { userId: cast.other.id });
  expect((await kept(number))?.assignedTo).toBe(cast.other.id);
  expect((await ask('assign', body)).status).toBe(200);
  expect(await kept(number)).toEqual({ line, number, resolved: false, notes: [] });
});

test('resolving and reopening leave the assignment as it is', async () => {
  const { number, ask } = conversation();
  await ask('assign', { userId: cast.other.id });
  for (const verb of ['resolve', 'reopen']) {
    await ask(verb);
    expect((await kept(number))?.assignedTo).toBe(cast.other.id);
  }
});

test('a note is kept with its writer, and neither the thread nor a webhook shows it', async () => {
  const { number, ask } = conversation();
  const { body: hook } = await cast.ask('POST', '/webhooks', { type: 'AccountSMS', url: 'http://127.0.0.1:1/hook' });
  await ask('comments', { comment: 'a hard one' }, cast.other.token);
  const first = seconds();
  await ask('comments', { comment: 'from a program' });
  expect((await kept(number))?.notes).toEqual([
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

test('the state is that of the pair, however its numbers are written', async () => {
  const { number, ask } = conversation();
  const { body } = await ask('resolve');
  const written = `+1 (646) 555-0100/(312) ${number.slice(4, 7)}-${number.slice(7)}`;
  expect((await cast.ask('POST', `/sms/conversations/${written}/resolve`)).body).toEqual(body);
});

test.each([
  ['resolve', { resolvedBy: 999_999 }, 'resolvedBy'],
  ['resolve', { resolvedBy: 'me' }, 'resolvedBy'],
  ['resolve', { resolvedBy: 1.5 }, 'resolvedBy'],
  ['resolve', { resolvedBy: null }, 'resolvedBy'],
  ['resolve', { comment: '' }, 'comment'],
  ['resolve', { comment: ' \n\t' }, 'comment'],
  ['resolve', { comment: 'ok', reason: 'x' }, 'reason'],
  ['resolve', [], 'body'],
  ['assign', { userId: 999_999 }, 'userId'],
  ['assign', { userId: '1' }, 'userId'],
  ['assign', { user: 1 }, 'user'],
  ['comments', undefined, 'comment'],
  ['comments', {}, 'comment'],
  ['comments', { comment: '' }, 'comment'],
  ['comments', { comment: '  ' }, 'comment'],
  ['comments', { comment: 7 }, 'comment'],
  ['comments', { comment: 'ok', to: '1' }, 'to'],
])('%s %j is a 400 that names %s and changes nothing', async (verb, body, field) => {
  const { number, ask } = conversation();
  const answer = await ask(verb, body);
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(field);
  expect(await kept(number)).toBeUndefined();
});

test('a resolved conversation still refuses a stranger as resolver', async () => {
  const { ask } = conversation();
  await ask('resolve');
  expect(refusal(await ask('resolve', { resolvedBy: 999_999 }))).toEqual([400, 'invalid_request']);
});

test('a token may not name a resolver, not even its owner', async () => {
  const { number, ask } = conversation(cast.other.token);
  const answer = await ask('resolve', { resolvedBy: cast.other.id });
  expect(refusal(answer)).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain('API keys only');
  expect(await kept(number)).toBeUndefined();
});

const bodies = { resolve: undefined, reopen: undefined, assign: {}, comments: { comment: 'hello' } };

test.each(Object.entries(bodies))('%s wants a line that the credential may use', async (verb, body) => {
  const at = (of: string) => `/sms/conversations/${of}/13125550100/${verb}`;
  const { ask, assigned, other } = cast;
  expect(refusal(await ask('POST', at(foreignLine), body))).toEqual([403, 'permission_denied']);
  expect(refusal(await ask('POST', at(assignedLine), body, other.token))).toEqual([403, 'permission_denied']);
  expect((await ask('POST', at(assignedLine), body, assigned.token)).status).toBeLessThan(300);
  expect(refusal(await ask('POST', `/sms/conversations/${line}/nobody/${verb}`, body))).toEqual([
    400,
    'invalid_request',
  ]);
});

test.each(Object.entries(bodies))('%s wants the scope sms:write and a credential', async (verb, body) => {
  const at = `/sms/conversations/${line}/13125550100/${verb}`;
  const { data: key } = (
    await cast.control('POST', '/keys', { name: `reader ${verb}`, scopes: ['messages:write', 'sms:read'] })
  ).body;
  const answer = await cast.ask('POST', at, body, key.key);
  expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
  expect(answer.body.error.scope).toBe('sms:write');
  const nobody = await cast.ask('POST', at, body, null);
  expect(refusal(nobody)).toEqual([401, 'unauthenticated']);
  expect(nobody.headers.get('www-authenticate')).toContain('scope="sms:write"');
});

test('the state survives a restart', async () => {
  const { ask } = conversation();
  const { body } = await ask('resolve', { resolvedBy: cast.other.id, comment: 'done' });
  const path = `/sms/conversations/${line}/${body.data.number}/resolve`;
  await sandbox.close();
  sandbox = await createSandbox({ dataDir, now: () => new Date(clock) });
  cast = await castOf(sandbox);
  expect((await cast.ask('POST', path)).body).toEqual(body);
});
