import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';
import { createReceiver, type Receiver } from '../client/receiver.ts';

let sandbox: Sandbox;
let receiver: Receiver;
let ask: Ask;
const line = '16465550100';
const ann = '12125550142';
const bob = '13125550143';

beforeEach(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  receiver = await createReceiver();
  ask = caller(sandbox);
  await ask('POST', '/webhooks', { type: 'AccountSMS', url: `${receiver.url}/hook` });
});
afterEach(async () => {
  await sandbox.close();
  await receiver[Symbol.asyncDispose]();
});

const send = (to: string[], message = 'hello') => ask('POST', '/sms/messages', { from: line, to, message });
const thread = async (path: string) => (await ask('GET', `/sms/conversations/${line}/${path}`)).body.data.messages;

test('a group is told of once, with all of its parties', async () => {
  await send([bob, ann]);
  const deliveries = await receiver.until(2);
  expect(deliveries.map(({ json }) => json.toNumber)).toEqual([`${ann},${bob}`, `${ann},${bob}`]);
});

test('a text to a blocked sender exists and is charged, but is not delivered', async () => {
  await ask('POST', `/sms/lines/${line}/blocked`, { number: ann, reason: 'abusive' });
  const { status, body } = await send([ann]);
  expect(status).toBe(201);
  expect(body.data.billing).toMatchObject({ totalPrice: 0.01, recipientCount: 1, skippedCount: 0 });
  // Receipts come within three seconds: had the blocked text one, it would hardly be the last of seven.
  for (let count = 0; count < 6; count++) await send([bob]);
  const later = await receiver.until(6, ({ json }) => json.deliveryStatus !== undefined);
  expect(later.map(({ json }) => json.toNumber)).toEqual(Array(6).fill(bob));
  expect(receiver.received.filter(({ json }) => json.toNumber === ann)).toHaveLength(1);
  const [message] = await thread(ann);
  expect(message).toMatchObject({ id: body.data.messages[0].id, blocked: true, blockReason: 'abusive' });
  expect(message).not.toHaveProperty('delivery');
  expect(sandbox.sends()[0]).toMatchObject({ status: 201, charge: { to: [ann], totalMicros: 10_000 } });
});

test('a block without a reason blocks, and holds for its line alone', async () => {
  await ask('POST', `/sms/lines/${line}/blocked`, { number: ann });
  await send([ann]);
  expect((await thread(ann))[0]).toMatchObject({ blocked: true, blockReason: '' });
  const elsewhere = '16465550101';
  await ask('POST', '/sms/messages', { from: elsewhere, to: [ann], message: 'hello' });
  const { body } = await ask('GET', `/sms/conversations/${elsewhere}/${ann}`);
  expect(body.data.messages[0]).toMatchObject({ blocked: false });
});

test('a group is blocked when all of its parties are', async () => {
  await ask('POST', `/sms/lines/${line}/blocked`, { number: ann, reason: 'abusive' });
  await send([ann, bob], 'to one');
  await ask('POST', `/sms/lines/${line}/blocked`, { number: bob, reason: 'rude' });
  await send([ann, bob], 'to none');
  const [none, one] = await thread(`${ann}?groupParticipants=${bob}`);
  expect(none).toMatchObject({ text: 'to none', blocked: true });
  expect(one).toMatchObject({ text: 'to one', blocked: false });
});
