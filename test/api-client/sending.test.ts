import { describe, expect, test } from 'vitest';
import { type Attachment, type SendRequest, sendProblem } from '../../src/api-client/requests.ts';
import { json, listen, open, refusalOf } from './endpoint.ts';

const fine = undefined;
const megabyte = 1024 * 1024;
const distinct = (count: number) => Array.from({ length: count }, (_, i) => `1845500${String(i).padStart(4, '0')}`);
const send = (change: Partial<SendRequest>) =>
  sendProblem({ from: '18457511133', to: ['18455008085'], message: 'hi', ...change } as SendRequest);
const picture = { filename: 'a.png', contentType: 'image/png', content: 'AAAA' } as const;
const attach = (change: object, count = 1) =>
  send({ message: '', attachments: Array.from({ length: count }, () => ({ ...picture, ...change }) as Attachment) });
const encoded = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64');

function expectProblem(problem: string | undefined, expected: string | undefined): void {
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toContain(expected);
}

describe('recipients', () => {
  test.each([
    ['none', [], '`to` is empty'],
    ['one', distinct(1), fine],
    ['20', distinct(20), fine],
    ['21', distinct(21), '21 distinct recipients and 20 is the most'],
    ['20, each written twice', distinct(20).flatMap((n) => [n, `+1 (${n.slice(1, 4)}) ${n.slice(4)}`]), fine],
    ['21, one of which cannot be dialled', [...distinct(20), 'nobody'], '21 distinct recipients'],
    ['one that cannot be dialled: the service skips it', ['nobody'], fine],
  ])('%s', (_, to, expected) => expectProblem(send({ to }), expected));
});

describe('the text of a send', () => {
  test.each([
    ['empty', '', 'empty or only white space'],
    ['white space', ' \n\t\u00a0', 'empty or only white space'],
    ['2,000 bytes', 'x'.repeat(2_000), fine],
    ['2,001 bytes', 'x'.repeat(2_001), '2001 bytes in UTF-8 and 2000 is the most'],
    ['1,000 letters of two bytes', 'é'.repeat(1_000), fine],
    ['1,001 letters of two bytes', 'é'.repeat(1_001), '2002 bytes'],
    ['500 emoji', '😀'.repeat(500), fine],
    ['501 emoji', '😀'.repeat(501), '2004 bytes'],
  ])('%s', (_, message, expected) => expectProblem(send({ message }), expected));

  test('is bounded beside attachments too, and may be white space there', () => {
    expect(send({ message: ' ', attachments: [picture] })).toBeUndefined();
    expect(send({ message: 'x'.repeat(2_001), attachments: [picture] })).toContain('2001 bytes');
    expect(send({ message: ' ', attachments: [] })).toContain('only white space');
  });
});

describe('attachments', () => {
  test.each<[string, object, string | undefined]>([
    ['a name with an extension', { filename: 'my photo.final.JPG' }, fine],
    ['a name without', { filename: 'photo' }, '`attachments[0].filename` lacks an extension'],
    ['a name that ends with its dot', { filename: 'photo.' }, 'lacks an extension'],
    ['an empty name', { filename: '' }, 'lacks an extension'],
    ['a JPEG', { contentType: 'image/jpeg' }, fine],
    ['a bitmap', { contentType: 'image/bmp' }, fine],
    ['a GIF', { contentType: 'image/gif' }, fine],
    ['another type', { contentType: 'image/webp' }, '`attachments[0].contentType` should be one of image/jpeg'],
    ['a type in capitals', { contentType: 'IMAGE/PNG' }, 'contentType'],
    ['one byte', { content: encoded(1) }, fine],
    ['two bytes', { content: encoded(2) }, fine],
    ['5 MB', { content: encoded(5 * megabyte) }, fine],
    ['5 MB and a byte', { content: encoded(5 * megabyte + 1) }, '5242881 bytes decoded and 5 MB is the most'],
    ['5 MB and two bytes', { content: encoded(5 * megabyte + 2) }, '5242882 bytes'],
    ['no padding', { content: 'AAA' }, 'not standard base64'],
    ['too much padding', { content: 'A===' }, 'not standard base64'],
    ['padding inside', { content: 'AA=A' }, 'not standard base64'],
    ['the alphabet of addresses', { content: 'A-_A' }, 'not standard base64'],
    ['line breaks', { content: 'AAAA\nAAA' }, 'not standard base64'],
    ['a data address', { content: 'data:image/png;base64,AAAA' }, 'not standard base64'],
  ])('%s', (_, change, expected) => expectProblem(attach(change), expected));

  test('are 10 at most', () => {
    expect(attach({}, 10)).toBeUndefined();
    expect(attach({}, 11)).toContain('11 files and 10 is the most');
  });

  test('are named by their place', () => {
    const attachments = [picture, { ...picture, filename: 'b' }];
    expect(send({ attachments })).toContain('`attachments[1].filename`');
  });
});

test.each([
  ['18455008085', true],
  ['(845) 500-8085', true],
  ['+1 845.500.8085', true],
  ['845\u2011500\u20118085', true],
  ['+972 50/1234567', true],
  ['12345', true],
  ['911', true],
  ['123456789012345', true],
  ['1234567890123456', false],
  ['12', false],
  ['', false],
  ['-', false],
  ['1-800-FLOWERS', false],
  ['18455008085;ext=5', false],
])('%j is a phone number: %s', (from, isNumber) => {
  expectProblem(send({ from }), isNumber ? fine : '`from` is no phone number');
});

test('a send that the service must refuse does not leave and rests no circuit', async () => {
  const { url, seen } = await listen((response) => json(response, 200, { data: {} }));
  const { messages, circuit } = open(url, { circuit: { failures: 1 } });
  const error = await refusalOf(messages.send({ from: '18457511133', to: [], message: 'hi' }));
  expect(error).toMatchObject({
    code: 'invalid_request',
    advice: 'refused',
    effect: 'none',
    operation: 'messages.send',
  });
  expect(error.message).toMatch(/`to` is empty.*\(section 2\.2\)$/);
  expect(circuit.state()).toEqual({ state: 'closed' });
  expect(seen).toEqual([]);
});

test('a refusal repeats neither a number nor a text', async () => {
  const secret = '5550001';
  for (const problem of [send({ from: `x${secret}` }), send({ message: secret.repeat(400) })]) {
    expect(problem).toEqual(expect.not.stringContaining(secret));
  }
});
