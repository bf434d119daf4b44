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

test('drops and duplicates strike as told', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ drop: 1 });
  await sandbox.emit.sms({ line, number, text: 'lost' });
  sandbox.faults({ duplicate: 1 });
  await sandbox.emit.sms({ line, number, text: 'twice' });
  await settled();
  expect(receiver.received.map((delivery) => delivery.json.message)).toEqual(['twice', 'twice']);
  expect(sandbox.deliveries().map((delivery) => delivery.outcome)).toEqual(['dropped', 'delivered', 'delivered']);
});

test('a held back delivery is overtaken by the next', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ reorder: 1 });
  await sandbox.emit.sms({ line, number, text: 'first' });
  sandbox.faults({});
  await sandbox.emit.sms({ line, number, text: 'second' });
  const order = (await receiver.until(2)).map((delivery) => delivery.json.message);
  expect(order).toEqual(['second', 'first']);
});

test('the same seed strikes the same deliveries', async () => {
  await subscribe('AccountSMS');
  const outcomes = async () => {
    sandbox.faults({ drop: 0.5 });
    const before = sandbox.deliveries().length;
    for (let count = 0; count < 30; count++) await sandbox.emit.sms({ line, number, text: 'x' });
    await settled();
    return sandbox
      .deliveries()
      .slice(before)
      .map((delivery) => delivery.outcome);
  };
  const first = await outcomes();
  expect(new Set(first)).toEqual(new Set(['dropped', 'delivered']));
  expect(await outcomes()).toEqual(first);
});

test('call ids can lose their quotes', async () => {
  await subscribe('AccountEndedCalls');
  sandbox.faults({ unquotedCallIds: true });
  const made = await sandbox.emit.call(answered);
  const [delivery] = await receiver.until(1);
  expect(delivery?.text).toContain(`"callId":${made.id},`);
});

test('bodies can be forms', async () => {
  await subscribe('AccountEndedCalls');
  sandbox.faults({ formBodies: true });
  const made = await sandbox.emit.call({ ...answered, group: 'Sales' });
  const [delivery] = await receiver.until(1);
  expect(delivery?.contentType).toBe('application/x-www-form-urlencoded');
  const form = new URLSearchParams(delivery?.text);
  expect([form.get('callId'), form.get('cdrs[0][calledType]')]).toEqual([made.id, 'ivr']);
});

test('events can come in batches', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ batch: 3 });
  for (const text of ['1', '2', '3', '4']) await sandbox.emit.sms({ line, number, text });
  const [full, rest] = await receiver.until(2);
  expect(full?.json.map((event: { message: string }) => event.message)).toEqual(['1', '2', '3']);
  expect([rest?.json].flat()).toMatchObject([{ message: '4' }]);
});

const event = { id: expect.any(Number), fromNumber: number, toNumber: line, webhookType: 'AccountSMS' };

test('one event can arrive a hundred times', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind: 'repeated', times: 1 }] });
  await sandbox.emit.sms({ line, number });
  await receiver.until(100);
  await sandbox.emit.sms({ line, number });
  await settled();
  expect(receiver.received).toHaveLength(101);
  expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(2);
});

test('a delivery can come once more, by default a week later', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind: 'redelivered', afterMs: 80 }] });
  const began = performance.now();
  await sandbox.emit.sms({ line, number });
  const [first, second] = await receiver.until(2);
  expect(performance.now() - began).toBeGreaterThan(75);
  expect(second?.text).toBe(first?.text);

  sandbox.faults({ deliveries: [{ kind: 'redelivered' }] });
  await sandbox.emit.sms({ line, number });
  await receiver.until(3);
  expect(
    sandbox
      .deliveries()
      .map(({ outcome }) => outcome)
      .at(-1),
  ).toBe('pending');
});

test.each([
  ['malformed', /^\{.*,,'$/],
  ['truncated', /^\{"id":[^}]*$/],
  ['empty', /^$/],
] as const)('a body can be %s', async (kind, shape) => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind }] });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect(delivery).toMatchObject({
    contentType: 'application/json',
    text: expect.stringMatching(shape),
    json: undefined,
  });
  expect(sandbox.deliveries()).toMatchObject([{ fault: kind }]);
});

test('the type in the body can be unknown, or that of another event', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind: 'unknownType', times: 1 }] });
  await sandbox.emit.sms({ line, number });
  await receiver.until(1);
  sandbox.faults({ deliveries: [{ kind: 'contradictingType' }] });
  await sandbox.emit.sms({ line, number });
  const types = (await receiver.until(2)).map(({ json }) => json.webhookType);
  expect(types).toEqual(['AccountHolograms', 'AccountRealTimeCalls']);
});

test('a body can be one byte over a MiB', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind: 'oversized' }] });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect(delivery?.text.length).toBe(1_048_577);
  expect(delivery?.json).toMatchObject(event);
  expect(sandbox.deliveries()[0]?.body.length).toBeLessThan(1_000);
});

test('a body can come by the byte', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind: 'trickled', everyMs: 1 }] });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect(delivery?.json).toMatchObject(event);
  expect(delivery?.pieces).toBeGreaterThan(20);
});

test('an event can be put instead of posted', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ deliveries: [{ kind: 'put' }] });
  await sandbox.emit.sms({ line, number });
  const [delivery] = await receiver.until(1);
  expect([delivery?.method, delivery?.json]).toEqual(['PUT', expect.objectContaining(event)]);
});

test('an event can come in the query of a GET', async () => {
  await subscribe('AccountEndedCalls', '/hooks?tenant=7');
  sandbox.faults({ deliveries: [{ kind: 'get' }] });
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
  sandbox.faults({ deliveries: [{ kind: 'suffixed' }] });
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
  sandbox.faults({ deliveries: [{ kind: 'wrapped', as }] });
  await sandbox.emit.sms({ line, number });
  expect((await receiver.until(1))[0]?.json).toMatchObject(shape);
});

test('an event can be ahead of the API', async () => {
  await subscribe('AccountSMS');
  await subscribe('AccountEndedCalls');
  sandbox.faults({ deliveries: [{ kind: 'early', ms: 700 }] });
  const texts = async () => (await ask('GET', `/sms/conversations/${line}/${number}`)).body.data.messages.length;
  const calls = async () => (await ask('POST', '/calls/search', everything())).body.data.total;
  await sandbox.emit.sms({ line, number });
  const made = await sandbox.emit.call(answered);
  await receiver.until(2);
  const call = async () => (await ask('GET', `/calls/${made.id}`)).status;
  expect([await texts(), await calls(), await call()]).toEqual([0, 0, 404]);
  await expect.poll(async () => [await texts(), await calls(), await call()]).toEqual([1, 1, 200]);
});

test('faults of deliveries can be narrowed to types, rated and counted', async () => {
  await subscribe('AccountSMS');
  await subscribe('AccountEndedCalls');
  sandbox.faults({ deliveries: [{ kind: 'dropped', types: ['AccountSMS'], times: 2 }] });
  await sandbox.emit.call(answered);
  for (const text of ['1', '2', '3']) await sandbox.emit.sms({ line, number, text });
  await settled();
  const outcomes = sandbox.deliveries().map(({ type, outcome }) => `${type} ${outcome}`);
  expect(outcomes).toEqual(['AccountEndedCalls delivered', ...sms('dropped', 'dropped', 'delivered')]);
});

test('several faults befall one delivery', async () => {
  await subscribe('AccountEndedCalls');
  sandbox.faults({ unquotedCallIds: true, deliveries: [{ kind: 'put' }, { kind: 'wrapped', as: 'array' }] });
  const made = await sandbox.emit.call(answered);
  const [delivery] = await receiver.until(1);
  expect([delivery?.method, delivery?.text.slice(0, 2)]).toEqual(['PUT', '[{']);
  expect(delivery?.text).toContain(`"callId":${made.id},`);
  expect(sandbox.deliveries()[0]?.fault).toBe('unquotedCallIds, put, wrapped');
});

const sms = (...outcomes: string[]) => outcomes.map((outcome) => `AccountSMS ${outcome}`);
