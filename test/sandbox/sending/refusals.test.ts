import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';

let sandbox: Sandbox;
let ask: Ask;
let control: Ask;
const line = '16465550100';
const billingLine = '16465550102';
const ann = '12125550142';
const paris = '33612345678';

const state = async () => (await control('GET', '/state')).body.data.messages;
let messagesBefore: number;

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 0, threads: 0 });
  ask = caller(sandbox);
  control = caller(sandbox, '/_sandbox');
});
beforeEach(async () => {
  messagesBefore = await state();
});
afterEach(async () => {
  // Whatever was refused: nothing was sent, and nothing charged.
  expect(await state()).toBe(messagesBefore);
  expect(sandbox.sends().filter(({ charge, totalPrice }) => charge !== null || totalPrice !== 0)).toEqual([]);
});
afterAll(() => sandbox.close());

const good = { from: line, to: [ann], message: 'hello' };
const photo = { filename: 'a.png', contentType: 'image/png', content: 'aGVsbG8=' };
const distinct = (count: number) => Array.from({ length: count }, (_, index) => `1212555${1000 + index}`);

test.each<[string, unknown, string | RegExp]>([
  ['no body', undefined, /body|from/],
  ['a list', [good], 'body'],
  ['no line', { ...good, from: undefined }, 'from is required'],
  ['null for a line', { ...good, from: null }, 'from'],
  ['a number for a line', { ...good, from: 16465550100 }, 'from'],
  ['an empty line', { ...good, from: '' }, 'from'],
  ['a line with letters', { ...good, from: 'Brightwater' }, 'from'],
  ['no recipients', { ...good, to: undefined }, 'to is required'],
  ['an empty list of recipients', { ...good, to: [] }, 'to'],
  ['one recipient outside a list', { ...good, to: ann }, 'to'],
  ['a recipient that is no text', { ...good, to: [12125550142] }, 'to[0]'],
  ['21 distinct recipients', { ...good, to: distinct(21) }, 'to'],
  ['20 recipients and one that is no number', { ...good, to: [...distinct(20), 'nobody'] }, 'to'],
  ['no message', { ...good, message: undefined }, 'message'],
  ['an empty message', { ...good, message: '' }, 'message'],
  ['white space alone', { ...good, message: ' \n\t\u00a0\u3000' }, 'message'],
  ['white space and an empty list of files', { ...good, message: ' ', attachments: [] }, 'message'],
  ['a message that is no text', { ...good, message: 1 }, 'message'],
  ['null for a message', { ...good, message: null }, 'message'],
  ['2,001 bytes', { ...good, message: 'a'.repeat(2001) }, '2,000 bytes'],
  ['2,001 bytes in 1,001 characters', { ...good, message: `${'é'.repeat(1000)}a` }, '2,000 bytes'],
  ['an unknown field', { ...good, sendAt: 'later' }, 'sendAt'],
  ['eleven files', { ...good, attachments: Array(11).fill(photo) }, 'attachments'],
  ['a file without a name', { ...good, attachments: [{ ...photo, filename: undefined }] }, 'attachments[0].filename'],
  ['a name without an extension', { ...good, attachments: [{ ...photo, filename: 'a' }] }, 'attachments[0].filename'],
  ['a type of file', { ...good, attachments: [{ ...photo, contentType: 'image/webp' }] }, 'attachments[0].contentType'],
  ['no base64', { ...good, attachments: [photo, { ...photo, content: '%' }] }, 'attachments[1].content'],
  ['an unknown field of a file', { ...good, attachments: [{ ...photo, size: 5 }] }, 'size'],
  ['null for files', { ...good, attachments: null }, 'attachments'],
])('%s is a 400 that names the field', async (_, body, named) => {
  const answer = await ask('POST', '/sms/messages', body);
  expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message).toMatch(named);
  expect(answer.body).not.toHaveProperty('data');
});

test('a body that is not JSON is a 400', async () => {
  const { status, body } = await ask('POST', '/sms/messages', '{"from":');
  expect([status, body.error.type]).toEqual([400, 'invalid_request']);
});

test('a byte more than 5 MB is a 400', async () => {
  const content = Buffer.alloc(5 * 1024 * 1024 + 1).toString('base64');
  const { status, body } = await ask('POST', '/sms/messages', { ...good, attachments: [{ ...photo, content }] });
  expect([status, body.error.type]).toEqual([400, 'invalid_request']);
  expect(body.error.message).toContain('5 MB');
});

test.each([
  ['not of the account', '12125550100'],
  ['a line without its country code', '6465550100'],
  ['too short for a number', '7'],
])('a line that is %s is a 403', async (_, from) => {
  const { status, body } = await ask('POST', '/sms/messages', { ...good, from });
  expect([status, body.error.type]).toEqual([403, 'permission_denied']);
  expect(body.error.message).toContain(from);
});

const tokenOf = async (userId: number, scopes = ['sms:send']): Promise<string> =>
  (await control('POST', '/tokens', { userId, scopes })).body.data.access_token;

test('a line of other users is a 403 to a token', async () => {
  const outsider = await tokenOf(4100);
  const { status, body } = await ask('POST', '/sms/messages', { ...good, from: billingLine }, outsider);
  expect([status, body.error.type]).toEqual([403, 'permission_denied']);
});

test('a credential without sms:send is told which scope it needs', async () => {
  const key = (await control('POST', '/keys', { name: 'reader', scopes: ['sms:read', 'sms:write'] })).body.data.key;
  for (const credential of [key, await tokenOf(4100, ['sms:write'])]) {
    const { status, body } = await ask('POST', '/sms/messages', good, credential);
    expect(status).toBe(403);
    expect(body.error).toMatchObject({ type: 'insufficient_scope', scope: 'sms:send' });
  }
});

test('no credential is a 401 that names the scope', async () => {
  for (const key of [null, 'no-such-key']) {
    const { status, headers } = await ask('POST', '/sms/messages', good, key);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain('scope="sms:send"');
  }
  expect(sandbox.sends(1)).toMatchObject([{ status: 401, key: null, charge: null }]);
});

test.each([
  ['the only recipient', [paris]],
  ['one of several', [ann, paris]],
])('no rate for %s is a 422, and nobody is sent to', async (_, to) => {
  const { status, body } = await ask('POST', '/sms/messages', { ...good, to });
  expect([status, body.error.type]).toEqual([422, 'invalid_request']);
  expect(body.error.message).toContain(paris);
});

test('a malformed body is told before a foreign line, and that before a missing rate', async () => {
  const statusOf = async (body: object) => (await ask('POST', '/sms/messages', body)).status;
  const foreign = { ...good, from: '12125550100' };
  expect(await statusOf({ ...foreign, to: [paris], colour: 1 })).toBe(400);
  expect(await statusOf({ ...foreign, to: [paris] })).toBe(403);
  expect(await statusOf({ ...good, to: [paris] })).toBe(422);
});

test('whoever may not send is not told what is wrong with the body', async () => {
  expect((await ask('POST', '/sms/messages', {}, null)).status).toBe(401);
});

test('an injected failure answers 500 and sends nothing', async () => {
  sandbox.faults({ kind: 'error' });
  const { status, body } = await ask('POST', '/sms/messages', good);
  sandbox.faults();
  expect([status, body.error.type]).toEqual([500, 'internal_error']);
  expect(sandbox.sends(1)).toMatchObject([{ status: 500, key: 'default', charge: null }]);
});
