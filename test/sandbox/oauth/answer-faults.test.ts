import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { caller } from '../client/caller.ts';
import { refresh } from './login.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
});
afterEach(() => sandbox.faults({}));
afterAll(() => sandbox.close());

async function newRefreshToken(): Promise<string> {
  return (await caller(sandbox, '/_sandbox')('POST', '/tokens', { userId: 4128 })).body.data.refresh_token;
}

test('a failure of the service is one at the token endpoint too, and keeps its status', async () => {
  const token = await newRefreshToken();
  sandbox.faults({ answers: [{ kind: 'error', status: 503, retryAfterSeconds: 7, operations: ['getTokens'] }] });
  const { status, headers } = await refresh(sandbox.url, 'sandbox', token);
  expect({ status, retryAfter: headers.get('retry-after') }).toEqual({ status: 503, retryAfter: '7' });
  sandbox.faults({});
  expect((await refresh(sandbox.url, 'sandbox', token)).status).toBe(200);
});

test('a refresh whose answer is lost has used up its token', async () => {
  const token = await newRefreshToken();
  sandbox.faults({ answers: [{ kind: 'reset', when: 'after', operations: ['getTokens'] }] });
  await expect(refresh(sandbox.url, 'sandbox', token)).rejects.toThrow();
  sandbox.faults({});
  expect((await refresh(sandbox.url, 'sandbox', token)).body.error).toBe('invalid_grant');
});
