import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';
import { contentLength, overTcp, statusOf, type Wire } from '../client/wire.ts';

let sandbox: Sandbox;
let ask: Ask;
let whole: Wire;

const users = { path: '/api/public/v1/users' };

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 20, threads: 5 });
  ask = caller(sandbox);
  whole = await overTcp(sandbox, users);
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

const last = () => sandbox.requests().at(-1);

test('an error of the service comes in the envelope, with the status that was asked for', async () => {
  sandbox.faults({ answers: [{ kind: 'error', status: 503 }] });
  const answer = await overTcp(sandbox, users);
  expect([statusOf(answer), JSON.parse(answer.body.toString()).error.type]).toEqual([503, 'internal_error']);
  expect(last()).toMatchObject({ status: 503, fault: 'error' });
});

test('Retry-After comes in seconds, as a date, or not at all', async () => {
  const throttled = { kind: 'error', status: 429 } as const;
  const header = async () => /retry-after: (.*)/.exec((await overTcp(sandbox, users)).head)?.[1];
  sandbox.faults({ answers: [throttled] });
  expect(await header()).toBeUndefined();
  sandbox.faults({ answers: [{ ...throttled, retryAfterSeconds: 9 }] });
  expect(await header()).toBe('9');
  sandbox.faults({ answers: [{ ...throttled, retryAfterSeconds: 60, retryAfterAs: 'date' }] });
  const wait = Date.parse((await header()) ?? '') - Date.now();
  expect(wait).toBeGreaterThan(57_000);
  expect(wait).toBeLessThan(61_000);
});

test.each([502, 200])('the page of a proxy comes with status %s', async (status) => {
  sandbox.faults({ answers: [{ kind: 'html', status }] });
  const answer = await overTcp(sandbox, users);
  expect(statusOf(answer)).toBe(status);
  expect(answer.head).toContain('content-type: text/html');
  expect(answer.body.toString()).toMatch(/^<html>/);
});

test('something in between refuses without the envelope', async () => {
  sandbox.faults({ answers: [{ kind: 'bare', status: 403 }] });
  const answer = await overTcp(sandbox, users);
  expect(statusOf(answer)).toBe(403);
  expect(JSON.parse(answer.body.toString())).not.toHaveProperty('error');
});

test('a body can be missing', async () => {
  sandbox.faults({ answers: [{ kind: 'empty' }] });
  const answer = await overTcp(sandbox, users);
  expect([statusOf(answer), contentLength(answer), answer.body.length]).toEqual([200, 0, 0]);
});

test('a redirect leads elsewhere', async () => {
  sandbox.faults({ answers: [{ kind: 'redirect', status: 307, location: 'https://elsewhere.invalid/' }] });
  const answer = await overTcp(sandbox, users);
  expect(statusOf(answer)).toBe(307);
  expect(answer.head).toContain('location: https://elsewhere.invalid/');
});

test('a dripping body comes whole, in many pieces', async () => {
  sandbox.faults({ answers: [{ kind: 'drip', everyMs: 2, bytes: 100 }] });
  const answer = await overTcp(sandbox, users);
  expect(answer.body).toEqual(whole.body);
  expect(answer.pieces).toBeGreaterThan(20);
  expect(answer.totalMs - answer.firstByteMs).toBeGreaterThan(2 * 20);
  expect(last()).toMatchObject({ status: 200, fault: 'drip' });
});

test('a slow answer was carried out long before its first byte', async () => {
  sandbox.faults({ answers: [{ kind: 'slow', ms: 4_000, operations: ['createWebhook'] }] });
  const body = { type: 'AccountSMS', url: 'https://receiver.example.com/' };
  const slow = overTcp(sandbox, { method: 'POST', path: '/api/public/v1/webhooks', body });
  let isAnswered = false;
  void slow.then(() => {
    isAnswered = true;
  });
  await expect.poll(async () => (await ask('GET', '/webhooks')).body.data.length).toBe(1);
  expect(isAnswered).toBe(false);
  expect((await slow).firstByteMs).toBeGreaterThan(3_900);
});

test('a truncated body is framed as if it were all', async () => {
  sandbox.faults({ answers: [{ kind: 'truncated' }] });
  const answer = await overTcp(sandbox, users);
  expect(answer.body.length).toBe(Math.ceil(whole.body.length / 2));
  expect(contentLength(answer)).toBe(answer.body.length);
  expect(() => JSON.parse(answer.body.toString())).toThrow();
});

test('a body that is cut off is shorter than it promised', async () => {
  sandbox.faults({ answers: [{ kind: 'cutOff' }] });
  const answer = await overTcp(sandbox, users);
  expect(answer.end).toBe('closed');
  expect(contentLength(answer)).toBe(whole.body.length);
  expect(answer.body.length).toBe(Math.ceil(whole.body.length / 2));
});

test('a small body decodes to a large one', async () => {
  const bytes = 64 * 1024 ** 2;
  sandbox.faults({ answers: [{ kind: 'bomb', bytes }] });
  const answer = await overTcp(sandbox, users);
  expect(answer.head).toContain('content-encoding: gzip');
  expect(answer.body.length).toBeLessThan(bytes / 500);
  const decoded = gunzipSync(answer.body);
  expect(decoded.length).toBeGreaterThan(bytes);
  expect(decoded.subarray(0, 9).toString() + decoded.subarray(-2).toString()).toBe('{"data":[]}');
});

test('the right body comes under a wrong name', async () => {
  sandbox.faults({ answers: [{ kind: 'contentType', value: 'text/csv' }] });
  const answer = await overTcp(sandbox, users);
  expect(answer.head).toContain('content-type: text/csv');
  expect(answer.body).toEqual(whole.body);
});

const subscribing = {
  method: 'POST',
  path: '/api/public/v1/webhooks',
  body: { type: 'AccountSMS', url: 'https://receiver.example.com/' },
};
const subscriptions = async () => (await ask('GET', '/webhooks')).body.data.length;
const ofCreate = { operations: ['createWebhook'] };

test.each([
  ['before', 0, 0],
  ['after', 1, 0],
  ['midway', 1, 1],
] as const)('a connection that is reset %s leaves %i effects and %i heads', async (when, effects, heads) => {
  sandbox.faults({ answers: [{ kind: 'reset', when, ...ofCreate }] });
  const answer = await overTcp(sandbox, subscribing);
  expect([answer.end, answer.head === '' ? 0 : 1]).toEqual(['reset', heads]);
  if (heads > 0) expect(answer.body.length).toBeLessThan(contentLength(answer));
  expect(await subscriptions()).toBe(effects);
  const record = sandbox.requests().find(({ method }) => method === 'POST');
  expect(record).toMatchObject({ fault: 'reset', key: 'default', status: effects === 0 ? 503 : 201 });
});

test.each([
  ['before', 0],
  ['after', 1],
] as const)('a failure %s the request was carried out leaves %i effects', async (when, effects) => {
  sandbox.faults({ answers: [{ kind: 'error', when, ...ofCreate }] });
  expect(statusOf(await overTcp(sandbox, subscribing))).toBe(500);
  expect(await subscriptions()).toBe(effects);
});

test('several faults befall one answer', async () => {
  sandbox.faults({
    answers: [
      { kind: 'html', status: 200 },
      { kind: 'drip', everyMs: 1, bytes: 20 },
    ],
  });
  const answer = await overTcp(sandbox, users);
  expect(answer.body.toString()).toMatch(/^<html>/);
  expect(answer.pieces).toBeGreaterThan(2);
  expect(last()?.fault).toBe('html, drip');
});

test('no fault hides a wrong credential', async () => {
  for (const kind of ['reset', 'html', 'empty', 'drip'] as const) {
    sandbox.faults({ answers: [{ kind }], errorRate: 1 });
    const answer = await overTcp(sandbox, { ...users, key: 'nobody-knows-this' });
    expect([statusOf(answer), answer.end]).toEqual([401, 'closed']);
    expect(last()).not.toHaveProperty('fault');
  }
});

test('the answer of a refresh can be lost after the tokens were exchanged', async () => {
  const control = caller(sandbox, '/_sandbox');
  const { body } = await control('GET', '/state');
  expect(body.data.users).toBeGreaterThan(0);
  const user = (await ask('GET', '/users')).body.data.find((one: { username: string }) => one.username !== '');
  const tokens = (await control('POST', '/tokens', { userId: user.id })).body.data;
  const refresh = {
    method: 'POST',
    path: '/api/v1/oauth/token',
    contentType: 'application/x-www-form-urlencoded',
    body: `grant_type=refresh_token&refresh_token=${tokens.refresh_token}&client_id=${tokens.client_id}`,
  };
  sandbox.faults({ answers: [{ kind: 'reset', when: 'after', operations: ['POST /api/v1/oauth/token'], times: 1 }] });
  expect((await overTcp(sandbox, refresh)).end).toBe('reset');
  expect(last()).toMatchObject({ path: '/api/v1/oauth/token', status: 200, fault: 'reset' });
  expect(statusOf(await overTcp(sandbox, refresh))).toBe(400);
});

test('an answer that drips does not hold up the end of the sandbox', async () => {
  const slow = await createSandbox({ calls: 0, threads: 0 });
  slow.faults({ answers: [{ kind: 'drip', everyMs: 60_000 }] });
  const answer = await fetch(slow.url + users.path, { headers: { authorization: `Bearer ${slow.apiKey}` } });
  await slow.close();
  await expect(answer.text()).rejects.toThrow();
});
