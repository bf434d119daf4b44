import { describe, expect, test } from 'vitest';
import {
  callIdProblem,
  commentProblem,
  draftIdProblem,
  idProblem,
  isPhoneNumber,
  messageIdsProblem,
  momentProblem,
  momentText,
  searchProblem,
  urlProblem,
} from '../../../src/api-client/requests/parameters.ts';
import { type Attachment, type SendRequest, sendProblem } from '../../../src/api-client/requests/sending.ts';

const fine = undefined;
const day = 86_400;
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
])('%j is a phone number: %s', (text, isNumber) => {
  expect(isPhoneNumber(text)).toBe(isNumber);
});

describe('call searches', () => {
  test.each([
    ['a second', { start: 0, end: 1 }, fine],
    ['366 days', { start: 5, end: 5 + 366 * day }, fine],
    ['a second more', { start: 5, end: 6 + 366 * day }, 'more than 366 days'],
    ['nothing', { start: 5, end: 5 }, '`end` should be after `start`'],
    ['backwards', { start: 5, end: 4 }, '`end` should be after `start`'],
    ['fractions', { start: 0.5, end: 5 }, '`start` should be whole Unix seconds'],
    ['text', { start: 0, end: '5' as unknown as number }, '`end` should be whole Unix seconds'],
    ['more than the cap: the service lowers it', { start: 0, end: 1, limit: 501, offset: 9 }, fine],
    ['a fraction of a row', { start: 0, end: 1, limit: 0.5 }, '`limit`'],
    ['from before the first row', { start: 0, end: 1, offset: -1 }, '`offset`'],
  ])('for %s', (_, search, expected) => expectProblem(searchProblem(search), expected));
});

test.each([
  ['1783385492.057900', fine],
  ['1.1', fine],
  ['1783385492', 'the call id'],
  ['1783385492.', 'the call id'],
  ['.1', 'the call id'],
  ['1783385492.1.2', 'the call id'],
  ['c-1', 'the call id'],
  [' 1783385492.1', 'the call id'],
  ['1783385492.1\n', 'the call id'],
])('the call id %j', (id, expected) => expectProblem(callIdProblem(id), expected));

test.each([
  [1, fine],
  [50, fine],
  [51, '51 ids and 50 is the most'],
  [0, '`messageIds` is empty'],
])('%i messages to mark', (count, expected) => {
  expectProblem(messageIdsProblem(Array.from({ length: count }, (_, i) => i)), expected);
});

test('each message to mark is an integer', () => {
  expect(messageIdsProblem([1, 2.5])).toContain('`messageIds[1]` should be an integer');
  expect(idProblem('id', 2 ** 53)).toContain('`id` should be an integer');
});

test.each([
  ['k', fine],
  ['k'.repeat(128), fine],
  ['😀'.repeat(128), fine],
  ['k'.repeat(129), '129 characters and 128 is the most'],
  ['', '`draftId` is empty'],
])('the draft %j', (id, expected) => expectProblem(draftIdProblem(id), expected));

const address = (length: number) => `https://example.test/${'x'.repeat(length - 21)}`;

test.each([
  [undefined, fine],
  ['http://example.test', fine],
  [address(1_024), fine],
  [address(1_025), '1025 characters and 1024 is the most'],
  ['example.test/hooks', '`url` should be a whole address'],
  ['ftp://example.test', '`url` should be a whole address'],
  ['', '`url` should be a whole address'],
])('the address of a subscription %#', (url, expected) => expectProblem(urlProblem(url), expected));

test.each([
  [undefined, fine],
  ['2026-04-21T18:47:50Z', fine],
  ['2026-04-21T14:47:50.25-04:00', fine],
  [new Date(0), fine],
  [new Date(Number.NaN), '`since` should be a valid Date'],
  [new Date(8.64e15), '`since` should be a valid Date'],
  ['2026-04-21', '`since` should be a valid Date'],
  ['', '`since` should be a valid Date'],
])('the moment %s', (moment, expected) => expectProblem(momentProblem('since', moment), expected));

test('a date is sent as RFC 3339 in UTC, and text as it was given', () => {
  expect(momentText(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
  expect(momentText('2026-04-21T14:47:50-04:00')).toBe('2026-04-21T14:47:50-04:00');
});

test('a note needs a text', () => {
  expect(commentProblem('')).toContain('`comment` is empty');
  expect(commentProblem(' ')).toBeUndefined();
  expect(commentProblem(undefined)).toBeUndefined();
});
