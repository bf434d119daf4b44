import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from '../client/caller.ts';
import { createReceiver, type Receiver } from '../client/receiver.ts';

let sandbox: Sandbox;
let ask: Ask;
let receiver: Receiver;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0, deliveryRetriesMs: [20, 20, 20] });
  ask = caller(sandbox);
});
beforeEach(async () => {
  await sandbox.reset();
  receiver = await createReceiver();
});
afterEach(() => receiver[Symbol.asyncDispose]());
afterAll(() => sandbox.close());

async function subscribe(type: string, path = `/${type}`): Promise<number> {
  const { body } = await ask('POST', '/webhooks', { type, url: `${receiver.url}${path}` });
  return body.data.id;
}

async function settled(): Promise<void> {
  await expect.poll(() => sandbox.deliveries().filter((one) => one.outcome === 'pending')).toEqual([]);
}

const line = '16465550100';
const number = '12125550142';
const answered = { direction: 'inbound', status: 'answered', recorded: true, number, durationSeconds: 120 } as const;

test('deliveries are dropped and repeated', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'dropped' });
  await sandbox.emit.sms({ line, number, text: 'lost' });
  sandbox.faults({ kind: 'repeated' });
  await sandbox.emit.sms({ line, number, text: 'twice' });
  await settled();
  expect(receiver.received.map((delivery) => delivery.json.message)).toEqual(['twice', 'twice']);
  expect(sandbox.deliveries().map((delivery) => delivery.outcome)).toEqual(['dropped', 'delivered', 'delivered']);
});

test('the next delivery overtakes a reordered one', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'reordered', times: 1 });
  await sandbox.emit.sms({ line, number, text: 'first' });
  await sandbox.emit.sms({ line, number, text: 'second' });
  const order = (await receiver.until(2)).map((delivery) => delivery.json.message);
  expect(order).toEqual(['second', 'first']);
});

test('call ids can lose their quotes', async () => {
  await subscribe('AccountEndedCalls');
  sandbox.faults({ kind: 'encoded', as: 'unquotedCallIds' });
  const made = await sandbox.emit.call(answered);
  const [delivery] = await receiver.until(1);
  expect(delivery?.text).toContain(`"callId":${made.id},`);
});

test('bodies can be forms', async () => {
  await subscribe('AccountEndedCalls');
  sandbox.faults({ kind: 'encoded', as: 'form' });
  const made = await sandbox.emit.call({ ...answered, group: 'Sales' });
  const [delivery] = await receiver.until(1);
  expect(delivery?.contentType).toBe('application/x-www-form-urlencoded');
  const form = new URLSearchParams(delivery?.text);
  expect([form.get('callId'), form.get('cdrs[0][calledType]')]).toEqual([made.id, 'ivr']);
});

test('events can come in batches', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'batched', events: 3 });
  for (const text of ['1', '2', '3', '4']) await sandbox.emit.sms({ line, number, text });
  const [full, rest] = await receiver.until(2);
  expect(full?.json.map((event: { message: string }) => event.message)).toEqual(['1', '2', '3']);
  expect([rest?.json].flat()).toMatchObject([{ message: '4' }]);
});

const event = { id: expect.any(Number), fromNumber: number, toNumber: line, webhookType: 'AccountSMS' };

test('copies come later, and count as pending until then', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'repeated', copies: 3, afterMs: 80 });
  const began = performance.now();
  await sandbox.emit.sms({ line, number });
  const [first, second, third] = await receiver.until(3);
  expect(performance.now() - began).toBeGreaterThan(75);
  expect([second?.text, third?.text]).toEqual([first?.text, first?.text]);
  sandbox.faults({ kind: 'repeated', afterMs: 604_800_000 });
  await sandbox.emit.sms({ line, number });
  await receiver.until(4);
  expect(sandbox.deliveries().at(-1)?.outcome).toBe('pending');
});

test.each([
  ['malformed', /^\{.*,,'$/],
  ['truncated', /^\{"id":[^}]*$/],
  ['empty', /^$/],
] as const)('a body can be %s', async (as, shape) => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'encoded', as });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect(delivery).toMatchObject({ contentType: 'application/json', text: expect.stringMatching(shape) });
  expect(sandbox.deliveries()).toMatchObject([{ fault: 'encoded' }]);
});

test('the type in the body can be unknown, or that of another event', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'encoded', as: 'unknownType', times: 1 });
  await sandbox.emit.sms({ line, number });
  await receiver.until(1);
  sandbox.faults({ kind: 'encoded', as: 'contradictingType' });
  await sandbox.emit.sms({ line, number });
  const types = (await receiver.until(2)).map(({ json }) => json.webhookType);
  expect(types).toEqual(['AccountHolograms', 'AccountRealTimeCalls']);
});

test('a body can be one byte over a MiB', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'oversized' });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect(delivery?.text.length).toBe(1_048_577);
  expect(delivery?.json).toMatchObject(event);
  expect(sandbox.deliveries()[0]?.body.length).toBeLessThan(1_000);
});

test('a body can come by the byte', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'trickled', everyMs: 1 });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect(delivery?.json).toMatchObject(event);
  expect(delivery?.pieces).toBeGreaterThan(20);
});

test('an event can be put instead of posted', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'addressed', as: 'put' });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect([delivery?.method, delivery?.json]).toEqual(['PUT', expect.objectContaining(event)]);
});

test('an event can come in the query of a GET', async () => {
  await subscribe('AccountEndedCalls', '/hooks?tenant=7');
  sandbox.faults({ kind: 'addressed', as: 'get' });
  const made = await sandbox.emit.call({ ...answered, group: 'Sales' });
  const [delivery] = await receiver.until(1);
  const { pathname, searchParams } = new URL(delivery?.path ?? '', receiver.url);
  expect([delivery?.method, pathname, delivery?.text]).toEqual(['GET', '/hooks', '']);
  const values = ['tenant', 'callId', 'cdrs[0][calledType]'].map((name) => searchParams.get(name));
  expect(values).toEqual(['7', made.id, 'ivr']);
});

test.each([
  ['AccountSMS', '/Account-SMS'],
  ['AccountEndedCalls', '/Account-Ended-Calls'],
] as const)('the name of the trigger can stand behind the address: %s', async (type, suffix) => {
  await subscribe(type, '/hooks/token?tenant=7');
  sandbox.faults({ kind: 'addressed', as: 'suffixed' });
  await (type === 'AccountSMS' ? sandbox.emit.sms({ line, number }) : sandbox.emit.call(answered));
  const [delivery] = await receiver.until(1);
  expect(delivery?.path).toBe(`/hooks/token${suffix}?tenant=7`);
});

test.each([
  ['nested', { data: { object: event } }],
  ['array', [event]],
  ['stringified', { payload: expect.stringMatching(/^\{"id":/) }],
] as const)('an event can be wrapped: %s', async (as, shape) => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'encoded', as });
  await sandbox.emit.sms({ line, number });
  expect((await receiver.until(1))[0]?.json).toMatchObject(shape);
});

test('an event can be ahead of the API', async () => {
  await subscribe('AccountSMS');
  await subscribe('AccountEndedCalls');
  sandbox.faults({ kind: 'early', ms: 700 });
  const texts = async () => (await ask('GET', `/sms/conversations/${line}/${number}`)).body.data.messages.length;
  const calls = async () => (await ask('POST', '/calls/search', everything())).body.data.total;
  await sandbox.emit.sms({ line, number });
  const made = await sandbox.emit.call(answered);
  await receiver.until(2);
  const call = async () => (await ask('GET', `/calls/${made.id}`)).status;
  expect([await texts(), await calls(), await call()]).toEqual([0, 0, 404]);
  await expect.poll(async () => [await texts(), await calls(), await call()]).toEqual([1, 1, 200]);
});

test('faults of deliveries can be narrowed to a type, and counted', async () => {
  await subscribe('AccountSMS');
  await subscribe('AccountEndedCalls');
  sandbox.faults({ kind: 'dropped', type: 'AccountSMS', times: 2 });
  await sandbox.emit.call(answered);
  for (const text of ['1', '2', '3']) await sandbox.emit.sms({ line, number, text });
  await settled();
  const outcomes = sandbox.deliveries().map(({ type, outcome }) => `${type} ${outcome}`);
  expect(outcomes).toEqual(['AccountEndedCalls delivered', ...sms('dropped', 'dropped', 'delivered')]);
});

test('several faults apply to one delivery', async () => {
  await subscribe('AccountEndedCalls');
  sandbox.faults(
    { kind: 'encoded', as: 'unquotedCallIds' },
    { kind: 'addressed', as: 'put' },
    { kind: 'encoded', as: 'array' },
  );
  const made = await sandbox.emit.call(answered);
  const [delivery] = await receiver.until(1);
  expect([delivery?.method, delivery?.text.slice(0, 2)]).toEqual(['PUT', '[{']);
  expect(delivery?.text).toContain(`"callId":${made.id},`);
  expect(sandbox.deliveries()[0]?.fault).toBe('encoded, addressed, encoded');
});

const sms = (...outcomes: string[]) => outcomes.map((outcome) => `AccountSMS ${outcome}`);
