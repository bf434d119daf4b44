import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;
let id: number;

const url = 'https://receiver.example.com/hooks';

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
beforeEach(async () => {
  await sandbox.reset();
  id = (await ask('POST', '/webhooks', { type: 'AccountSMS', url })).body.data.id;
});
afterAll(() => sandbox.close());

const listed = async () => (await ask('GET', '/webhooks')).body.data;

test.each([
  [{ kind: 'disabled' }, { enabled: false, type: 'AccountSMS', url }],
  [{ kind: 'retyped' }, { enabled: true, type: 'AccountAITranscription', url }],
  [
    { kind: 'retyped', type: 'UserEndedCalls' },
    { type: 'UserEndedCalls', url },
  ],
  [{ kind: 'redirected' }, { type: 'AccountSMS', url: 'https://elsewhere.invalid/hooks' }],
  [{ kind: 'redirected', url: 'https://thief.example.com/' }, { url: 'https://thief.example.com/' }],
])('the service changes a subscription by itself: %j', async (fault, expected) => {
  const { status, body } = await control('POST', `/subscriptions/${id}`, fault);
  expect([status, body.data]).toMatchObject([200, { id, ...expected }]);
  expect(await listed()).toEqual([body.data]);
});

test('the service deletes a subscription', async () => {
  expect((await control('POST', `/subscriptions/${id}`, { kind: 'deleted' })).body).toEqual({ data: null });
  expect(await listed()).toEqual([]);
});

test('the service lets a subscription stand twice', async () => {
  sandbox.injectSubscriptionFault(id, { kind: 'duplicated' });
  const both = await listed();
  expect(both).toHaveLength(2);
  expect(both[1]).toMatchObject({ type: 'AccountSMS', url, enabled: true });
  expect(both[1].id).not.toBe(id);
});

test('unknown subscriptions and kinds are refused', async () => {
  expect((await control('POST', '/subscriptions/1', { kind: 'deleted' })).status).toBe(404);
  const refused = await control('POST', `/subscriptions/${id}`, { kind: 'eaten' });
  expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('kind')]);
});
