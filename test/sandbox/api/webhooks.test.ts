import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  ask = caller(sandbox);
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

const wanted = { name: 'Texts', url: 'https://example.com/hooks/1', type: 'AccountSMS' };

test('creates, reads, changes, disables, enables and deletes', async () => {
  const created = await ask('POST', '/webhooks', wanted);
  expect(created.status).toBe(201);
  expect(created.body.data).toMatchObject({ ...wanted, description: '', enabled: true, id: expect.any(Number) });
  const path = `/webhooks/${created.body.data.id}`;

  expect((await ask('GET', path)).body).toEqual(created.body);
  for (const method of ['PUT', 'PATCH']) {
    const { status, body } = await ask(method, path, { description: method });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ ...wanted, description: method });
  }
  expect((await ask('POST', `${path}/disable`)).body.data.enabled).toBe(false);
  expect((await ask('PUT', path, { enabled: true })).body.data.enabled).toBe(true);
  expect((await ask('POST', `${path}/disable`, '')).body.data.enabled).toBe(false);
  expect((await ask('POST', `${path}/enable`)).body.data.enabled).toBe(true);
  expect((await ask('DELETE', path)).status).toBe(204);
  expect((await ask('GET', path)).status).toBe(404);
});

test('lists by type and by enabled=true', async () => {
  const { body: sms } = await ask('POST', '/webhooks', wanted);
  const { body: calls } = await ask('POST', '/webhooks', { ...wanted, type: 'AccountEndedCalls', enabled: false });
  const ids = async (query: string) =>
    (await ask('GET', `/webhooks${query}`)).body.data.map((one: { id: number }) => one.id);
  expect(await ids('')).toEqual([sms.data.id, calls.data.id]);
  expect(await ids('?enabled=true')).toEqual([sms.data.id]);
  expect(await ids('?type=AccountEndedCalls')).toEqual([calls.data.id]);
});

test('enabled=false is unsupported, an unknown type malformed', async () => {
  expect((await ask('GET', '/webhooks?enabled=false')).body.error.type).toBe('unsupported');
  const unknown = await ask('GET', '/webhooks?type=AccountFax');
  expect([unknown.status, unknown.body.error.type]).toEqual([400, 'invalid_request']);
  expect(unknown.body.error.message).toMatch(/^type must be "AccountRealTimeCalls"/);
});

test.each([
  [{ ...wanted, url: 'ftp://example.com' }, 'url'],
  [{ ...wanted, url: `https://example.com/${'x'.repeat(1024)}` }, 'url'],
  [{ ...wanted, type: 'AccountFax' }, 'type'],
  [{ ...wanted, colour: 'red' }, 'colour'],
  [{ name: 'no url', type: 'AccountSMS' }, 'url is required'],
])('refuses to create %j', async (body, named) => {
  const answer = await ask('POST', '/webhooks', body);
  expect(answer.status).toBe(400);
  expect(answer.body.error.message).toContain(named);
});

test('an id is not given twice', async () => {
  const first = await ask('POST', '/webhooks', wanted);
  await ask('DELETE', `/webhooks/${first.body.data.id}`);
  const second = await ask('POST', '/webhooks', wanted);
  expect(second.body.data.id).toBeGreaterThan(first.body.data.id);
});

test('tells the event types', async () => {
  expect((await ask('GET', '/webhooks/types')).body.data).toContain('AccountAITranscription');
});
