import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;
const line = '16465550100';
const ann = '12125550142';
const bob = '13125550143';
const london = '447700900123';

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
afterAll(() => sandbox.close());

const send = (to: string[], message: string, rest: object = {}, key?: string) =>
  ask('POST', '/sms/messages', { from: line, to, message, ...rest }, key);
const newest = async (path: string) => (await ask('GET', `/sms/conversations/${line}/${path}`)).body.data.messages[0];
const photo = { filename: 'leak.jpg', contentType: 'image/jpeg', content: 'aGVsbG8=' };

test('one text is an sms, charged by the segment, and stands in its thread', async () => {
  const { status, body } = await send([ann], 'See you at 2:30.');
  expect(status).toBe(201);
  expect(body).toEqual({
    data: {
      from: line,
      billing: {
        billed: true,
        currency: 'USD',
        type: 'sms',
        units: 1,
        totalPrice: 0.01,
        recipientCount: 1,
        skippedCount: 0,
      },
      messages: [
        { id: expect.any(Number), to: [ann], type: 'sms', status: 'sent', units: 1, unitPrice: 0.01, price: 0.01 },
      ],
      skipped: [],
    },
  });
  const message = await newest(ann);
  expect(message).toMatchObject({
    id: body.data.messages[0].id,
    direction: 'out',
    from: line,
    to: ann,
    text: 'See you at 2:30.',
    media: [],
  });
  expect(Math.abs(Date.parse(message.sentAt) - Date.now())).toBeLessThan(5_000);
});

test.each([
  ['160 characters of GSM-7', 'a'.repeat(160), 1, 0.01],
  ['161', 'a'.repeat(161), 2, 0.02],
  ['70 beyond GSM-7', 'ש'.repeat(70), 1, 0.01],
  ['71', 'ש'.repeat(71), 2, 0.02],
  ['80 euro signs', '€'.repeat(80), 1, 0.01],
  ['81', '€'.repeat(81), 2, 0.02],
  ['36 emoji', '🚨'.repeat(36), 2, 0.02],
  ['an accented vowel', `${'a'.repeat(159)}ó`, 1, 0.01],
  ['2,000 bytes, with no cap on segments', 'a'.repeat(2000), 14, 0.14],
])('%s are %3$i segments', async (_, text, units, price) => {
  const { body } = await send([ann], text);
  expect(body.data.billing).toMatchObject({ type: 'sms', units, totalPrice: price });
  expect(body.data.messages[0]).toMatchObject({ units, unitPrice: 0.01, price });
  expect((await newest(ann)).text).toBe(text);
});

test('two recipients are one group thread that all of them are in, at the price of one mms', async () => {
  const { status, body } = await send([bob, ann], 'a'.repeat(400));
  expect(status).toBe(201);
  expect(body.data.billing).toMatchObject({ type: 'mms', units: 1, totalPrice: 0.03, recipientCount: 2 });
  expect(body.data.messages).toEqual([
    { id: expect.any(Number), to: [bob, ann], type: 'mms', status: 'sent', units: 1, unitPrice: 0.03, price: 0.03 },
  ]);
  const { id } = body.data.messages[0];
  expect(await newest(`${ann}?groupParticipants=${bob}`)).toMatchObject({ id, groupParticipants: [ann, bob] });
  expect(await newest(`${bob}?groupParticipants=${ann}`)).toMatchObject({ id, to: `${ann},${bob}` });
  expect((await newest(ann)).id).not.toBe(id);
});

test('a group on different rates costs the highest of them, once', async () => {
  const { body } = await send([ann, london, bob], 'hello');
  expect(body.data.messages).toMatchObject([{ unitPrice: 0.09, units: 1, price: 0.09 }]);
  expect(body.data.billing).toMatchObject({ totalPrice: 0.09, recipientCount: 3 });
});

test('a file alone makes an mms of one recipient, with or without a text', async () => {
  for (const message of ['', undefined, '  ', 'here']) {
    const { status, body } = await ask('POST', '/sms/messages', {
      from: line,
      to: [ann],
      message,
      attachments: [photo],
    });
    expect(status).toBe(201);
    expect(body.data.billing).toMatchObject({ type: 'mms', units: 1, totalPrice: 0.03, recipientCount: 1 });
    expect((await newest(ann)).text).toBe(message ?? '');
  }
});

test('formatting is stripped from the line and the recipients, who get their country code', async () => {
  const { status, body } = await ask('POST', '/sms/messages', {
    from: '+1 (646) 555-0100',
    to: ['(212) 555-0142', '+44 7700 900123'],
    message: 'hello',
  });
  expect(status).toBe(201);
  expect(body.data).toMatchObject({ from: line, messages: [{ to: [ann, london] }] });
});

test('who is skipped is named as supplied, with the reason, and is not charged', async () => {
  await sandbox.emit.sms({ line, number: '12125550199', text: 'Stop' });
  const { status, body } = await send(['(212) 555-0142', ann, '12125550199', 'Ann', '', '+1 212 555 0142'], 'hello');
  expect(status).toBe(201);
  expect(body.data.skipped).toEqual([
    { to: ann, reason: 'duplicate' },
    { to: '12125550199', reason: 'opted_out' },
    { to: 'Ann', reason: 'invalid' },
    { to: '', reason: 'invalid' },
    { to: '+1 212 555 0142', reason: 'duplicate' },
  ]);
  expect(body.data.billing).toMatchObject({ type: 'sms', totalPrice: 0.01, recipientCount: 1, skippedCount: 5 });
  expect(body.data.messages).toMatchObject([{ to: [ann], type: 'sms' }]);
});

test('when everyone is skipped the answer is 200, nothing is sent and nothing charged', async () => {
  const before = (await control('GET', '/state')).body.data.messages;
  const { status, body } = await send(['nobody', '1-2'], 'hello', { attachments: [photo] });
  expect(status).toBe(200);
  expect(body.data).toEqual({
    from: line,
    billing: {
      billed: true,
      currency: 'USD',
      type: 'mms',
      units: 0,
      totalPrice: 0,
      recipientCount: 0,
      skippedCount: 2,
    },
    messages: [],
    skipped: [
      { to: 'nobody', reason: 'invalid' },
      { to: '1-2', reason: 'invalid' },
    ],
  });
  expect((await control('GET', '/state')).body.data.messages).toBe(before);
  expect(sandbox.sends(1)).toMatchObject([{ status: 200, totalPrice: 0, charge: null }]);
});

test('twenty distinct recipients are sent to, however often they are repeated', async () => {
  const twenty = Array.from({ length: 20 }, (_, index) => `1312555${String(200 + index).padStart(4, '0')}`);
  const { status, body } = await send([...twenty, '(312) 555-0200'], 'hello');
  expect(status).toBe(201);
  expect(body.data.billing).toMatchObject({ recipientCount: 20, skippedCount: 1, totalPrice: 0.03 });
});

test('a message of an API key was sent by an integration, one of a token by its user', async () => {
  await send([ann], 'from a key');
  expect(await newest(ann)).not.toHaveProperty('sentBy');

  const { data: token } = (await control('POST', '/tokens', { userId: 4100, scopes: ['sms:send'] })).body;
  expect((await send([ann], 'from a user', {}, token.access_token)).status).toBe(201);
  expect(await newest(ann)).toMatchObject({ text: 'from a user', sentBy: 4100, readBy: [4100] });
});

test('an id can be missing from the answer, and the message stands in its thread all the same', async () => {
  sandbox.faults({ kind: 'fields', change: 'drop', field: 'id', operation: 'sendMessage' });
  const { status, body } = await send([ann], 'nameless');
  sandbox.faults();
  expect(status).toBe(201);
  expect(body.data.messages).toEqual([
    { to: [ann], type: 'sms', status: 'sent', units: 1, unitPrice: 0.01, price: 0.01 },
  ]);
  const message = await newest(ann);
  expect(message).toMatchObject({ id: expect.any(Number), text: 'nameless' });
  expect(sandbox.sends(1)).toMatchObject([{ totalPrice: 0.01, charge: { messageIds: [message.id] } }]);
});
