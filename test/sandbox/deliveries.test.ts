import { expect, test } from 'vitest';
import { everything, line, sandboxOfFile } from './client/caller.ts';
import { createReceiver } from './client/receiver.ts';

const { sandbox, ask } = await sandboxOfFile({ deliveryRetriesMs: [20, 20, 20] });

/** A receiver that is subscribed to types, each on a path of its own. */
async function subscribed(...types: string[]) {
  const receiver = await createReceiver();
  for (const type of types) await ask('POST', '/webhooks', { type, url: `${receiver.url}/${type}?secret=x&tenant=7` });
  const bodies = async (count: number) => (await receiver.until(count)).map(({ json }) => json);
  return { ...receiver, bodies };
}

async function settled(): Promise<void> {
  await expect.poll(() => sandbox.deliveries().filter((one) => one.outcome === 'pending')).toEqual([]);
}
const outcomes = () => sandbox.deliveries().map(({ type, outcome }) => `${type} ${outcome}`);

const number = '12125550142';
const pair = { line, number };
const answered = { direction: 'inbound', status: 'answered', recorded: true, number, durationSeconds: 120 } as const;
const thread = async () => (await ask('GET', `/sms/conversations/${line}/${number}`)).body.data.messages;

test('a text arrives in the captured shape, query values of the address included', async () => {
  const receiver = await subscribed('AccountSMS');
  const { id } = await sandbox.emit.sms({ ...pair, text: '3rd', sentAt: '2026-04-21T22:47:50Z' });
  const [delivery] = await receiver.until(1);
  expect([delivery?.path, delivery?.contentType]).toEqual(['/AccountSMS?secret=x&tenant=7', 'application/json']);
  expect(delivery?.json).toEqual({
    ...{ id, direction: 'received', startTime: '2026-04-21T18:47:50-04:00', fromNumber: number, toNumber: line },
    ...{ message: '3rd', media: null, webhookType: 'AccountSMS', secret: 'x', tenant: '7' },
  });
});

test('an outbound text is told again when its receipt comes', async () => {
  const { bodies } = await subscribed('AccountSMS');
  const { id } = await sandbox.emit.sms({ ...pair, direction: 'out', delivery: 'undelivered' });
  expect(await bodies(2)).toMatchObject([
    { id, direction: 'sent', fromNumber: line, toNumber: number },
    { id, deliveryStatus: 'undelivered' },
  ]);
  const receipt = { status: 'undelivered', error: expect.stringMatching(/./) };
  expect((await thread())[0].delivery).toMatchObject(receipt);
});

test('an ended call arrives in the captured shape and can be read by then', async () => {
  const { bodies } = await subscribed('AccountEndedCalls');
  const { id, recordings } = await sandbox.emit.call({ ...answered, group: 'Service', transfers: 0 });
  const [body] = await bodies(1);
  expect(body).toMatchObject({
    ...{ callId: id, direction: 'incoming', status: 'answered', webhookType: 'AccountEndedCalls', callDuration: 120 },
    ...{ callerNumber: number, externalCallerId: number, externalCallerName: expect.any(String) },
    recordingUrl: expect.stringContaining(`/recordings/${recordings[0]}.wav?signature=`),
  });
  expect(body.cdrs[0]).toMatchObject({ callerType: 'external', calledType: 'ivr', status: 'answer' });
  expect(body.cdrs.at(-1)).toMatchObject({ calledType: 'phone', status: 'answer' });
  expect((await ask('GET', `/calls/${id}`)).status).toBe(200);
});

test('whoever watches calls in progress hears that a provoked one ended', async () => {
  const { bodies } = await subscribed('AccountRealTimeCalls');
  const { id } = await sandbox.emit.call({ direction: 'inbound', status: 'answered' });
  await sandbox.emit.call({ announce: false });
  const ended = { callId: id, status: 'ended', webhookType: 'AccountRealTimeCalls' };
  expect(await bodies(1)).toEqual([expect.objectContaining(ended)]);
});

test('outgoing and internal calls use the captured words', async () => {
  const { bodies } = await subscribed('AccountEndedCalls');
  await sandbox.emit.call({ direction: 'outbound', status: 'answered', number });
  await sandbox.emit.call({ direction: 'internal', status: 'missed' });
  const byDirection = Object.fromEntries((await bodies(2)).map((body) => [body.direction, body]));
  expect(byDirection).toMatchObject({
    outgoing: { calledNumber: number },
    Internal: { status: 'missed', talkDuration: 0 },
  });
});

test('a call with an agent is told to those who watch users, others are not', async () => {
  const { bodies } = await subscribed('UserEndedCalls');
  await sandbox.emit.call({ ...answered, status: 'missed', abandoned: true, recorded: false, group: 'Service' });
  const { id } = await sandbox.emit.call(answered);
  expect((await bodies(1))[0]).toMatchObject({ callId: id, webhookType: 'UserEndedCalls' });
});

test.each([
  ['is tried again until it is taken', [500, 302], 'delivered', [500, 302, 200]],
  ['fails after the last try', [503, 503, 503, 503], 'failed', [503, 503, 503, 503]],
])('a refused delivery %s', async (_, answers, outcome, statuses) => {
  const receiver = await subscribed('AccountSMS');
  receiver.answers.push(...answers);
  await sandbox.emit.sms(pair);
  await settled();
  const [delivery] = sandbox.deliveries();
  expect([delivery?.outcome, delivery?.attempts.map(({ status }) => status)]).toEqual([outcome, statuses]);
  expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
});

test('a reset cuts what is under way', async () => {
  const { received } = await subscribed('AccountSMS');
  sandbox.faults({ kind: 'delayed', ms: 60_000 });
  await sandbox.emit.sms(pair);
  const [pending] = sandbox.deliveries();
  expect(pending?.outcome).toBe('pending');
  await sandbox.reset();
  expect([pending?.outcome, sandbox.deliveries(), received]).toEqual(['cut', [], []]);
});

test('deliveries are dropped and repeated', async () => {
  const { received } = await subscribed('AccountSMS');
  sandbox.faults({ kind: 'dropped' });
  await sandbox.emit.sms({ ...pair, text: 'lost' });
  sandbox.faults({ kind: 'repeated' });
  await sandbox.emit.sms({ ...pair, text: 'twice' });
  await settled();
  expect(received.map(({ json }) => json.message)).toEqual(['twice', 'twice']);
  expect(outcomes()).toEqual(['AccountSMS dropped', 'AccountSMS delivered', 'AccountSMS delivered']);
});

test('the next delivery overtakes a delayed one', async () => {
  const { bodies } = await subscribed('AccountSMS');
  sandbox.faults({ kind: 'delayed', ms: 300, times: 1 });
  await sandbox.emit.sms({ ...pair, text: 'first' });
  await sandbox.emit.sms({ ...pair, text: 'second' });
  expect((await bodies(2)).map(({ message }) => message)).toEqual(['second', 'first']);
});

test('copies come later, and count as pending until then', async () => {
  const { until } = await subscribed('AccountSMS');
  sandbox.faults({ kind: 'repeated', copies: 3, afterMs: 80 });
  const began = performance.now();
  await sandbox.emit.sms(pair);
  expect(new Set((await until(3)).map(({ text }) => text)).size).toBe(1);
  expect(performance.now() - began).toBeGreaterThan(75);
  sandbox.faults({ kind: 'repeated', afterMs: 604_800_000 });
  await sandbox.emit.sms(pair);
  await until(4);
  expect(sandbox.deliveries().at(-1)?.outcome).toBe('pending');
});

test('an event can be ahead of the API', async () => {
  const { until } = await subscribed('AccountSMS', 'AccountEndedCalls');
  sandbox.faults({ kind: 'early', ms: 2_000 });
  await sandbox.emit.sms(pair);
  const { id } = await sandbox.emit.call(answered);
  await until(2);
  const shown = async () => {
    const calls = (await ask('POST', '/calls/search', everything())).body.data.total;
    return [(await thread()).length, calls, (await ask('GET', `/calls/${id}`)).status];
  };
  expect(await shown()).toEqual([0, 0, 404]);
  await expect.poll(shown).toEqual([1, 1, 200]);
});

test('faults of deliveries can be narrowed to a type, and counted', async () => {
  await subscribed('AccountSMS', 'AccountEndedCalls');
  sandbox.faults({ kind: 'dropped', type: 'AccountSMS', times: 2 });
  await sandbox.emit.call(answered);
  for (const text of ['1', '2', '3']) await sandbox.emit.sms({ ...pair, text });
  await settled();
  const texts = ['AccountSMS dropped', 'AccountSMS dropped', 'AccountSMS delivered'];
  expect(outcomes()).toEqual(['AccountEndedCalls delivered', ...texts]);
});
