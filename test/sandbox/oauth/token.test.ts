import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { caller } from '../client/caller.ts';
import { approve, redeem, refresh, register } from './login.ts';

const karen = 4128;
let sandbox: Sandbox;
let clientId: string;
let late = 0;
const now = () => new Date(Date.now() + late);

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, now });
  clientId = (await register(sandbox.url)).body.client_id;
});
afterAll(() => sandbox.close());

const newCode = () => approve(sandbox.url, clientId, karen, ['users:read', 'sms:read']);
const newTokens = async () => (await redeem(sandbox.url, clientId, await newCode())).body;

test('a code expires after a minute', async () => {
  const [inTime, tooLate] = [await newCode(), await newCode()];
  late += 58_000;
  expect((await redeem(sandbox.url, clientId, inTime)).status).toBe(200);
  late += 2_000;
  expect((await redeem(sandbox.url, clientId, tooLate)).body).toEqual({
    error: 'invalid_grant',
    error_description: 'the code is expired',
  });
});

test.each([
  ['an unknown code', { code: 'made-up' }, 'invalid_grant'],
  ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
  ['an empty code', { code: '' }, 'invalid_request'],
  ['an empty verifier', { code_verifier: '' }, 'invalid_request'],
  ['another grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
])('an exchange with %s is a 400, and the code is still good', async (_, more, error) => {
  const code = await newCode();
  const { status, headers, body } = await redeem(sandbox.url, clientId, code, more);
  expect({ status, body }).toEqual({ status: 400, body: { error, error_description: expect.any(String) } });
  expect(headers.get('cache-control')).toBe('no-store');
  expect((await redeem(sandbox.url, clientId, code)).status).toBe(200);
});

test("a code and a refresh token are their client's alone", async () => {
  const other = (await register(sandbox.url)).body.client_id;
  const code = await newCode();
  expect((await redeem(sandbox.url, other, code)).body.error).toBe('invalid_grant');
  const { body } = await redeem(sandbox.url, clientId, code);
  expect((await refresh(sandbox.url, other, body.refresh_token)).body.error).toBe('invalid_grant');
  expect((await refresh(sandbox.url, clientId, body.refresh_token)).status).toBe(200);
});

test('of many refreshes with one token, one succeeds', async () => {
  const { refresh_token } = await newTokens();
  const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(sandbox.url, clientId, refresh_token)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)]);
});

test('clients, codes and tokens survive a restart, and so does what was used up', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const options = { dataDir, calls: 0, threads: 0 };
  const first = await createSandbox(options);
  const id = (await register(first.url)).body.client_id;
  const [used, open] = [
    await approve(first.url, id, karen, ['users:read']),
    await approve(first.url, id, karen, ['users:read']),
  ];
  const { body: tokens } = await redeem(first.url, id, used);
  const { body: renewed } = await refresh(first.url, id, tokens.refresh_token);
  await first.close();

  const second = await createSandbox(options);
  expect((await caller(second)('GET', '/users', undefined, renewed.access_token)).status).toBe(200);
  expect((await refresh(second.url, id, tokens.refresh_token)).status).toBe(400);
  expect((await redeem(second.url, id, open)).status).toBe(200);
  expect((await redeem(second.url, id, used)).status).toBe(400);
  await second.reset();
  expect((await redeem(second.url, id, open)).body.error).toBe('invalid_client');
  await second.close();
  await rm(dataDir, { recursive: true });
});

test('requests are kept without what is secret in them', async () => {
  const code = await newCode();
  const { body } = await redeem(sandbox.url, clientId, code);
  await caller(sandbox)('GET', '/users?last', undefined, body.access_token);
  const kept = () => JSON.stringify(sandbox.requests());
  await expect.poll(kept).toContain('/users?last');
  expect(kept()).toContain('/api/v1/oauth/token');
  for (const secret of [code, body.access_token, body.refresh_token, 'a+state']) expect(kept()).not.toContain(secret);
});
