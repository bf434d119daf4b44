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

test('the next delivery overtakes a delayed one', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'delayed', ms: 300, times: 1 });
  await sandbox.emit.sms({ line, number, text: 'first' });
  await sandbox.emit.sms({ line, number, text: 'second' });
  const order = (await receiver.until(2)).map((delivery) => delivery.json.message);
  expect(order).toEqual(['second', 'first']);
});

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

test('an event can be ahead of the API', async () => {
  await subscribe('AccountSMS');
  await subscribe('AccountEndedCalls');
  sandbox.faults({ kind: 'early', ms: 2_000 });
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

const sms = (...outcomes: string[]) => outcomes.map((outcome) => `AccountSMS ${outcome}`);
