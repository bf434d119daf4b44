import { randomBytes } from 'node:crypto';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { EventType } from '../../src/shared/event-types.ts';
import { extract, isUnread } from '../../src/webhooks/extract.ts';
import type { Reference } from '../../src/webhooks/references.ts';
import { fixture, fixtureNames, isOurLine, received } from './fixtures.ts';
import { call, customer, ended, friend, group, ourOther, ours, ringing, stranger, thread } from './references.ts';

const cases: [fact: string, file: string, pathType: EventType | undefined, references: Reference[]][] = [
  ['a text received', 'sms-received.txt', 'AccountSMS', [thread(ours, customer, '110167431')]],
  ['a text sent with media', 'sms-sent-media.txt', 'AccountSMS', [thread(ours, customer, '110167432')]],
  ['a group text', 'sms-group.txt', 'AccountSMS', [group(ours, [customer, friend], '110167440')]],
  ['a group text to a listed text', 'sms-group-list.txt', 'AccountSMS', [group(ours, [customer, friend], '110167441')]],
  [
    'a text between two of our lines is in both threads',
    'sms-between-our-lines.txt',
    'AccountSMS',
    [thread(ours, ourOther, '110167450'), thread(ourOther, ours, '110167450')],
  ],
  [
    'the direction names a line we do not know yet',
    'sms-unknown-line-received.txt',
    'AccountSMS',
    [thread(stranger, customer, '110167451')],
  ],
  ['so it does for a text sent', 'sms-unknown-line-sent.txt', 'AccountSMS', [thread(stranger, customer, '110167452')]],
  [
    'both readings where nothing tells the line',
    'sms-unknown-line-no-direction.txt',
    'AccountSMS',
    [thread(stranger, customer, '110167453'), thread(customer, stranger, '110167453')],
  ],
  ['an explicit line and its number', 'sms-explicit-line.txt', 'AccountSMS', [thread(stranger, customer, '110167454')]],
  ['a message that is an object', 'sms-message-object.txt', undefined, [thread(ours, customer, '110167455')]],
  [
    'a batch, repeats merged',
    'sms-batch.txt',
    'AccountSMS',
    [thread(ours, customer, '1'), thread(ours, customer, '2')],
  ],
  ['a conversation as the API names it', 'sms-conversation.txt', 'AccountSMS', [thread(ours, customer)]],
  ['the text that a receipt names', 'sms-receipt.txt', 'AccountSMS', [{ kind: 'message', messageId: '110167431' }]],
  ['an ended call', 'call-ended.txt', 'AccountEndedCalls', [call(ended, 'ended')]],
  ['an ended outgoing call', 'call-ended-outgoing.txt', 'AccountEndedCalls', [call('1783386669.2', 'ended')]],
  ["a user's ended call", 'call-ended.txt', 'UserEndedCalls', [call(ended, 'ended')]],
  ['a bare call id with its trailing zeros', 'call-ended-bare-id.txt', 'AccountEndedCalls', [call(ringing, 'ended')]],
  ['a ringing call by its call id, not its leg', 'call-ringing.txt', 'AccountRealTimeCalls', [call(ringing, 'live')]],
  ['a ringing call without any type', 'call-ringing.txt', undefined, [call(ringing, 'live')]],
  ['a real-time call that ended', 'call-real-time-ended.txt', 'AccountRealTimeCalls', [call(ringing, 'ended')]],
  ['a call id as call.id', 'call-nested-id.txt', 'AccountRealTimeCalls', [call(ringing, 'live')]],
  ['a wrapper that holds JSON as text', 'call-wrapped-text.txt', 'AccountEndedCalls', [call(ringing, 'ended')]],
  [
    'every call of a nested batch once',
    'call-batch.txt',
    'AccountEndedCalls',
    [call(ringing, 'ended'), call('1783385493.1', 'ended'), call('1783385494.20', 'ended')],
  ],
  ['a transcript', 'transcript.txt', 'AccountAITranscription', [call(ended, 'transcript')]],
  ["a transcript's leg does not stand for its call", 'transcript-wrapped.txt', undefined, [call(ended, 'transcript')]],
  [
    "a transcript's audio file as the last resort",
    'transcript-recording-only.txt',
    'AccountAITranscription',
    [call('1783386669.222222', 'transcript')],
  ],
  ['no conversation out of a transcript', 'transcript-without-call.txt', 'AccountAITranscription', []],
  ['a call that came to the path for texts', 'contradicting-type.txt', 'AccountSMS', [call(ended, 'live')]],
  [
    'a text that came to the path for calls',
    'sms-received.txt',
    'AccountEndedCalls',
    [thread(ours, customer, '110167431')],
  ],
  ['prototype keys are no events', 'prototype-keys.txt', 'AccountEndedCalls', [call(ended, 'ended')]],
  ['a byte order mark', 'byte-order-mark.txt', undefined, [call(ended, 'ended')]],
  [
    'a form with brackets',
    'form-brackets.txt',
    'AccountSMS',
    [thread(ours, customer, '110167431'), group(ours, [customer, friend])],
  ],
  ['a form with dots', 'form-dots.txt', 'AccountRealTimeCalls', [call(ringing, 'live')]],
  ['a form value that is JSON', 'form-json-value.txt', 'AccountEndedCalls', [call(ringing, 'ended')]],
  ['nothing in an object without an entity', 'nothing-known.txt', 'AccountSMS', []],
  ['nothing in garbage', 'garbage.txt', 'AccountSMS', []],
  ['nothing in JSON that was cut off', 'truncated.txt', 'AccountEndedCalls', []],
];

test.each(cases)('finds %s', (_fact, file, pathType, references) => {
  const facts = received(fixture(file), pathType);
  expect(facts.references).toEqual(references);
});

test.each(cases)('finds the same in what was kept: %s', (_fact, file, pathType, references) => {
  const { body, fingerprint } = received(fixture(file), pathType);
  const again = received(body, pathType);
  expect(again.references).toEqual(references);
  expect(again).toMatchObject({ body, fingerprint });
});

test('has a case for every fixture', () => {
  expect(new Set(cases.map(([, file]) => file))).toEqual(new Set(fixtureNames));
});

test.each(fixtureNames)('keeps no secret of %s', (file) => {
  const { body } = received(fixture(file));
  expect(body).not.toMatch(/hush|<echo>|https:\/\/media/);
  expect(body).not.toContain('\0');
});

test('the path decides the type and the body is heard beside it', () => {
  expect(received(fixture('contradicting-type.txt'), 'Account-SMS')).toMatchObject({
    type: 'AccountSMS',
    claimedType: 'AccountRealTimeCalls',
  });
});

test('the body decides where the path names no type', () => {
  const facts = received(fixture('contradicting-type.txt'), 'something-else');
  expect(facts).toMatchObject({ type: 'AccountRealTimeCalls', references: [call(ended, 'live')] });
});

test('a batch may mix types where the path names none', () => {
  const batch = `[${fixture('sms-received.txt')},${fixture('call-ended.txt')},${fixture('contradicting-type.txt')}]`;
  expect(received(batch).references).toEqual([
    thread(ours, customer, '110167431'),
    call(ended, 'ended'),
    call(ended, 'live'),
  ]);
});

test('a request without a body is its query', () => {
  const query = 'callId=1783385492.057900&status=ringing&secret=hush';
  const facts = extract({ pathType: 'AccountRealTimeCalls', query, body: Buffer.alloc(0) }, isOurLine);
  expect(facts.references).toEqual([call(ringing, 'live')]);
  expect(JSON.parse(facts.body)).toEqual({ callId: ringing, status: 'ringing', secret: '[redacted]' });
});

test('a body makes the query irrelevant', () => {
  const body = fixture('sms-received.txt');
  const facts = extract({ pathType: 'AccountSMS', query: 'secret=hush', body }, isOurLine);
  expect(facts).toEqual(received(body, 'AccountSMS'));
});

test('the id of something else is no text, and one that no database can hold is none either', () => {
  expect(received('{"id":110167431}', 'AccountEndedCalls').references).toEqual([]);
  expect(received('{"id":110167431}').references).toEqual([]);
  expect(received('{"id":"9999999999999999999","status":"sent"}', 'AccountSMS').references).toEqual([]);
});

test('an empty request is kept as nothing', () => {
  expect(received('', 'AccountSMS')).toMatchObject({ type: 'AccountSMS', references: [], body: '' });
});

test('the same event in another layout has the same fingerprint, another type or text has not', () => {
  const body = fixture('sms-received.txt');
  const { fingerprint } = received(body, 'AccountSMS');
  expect(received(JSON.stringify(JSON.parse(String(body)), null, 2), 'AccountSMS').fingerprint).toBe(fingerprint);
  expect(received(body, 'AccountEndedCalls').fingerprint).not.toBe(fingerprint);
  expect(received(String(body).replace('3rd', '4th'), 'AccountSMS').fingerprint).not.toBe(fingerprint);
});

test.each([
  ['UTF-16', (text: string) => Buffer.from(text, 'utf16le')],
  ['UTF-16 with its mark', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ['raw deflate', deflateRawSync],
  ['deflate', deflateSync],
  ['gzip', gzipSync],
  ['Latin-1', (text: string) => Buffer.from(`${text.slice(0, -1)},"n":"J\u00fcrgen"}`, 'latin1')],
  ['a NUL at its end', (text: string) => Buffer.from(`${text}\0`)],
])('a body in %s that no header tells of is read, and keeps no secret', (_, encode) => {
  const facts = received(encode(`{"callId":"${ended}","secret":"hush"}`), 'AccountEndedCalls');
  expect(facts.references).toEqual([call(ended, 'ended')]);
  expect(facts.body).toMatch(/^\{.*"secret":"\[redacted\]"/);
});

test('a body that cannot be read is kept byte for byte, and can be parsed again', () => {
  const bytes = randomBytes(500);
  const { body, references, fingerprint } = received(bytes, 'AccountSMS');
  expect(references).toEqual([]);
  expect(isUnread(body)).toBe(true);
  expect(Buffer.from(body.slice(body.indexOf(',') + 1), 'base64')).toEqual(bytes);
  expect(received(body, 'AccountSMS')).toMatchObject({ body, fingerprint });
  // Of a release that could not open it.
  const stored = `${body.slice(0, body.indexOf(',') + 1)}${gzipSync(`{"callId":"${ended}"}`).toString('base64')}`;
  expect(received(stored, 'AccountEndedCalls')).toMatchObject({
    references: [call(ended, 'ended')],
    body: `{"callId":"${ended}"}`,
  });
});

test('a bomb that no header tells of is not opened', () => {
  const bomb = gzipSync(Buffer.from(`[${'0,'.repeat(2_000_000)}0]`));
  expect(isUnread(received(bomb, 'AccountSMS').body)).toBe(true);
});

const quoted = '"said "call me", he did"';

test.each([
  ['a line break', '"one\ntwo"'],
  ['a tab and a carriage return', '"one\t\r\ntwo"'],
  ['a backslash', String.raw`"C:\users\x and \ alone"`],
  ['a quote', quoted],
])('JSON with %s in a text still yields what it points at', (_, text) => {
  const sms = `{"id":110167431,"message":${text},"fromNumber":"18455008085","toNumber":"18457511133"}`;
  for (const body of [sms, received(sms, 'AccountSMS').body]) {
    expect(received(body, 'AccountSMS').references).toEqual([thread(ours, customer, '110167431')]);
  }
});

test('of JSON that cannot be read, no name with two values is taken', () => {
  const body = `{"a":{"callId":"${ended}"},"b":{"callId":"${ringing}"},"message":${quoted},"x":1}`;
  expect(received(body, 'AccountEndedCalls').references).toEqual([]);
});

test('our own secret is removed wherever a body repeats it', () => {
  const own = 'own-secret-of-the-address';
  for (const text of [`{"message":"see /hooks/${own}/AccountSMS","path":"${own}"}`, `broken { ${own}`]) {
    const raw = { pathType: 'AccountSMS', query: '', body: Buffer.from(text), ownSecrets: [own] };
    expect(extract(raw, isOurLine).body).not.toContain(own);
  }
});

test('a form cannot reach a prototype', () => {
  const { body } = received(fixture('form-dots.txt'));
  expect(body).not.toContain('polluted');
  expect({}).not.toHaveProperty('polluted');
});

test('an event more than six wrappers deep is not looked for', () => {
  const at = (depth: number): string => '{"data":'.repeat(depth) + fixture('call-ended.txt') + '}'.repeat(depth);
  expect(received(at(6), 'AccountEndedCalls').references).toEqual([call(ended, 'ended')]);
  expect(received(at(7), 'AccountEndedCalls').references).toEqual([]);
});
