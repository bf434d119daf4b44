import { deflateRawSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { EventType } from '../../src/shared/event-types.ts';
import { extract } from '../../src/webhooks/extract.ts';
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
  ['a form', 'form.txt', 'AccountRealTimeCalls', [call(ringing, 'live')]],
  ['a form value that is JSON', 'form-json-value.txt', 'AccountEndedCalls', [call(ringing, 'ended')]],
  ['nothing in an object without an entity', 'nothing-known.txt', 'AccountSMS', []],
  ['nothing in garbage', 'garbage.txt', 'AccountSMS', []],
  ['nothing in JSON that was cut off', 'truncated.txt', 'AccountEndedCalls', []],
];

test.each(cases)('finds %s', (_fact, file, pathType, references) => {
  const facts = received(fixture(file), pathType);
  expect(facts.references).toEqual(references);
});

test.each(cases.filter(([, , , references]) => references.length > 0))(
  'finds the same in what was kept: %s',
  (_fact, file, pathType, references) => {
    const { body, unread } = received(fixture(file), pathType);
    expect(unread).toBeUndefined();
    expect(received(body, pathType)).toMatchObject({ body, references });
  },
);

test.each(cases.filter(([, , , references]) => references.length === 0))(
  'keeps whole what it finds nothing in: %s',
  (_fact, file, pathType) => {
    expect(received(fixture(file), pathType)).toMatchObject({ body: '', unread: fixture(file) });
  },
);

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
  expect(received('', 'AccountSMS')).toEqual({
    type: 'AccountSMS',
    claimedType: undefined,
    references: [],
    isTruncated: false,
    body: '',
    unread: undefined,
  });
});

test('a call named in Latin-1 is read', () => {
  const body = Buffer.from(`{"callId":"${ended}","n":"J\u00fcrgen"}`, 'latin1');
  expect(received(body, 'AccountEndedCalls').references).toEqual([call(ended, 'ended')]);
});

const json = `{"callId":"${ended}","secret":"hush"}`;
const part = `--b\r\nContent-Disposition: form-data; name="callId"\r\n\r\n${ended}\r\n--b--\r\n`;

test.each<[string, EventType, string | Buffer]>([
  ['parts', 'AccountEndedCalls', part],
  ['lines of JSON', 'AccountEndedCalls', `${json}\n${json}\n`],
  ['a form with brackets', 'AccountEndedCalls', `data[0][callId]=${ended}`],
  ['UTF-16', 'AccountEndedCalls', Buffer.from(json, 'utf16le')],
  ['gzip that no header tells of', 'AccountEndedCalls', gzipSync(json)],
  ['raw deflate', 'AccountEndedCalls', deflateRawSync(json)],
  ['an unescaped quote', 'AccountSMS', `{"message":"said "call me"","fromNumber":"${customer}","toNumber":"${ours}"}`],
  ['a line break in a text', 'AccountEndedCalls', `{"text":"one\ntwo","callId":"${ended}"}`],
  ['addresses of SIP', 'AccountSMS', JSON.stringify({ from: `sip:${customer}@10.0.0.5`, to: `sip:${ours}@10.0.0.5` })],
  ['numbers of entities', 'AccountSMS', JSON.stringify({ from: '&#49;8455008085', to: '&#49;8457511133' })],
])('keeps %s whole for a later release', (_what, pathType, sent) => {
  expect(received(sent, pathType)).toMatchObject({ references: [], body: '', unread: Buffer.from(sent) });
});

test('our own secret is removed wherever a body repeats it', () => {
  const own = 'own-secret-of-the-address';
  const text = `{"callId":"${ended}","message":"see /hooks/${own}/AccountSMS","path":"${own}"}`;
  const raw = { pathType: 'AccountEndedCalls', query: '', body: Buffer.from(text), ownSecrets: [own] };
  const { body } = extract(raw, isOurLine);
  expect(body).toContain(ended);
  expect(body).not.toContain(own);
});

test('a form cannot reach a prototype', () => {
  expect(received(fixture('form.txt'), 'AccountRealTimeCalls').references).toHaveLength(1);
  expect({}).not.toHaveProperty('polluted');
});

test('an event more than six wrappers deep is not looked for', () => {
  const at = (depth: number): string => '{"data":'.repeat(depth) + fixture('call-ended.txt') + '}'.repeat(depth);
  expect(received(at(6), 'AccountEndedCalls').references).toEqual([call(ended, 'ended')]);
  expect(received(at(7), 'AccountEndedCalls').references).toEqual([]);
});
