import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from './client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 40, threads: 10 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

test('events of all kinds need no input and answer with the ids that they made', async () => {
  const sms = await control('POST', '/events/sms');
  const call = await control('POST', '/events/call', {});
  const transcript = await control('POST', '/events/transcript');
  expect([sms.status, call.status, transcript.status]).toEqual([201, 201, 201]);
  const { line, number, id } = sms.body.data;
  const thread = await ask('GET', `/sms/conversations/${line}/${number}`);
  expect(thread.body.data.messages[0].id).toBe(id);
  expect((await ask('GET', `/calls/${call.body.data.id}`)).body.data.id).toBe(call.body.data.id);
  const transcripts = await ask('GET', `/calls/${transcript.body.data.callId}/transcripts`);
  const ids = transcripts.body.data.map((one: { id: number }) => one.id);
  expect(ids).toEqual(transcript.body.data.transcriptIds);
});

test.each([
  ['/events/sms', { line: '12125550100' }, 'line'],
  ['/events/sms', { number: 'nobody' }, 'number'],
  ['/events/sms', { sentBy: 1 }, 'sentBy'],
  ['/events/sms', { colour: 1 }, 'colour'],
  ['/events/call', { direction: 'up' }, 'direction'],
  ['/events/call', { group: 'Nobody' }, 'group'],
  ['/events/call', { startTime: 'yesterday' }, 'startTime'],
  ['/keys', {}, 'name'],
])('POST %s refuses %j', async (path, body, named) => {
  const answer = await control('POST', path, body);
  expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toContain(named);
});

test('close does not wait for an answer that latency holds back', async () => {
  const slow = await createSandbox({ calls: 0, threads: 0 });
  slow.faults({ kind: 'slow', when: 'before', ms: 60_000 });
  const asked = caller(slow)('GET', '/users').then(
    ({ status }) => status,
    () => 'cut',
  );
  await slow.close();
  expect([200, 503, 'cut']).toContain(await asked);
});

test('bad input in code is one clear error', async () => {
  await expect(sandbox.emit.sms({ line: 'nowhere' })).rejects.toThrow('line: must be a phone number, got "nowhere"');
  await expect(sandbox.emit.call({ transfers: 9 })).rejects.toThrow('transfers');
});

test('histories give the last entries, oldest first', async () => {
  for (const path of ['/users', '/sms/lines', '/webhooks']) await ask('GET', path);
  const { body } = await control('GET', '/requests?limit=2');
  expect(body.data.map((request: { path: string }) => request.path.split('/v1')[1])).toEqual([
    '/sms/lines',
    '/webhooks',
  ]);
  expect((await control('GET', '/sends')).body).toEqual({ data: [] });
  expect((await control('GET', '/deliveries?limit=x')).status).toBe(400);
});

test('a reset brings back the seeded state', async () => {
  const state = async () => (await control('GET', '/state')).body;
  const search = async () => (await ask('POST', '/calls/search', { ...everything(), limit: 500 })).body;
  const [before, calls] = [await state(), await search()];
  await sandbox.emit.call();
  await sandbox.emit.sms();
  await control('POST', '/keys', { name: 'other' });
  sandbox.faults({ kind: 'dropped' });
  await ask('POST', '/webhooks', { type: 'AccountSMS', url: 'http://127.0.0.1:1/' });
  expect(await state()).not.toEqual(before);
  expect((await control('POST', '/reset')).status).toBe(204);
  expect(await state()).toEqual(before);
  expect(await search()).toEqual(calls);
});
