import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller } from './client/caller.ts';
import { createReceiver, type Receiver } from './client/receiver.ts';

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

test('a text arrives in the captured shape, query values of the address included', async () => {
  await subscribe('AccountSMS', '/hooks/token/AccountSMS?secret=x&tenant=7');
  const made = await sandbox.emit.sms({ line, number, text: '3rd', sentAt: '2026-04-21T22:47:50Z' });
  const [delivery] = await receiver.until(1);
  expect(delivery).toMatchObject({
    path: '/hooks/token/AccountSMS?secret=x&tenant=7',
    contentType: 'application/json',
  });
  expect(delivery?.json).toEqual({
    id: made.id,
    direction: 'received',
    startTime: '2026-04-21T18:47:50-04:00',
    fromNumber: number,
    toNumber: line,
    message: '3rd',
    media: null,
    webhookType: 'AccountSMS',
    secret: 'x',
    tenant: '7',
  });
});

test('an outbound text is told again when its receipt comes', async () => {
  await subscribe('AccountSMS');
  const made = await sandbox.emit.sms({ line, number, direction: 'out', delivery: 'undelivered' });
  const [sent, receipt] = await receiver.until(2);
  expect(sent?.json).toMatchObject({ id: made.id, direction: 'sent', fromNumber: line, toNumber: number });
  expect(receipt?.json).toMatchObject({ id: made.id, deliveryStatus: 'undelivered' });
  const { body } = await ask('GET', `/sms/conversations/${line}/${number}`);
  expect(body.data.messages[0].delivery).toMatchObject({ status: 'undelivered', error: expect.stringMatching(/./) });
});

test('an ended call arrives in the captured shape and can be read by then', async () => {
  await subscribe('AccountEndedCalls');
  const made = await sandbox.emit.call({ ...answered, group: 'Service', transfers: 0 });
  const [delivery] = await receiver.until(1);
  expect(delivery?.json).toMatchObject({
    callId: made.id,
    direction: 'incoming',
    status: 'answered',
    webhookType: 'AccountEndedCalls',
    callerNumber: number,
    externalCallerId: number,
    externalCallerName: expect.any(String),
    callDuration: 120,
    recordingUrl: expect.stringContaining(`/recordings/${made.recordings[0]}.wav?signature=`),
  });
  expect(delivery?.json.cdrs[0]).toMatchObject({ callerType: 'external', calledType: 'ivr', status: 'answer' });
  expect(delivery?.json.cdrs.at(-1)).toMatchObject({ calledType: 'phone', status: 'answer' });
  expect((await ask('GET', `/calls/${delivery?.json.callId}`)).status).toBe(200);
});

test('whoever watches calls in progress hears that a provoked one ended', async () => {
  await subscribe('AccountRealTimeCalls');
  const { id } = await sandbox.emit.call({ direction: 'inbound', status: 'answered' });
  await sandbox.emit.call({ announce: false });
  const [live, ...more] = await receiver.until(1);
  expect(live?.json).toMatchObject({ callId: id, status: 'ended', webhookType: 'AccountRealTimeCalls' });
  expect(more).toEqual([]);
});

test('outgoing and internal calls use the captured words', async () => {
  await subscribe('AccountEndedCalls');
  await sandbox.emit.call({ direction: 'outbound', status: 'answered', number });
  await sandbox.emit.call({ direction: 'internal', status: 'missed' });
  const bodies = (await receiver.until(2)).map((delivery) => delivery.json);
  expect(bodies.find((body) => body.direction === 'outgoing')).toMatchObject({ calledNumber: number });
  expect(bodies.find((body) => body.direction === 'Internal')).toMatchObject({ status: 'missed', talkDuration: 0 });
});

test('a call with an agent is told to those who watch users, others are not', async () => {
  await subscribe('UserEndedCalls');
  await sandbox.emit.call({ ...answered, status: 'missed', abandoned: true, recorded: false, group: 'Service' });
  const made = await sandbox.emit.call(answered);
  const [delivery] = await receiver.until(1);
  expect(delivery?.json).toMatchObject({ callId: made.id, webhookType: 'UserEndedCalls' });
});

test('a refused delivery is tried again until it is taken', async () => {
  await subscribe('AccountSMS');
  receiver.answers.push(500, 302);
  await sandbox.emit.sms({ line, number });
  await receiver.until(3);
  await settled();
  const [delivery] = sandbox.deliveries();
  expect(delivery?.outcome).toBe('delivered');
  expect(delivery?.attempts.map((attempt) => attempt.status)).toEqual([500, 302, 200]);
  expect(new Set(receiver.received.map((one) => one.text)).size).toBe(1);
});

test('a delivery fails after the last try', async () => {
  await subscribe('AccountSMS');
  receiver.answers.push(503, 503, 503, 503);
  await sandbox.emit.sms({ line, number });
  await settled();
  expect(sandbox.deliveries()).toMatchObject([{ outcome: 'failed', attempts: [{}, {}, {}, {}] }]);
});

test('a reset cuts what is under way', async () => {
  await subscribe('AccountSMS');
  sandbox.faults({ kind: 'delayed', ms: 60_000 });
  await sandbox.emit.sms({ line, number });
  const [pending] = sandbox.deliveries();
  expect(pending?.outcome).toBe('pending');
  await sandbox.reset();
  expect(pending?.outcome).toBe('cut');
  expect(sandbox.deliveries()).toEqual([]);
  expect(receiver.received).toEqual([]);
});
