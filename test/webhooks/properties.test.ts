import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventTypes } from '../../src/shared/event-types.ts';
import { extract } from '../../src/webhooks/extract.ts';
import { busyMs } from '../busy.ts';
import { fixture, isOurLine, received } from './fixtures.ts';

const words =
  '{ } [ ] " : , = & \\ \\" \\u0000 \\ud800 0 1783385492.057900 callId id data message fromNumber toNumber secret url ' +
  '"callId": "secret":" %5B %zz a[b][0][c]= a.b= __proto__ https:// \0 \ufeff null 1e999 line direction';
const scraps = fc.array(fc.constantFrom(...words.split(' ')), { maxLength: 60 }).map((parts) => parts.join(''));
const callIds = fc.stringMatching(/^[1-9]\d{8,10}\.\d{1,12}$/);
const wrappers = fc.array(fc.constantFrom('data', 'Payload', 'events', 'call', 'content', '[]', 'text'), {
  maxLength: 6,
});

test('never throws and keeps storable text, whatever the bytes', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
    scraps.map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text)),
    fc.webQueryParameters().map((text) => Buffer.from(text)),
  );
  const types = fc.option(fc.oneof(fc.constantFrom(...eventTypes), fc.string()), { nil: undefined });
  fc.assert(
    fc.property(bytes, types, fc.string(), (body, pathType, query) => {
      const facts = extract({ pathType, query, body }, isOurLine);
      expect(facts.body.isWellFormed() && !facts.body.includes('\0')).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('finds the same references inside any nesting of wrappers', () => {
  const events = fc.constantFrom(
    'sms-received.txt',
    'sms-group.txt',
    'call-ended.txt',
    'call-ringing.txt',
    'transcript.txt',
  );
  fc.assert(
    fc.property(events, wrappers, (file, nesting) => {
      const pathType = file.startsWith('sms') ? 'AccountSMS' : 'AccountEndedCalls';
      const wrapped = nesting.reduce(wrap, String(fixture(file)));
      expect(received(wrapped, pathType).references).toEqual(received(fixture(file), pathType).references);
    }),
  );
});

test('call ids survive byte for byte, bare or quoted, as JSON or as a form', () => {
  fc.assert(
    fc.property(callIds, wrappers, (callId, nesting) => {
      const references = [{ kind: 'call', callId, why: 'ended' }];
      const bare = nesting.reduce(wrap, `{"callId":${callId}}`);
      const quoted = nesting.reduce(wrap, `{"callId":"${callId}"}`);
      expect(received(bare, 'AccountEndedCalls').references).toEqual(references);
      expect(received(quoted, 'AccountEndedCalls').references).toEqual(references);
      expect(received(`call_id=${callId}`, 'AccountEndedCalls').references).toEqual(references);
      expect(received(received(bare, 'AccountEndedCalls').body, 'AccountEndedCalls').references).toEqual(references);
    }),
  );
});

test('no secret value is kept, wherever and however it is written', () => {
  const secret = fc.stringMatching(/^hush[A-Za-z0-9 &=%"'\\{}[\],:/+é]{0,12}x$/);
  const keys = 'secret Secret api_key media recordingUrl accessToken X-Password authorization';
  const key = fc.constantFrom(...keys.split(' '));
  const write = fc.constantFrom(...Object.values(writings));
  fc.assert(
    fc.property(key, secret, wrappers, write, (name, value, nesting, writing) => {
      const { body } = received(writing(name, value, nesting), 'AccountEndedCalls');
      expect(body).toContain('1783385492.1');
      expect(body).not.toMatch(/hush/i);
    }),
    { numRuns: 1_000 },
  );
});

test('the words of a message are kept as they are', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (message) => {
      fc.pre(!message.includes('\0'));
      const { body } = received(
        JSON.stringify({ fromNumber: '18455008085', toNumber: '18457511133', message }),
        'AccountSMS',
      );
      expect(JSON.parse(body)).toMatchObject({ message });
    }),
  );
});

const mebibyte = 1_048_576;
const texts = `${'{"from":"12345","to":"12346"},'.repeat(20_000)}0`;
const calls = `${'{"callId":"1783385492.1"},'.repeat(20_000)}0`;

test.each([
  ['a million brackets', '['.repeat(mebibyte / 2) + ']'.repeat(mebibyte / 2)],
  ['a million open brackets', '['.repeat(mebibyte)],
  [
    'a deep object with a bare call id',
    `${'{"data":'.repeat(100_000)}{"callId":1783385492.057900}${'}'.repeat(100_000)}`,
  ],
  ['half a million numbers', `[${'0,'.repeat(mebibyte / 2 - 2)}0]`],
  ['a hundred thousand objects', `[${'{"id":1},'.repeat(100_000)}{}]`],
  [
    'a hundred thousand keys',
    JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]))),
  ],
  ['a form of half a million pairs', 'a&'.repeat(mebibyte / 2)],
  ['a key of a million letters', `{"${'k'.repeat(mebibyte)}":1}`],
  ['a secret of a million escapes', `{"secret":"${'\\"'.repeat(mebibyte / 2)}`],
  ['a million secrets', 'secret=\\"'.repeat(mebibyte / 9)],
  ['a million names of secrets', 'secret'.repeat(mebibyte / 6)],
  ['a million digits', '1'.repeat(mebibyte)],
  [
    'a message to fifty thousand',
    JSON.stringify({ from: '1', to: Array.from({ length: 50_000 }, (_, at) => `${18_000_000_000 + at}`) }),
  ],
  [
    'fifty thousand call ids',
    JSON.stringify({ callIds: Array.from({ length: 50_000 }, (_, at) => `1783385492.${at}`) }),
  ],
  [
    'a list of call ids above each of many events',
    `{"callIds":[${'"1.1",'.repeat(80_000)}0],"events":[${'{"id":1},'.repeat(60_000)}0]}`,
  ],
  [
    'a line of many numbers above each of many events',
    `{"line":["${'1,'.repeat(200_000)}"],"events":[${'{"id":1},'.repeat(60_000)}0]}`,
  ],
  ['an endless direction above each of many texts', `{"direction":"${' '.repeat(400_000)}","events":[${texts}]}`],
  ['an endless status above each of many calls', `{"status":"${' '.repeat(400_000)}","events":[${calls}]}`],
  ['lines that begin like JSON', '{}\n'.repeat(mebibyte / 3)],
  ['line breaks after an object', `{}${'\n'.repeat(mebibyte)}x`],
  ['a quarter of a million texts that begin like JSON', `{"data":[${'"{",'.repeat(250_000)}0]}`],
  ['as many under an unknown key', `{"unknown":[${'"[",'.repeat(250_000)}0]}`],
  ['unknown objects', `{"a":[${'{"b":{"c":{"d":1}}},'.repeat(50_000)}0]}`],
  ['a form that repeats one key', 'a=1&'.repeat(90_000)],
  [
    'groups of sixty-four',
    `[${`{"to":[${Array.from({ length: 64 }, (_, at) => 18_000_000_000 + at)}]},`.repeat(1_300)}0]`,
  ],
])('survives %s without a long pause', (_fact, body) => {
  expect(busyMs(() => received(body, 'AccountSMS'))).toBeLessThan(2_500);
});

function wrap(inner: string, wrapper: string): string {
  if (wrapper === '[]') return `[${inner}]`;
  return wrapper === 'text' ? JSON.stringify({ payload: inner }) : `{"${wrapper}":${inner}}`;
}

const callId = '1783385492.1';
const writings: Record<string, (name: string, value: string, nesting: string[]) => string> = {
  json: (name, value, nesting) => nesting.reduce(wrap, JSON.stringify({ [name]: value, callId })),
  list: (name, value) => JSON.stringify({ callId, deep: { er: [{ [name]: [{ any: value }] }] } }),
  form: (name, value) => `callId=${callId}&${name}=${encodeURIComponent(value)}`,
  jsonInUnknownText: (name, value) => JSON.stringify({ callId, raw: JSON.stringify({ [name]: value }) }),
};
