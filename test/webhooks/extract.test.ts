import { deflateRawSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type EventType, eventTypeOf } from '../../src/shared/event-types.ts';
import { extract, maxReferences } from '../../src/webhooks/extract.ts';
import { fixture, fixtureNames, isOurLine, received } from './fixtures.ts';
import { between, customer, ended, ours, ringing, shown, stranger } from './references.ts';

/** What is found in a body that came to the path of a type, as `shown` writes it. */
const cases = `
  a text received                                   | sms-received                      | AccountSMS             | ours/customer #110167431
  a text sent with media                            | sms-sent-media                    | AccountSMS             | ours/customer #110167432
  a group text                                      | sms-group                         | AccountSMS             | ours/customer+friend #110167440
  a group text to a listed text                     | sms-group-list                    | AccountSMS             | ours/customer+friend #110167441
  a text between two of our lines, in both threads  | sms-between-our-lines             | AccountSMS             | ours/ourOther #110167450, ourOther/ours #110167450
  a line that only the direction tells              | sms-unknown-line-received         | AccountSMS             | stranger/customer #110167451
  the same of a text sent                           | sms-unknown-line-sent             | AccountSMS             | stranger/customer #110167452
  both readings where nothing tells the line        | sms-unknown-line-no-direction     | AccountSMS             | stranger/customer #110167453, customer/stranger #110167453
  an explicit line and its number                   | sms-explicit-line                 | AccountSMS             | stranger/customer #110167454
  a message that is an object                       | sms-message-object                |                        | ours/customer #110167455
  a batch, repeats merged                           | sms-batch                         | AccountSMS             | ours/customer #1, ours/customer #2
  a conversation as the API names it                | sms-conversation                  | AccountSMS             | ours/customer
  the text that a receipt names                     | sms-receipt                       | AccountSMS             | #110167431
  an ended call                                     | call-ended                        | AccountEndedCalls      | ended (ended)
  an ended outgoing call                            | call-ended-outgoing               | AccountEndedCalls      | 1783386669.2 (ended)
  a user's ended call                               | call-ended                        | UserEndedCalls         | ended (ended)
  a bare call id with its trailing zeros            | call-ended-bare-id                | AccountEndedCalls      | ringing (ended)
  a ringing call by its call id, not its leg        | call-ringing                      | AccountRealTimeCalls   | ringing (live)
  a ringing call without any type                   | call-ringing                      |                        | ringing (live)
  a real-time call that ended                       | call-real-time-ended              | AccountRealTimeCalls   | ringing (ended)
  a call id as call.id                              | call-nested-id                    | AccountRealTimeCalls   | ringing (live)
  a wrapper that holds JSON as text                 | call-wrapped-text                 | AccountEndedCalls      | ringing (ended)
  every call of a nested batch once                 | call-batch                        | AccountEndedCalls      | ringing (ended), 1783385493.1 (ended), 1783385494.20 (ended)
  a transcript                                      | transcript                        | AccountAITranscription | ended (transcript)
  a transcript, whose leg is not its call           | transcript-wrapped                |                        | ended (transcript)
  a transcript's audio file as the last resort      | transcript-recording-only         | AccountAITranscription | 1783386669.222222 (transcript)
  no conversation out of a transcript               | transcript-without-call           | AccountAITranscription |
  a call that came to the path for texts            | contradicting-type                | AccountSMS             | ended (live)
  a text that came to the path for calls            | sms-received                      | AccountEndedCalls      | ours/customer #110167431
  no event in prototype keys                        | prototype-keys                    | AccountEndedCalls      | ended (ended)
  a byte order mark                                 | byte-order-mark                   |                        | ended (ended)
  a form                                            | form                              | AccountRealTimeCalls   | ringing (live)
  a form value that is JSON                         | form-json-value                   | AccountEndedCalls      | ringing (ended)
  nothing in an object without an entity            | nothing-known                     | AccountSMS             |
  nothing in garbage                                | garbage                           | AccountSMS             |
  nothing in JSON that was cut off                  | truncated                         | AccountEndedCalls      |`
  .trim()
  .split('\n')
  .map((line) => {
    const [fact = '', file = '', type = '', expected = ''] = line.split('|').map((cell) => cell.trim());
    return [fact, `${file}.txt`, eventTypeOf(type), expected] as const;
  });

test.each(cases)('finds %s', (_fact, file, pathType, expected) => {
  const { references, body, unread } = received(fixture(file), pathType);
  expect(shown(references)).toBe(expected);
  if (expected === '') expect([body, unread], 'it is kept whole').toEqual(['', fixture(file)]);
  else {
    expect(unread).toBeUndefined();
    expect(received(body, pathType), 'the same in what was kept').toMatchObject({ body, references });
  }
});

test('has a case for every fixture', () => {
  expect(new Set(cases.map(([, file]) => file))).toEqual(new Set(fixtureNames));
});

test.each(fixtureNames)('keeps no secret of %s', (file) => {
  const { body } = received(fixture(file));
  expect(body).not.toMatch(/hush|<echo>|https:\/\/media|\0/);
});

test('the path decides the type, and the body is heard beside it', () => {
  const contradicting = fixture('contradicting-type.txt');
  expect(received(contradicting, 'Account-SMS')).toMatchObject({
    ...{ type: 'AccountSMS', claimedType: 'AccountRealTimeCalls' },
  });
  const facts = received(contradicting, 'something-else');
  expect([facts.type, shown(facts.references)], 'the path names none').toEqual([
    'AccountRealTimeCalls',
    'ended (live)',
  ]);
});

test('a batch may mix types where the path names none', () => {
  const batch = ['sms-received', 'call-ended', 'contradicting-type'].map((name) => fixture(`${name}.txt`));
  expect(shown(received(`[${batch}]`).references)).toBe('ours/customer #110167431, ended (ended), ended (live)');
});

test('a request without a body is its query, and a body makes the query irrelevant', () => {
  const query = 'callId=1783385492.057900&status=ringing&secret=hush';
  const facts = extract({ pathType: 'AccountRealTimeCalls', query, body: Buffer.alloc(0) }, isOurLine);
  expect(shown(facts.references)).toBe('ringing (live)');
  expect(JSON.parse(facts.body)).toEqual({ callId: ringing, status: 'ringing', secret: '[redacted]' });
  const body = fixture('sms-received.txt');
  expect(extract({ pathType: 'AccountSMS', query, body }, isOurLine)).toEqual(received(body, 'AccountSMS'));
});

test('an empty request is kept as nothing', () => {
  expect(received('', 'AccountSMS')).toEqual({
    ...{ type: 'AccountSMS', claimedType: undefined, references: [], isTruncated: false, body: '', unread: undefined },
  });
});

const json = JSON.stringify;
const secret = `{"callId":"${ended}","secret":"hush"}`;
const seen = { callId: ended, status: 'missed' };

test.each<[string, EventType, string | Buffer, string]>([
  [
    'a call that is named in Latin-1',
    'AccountEndedCalls',
    Buffer.from(`{"callId":"${ended}","n":"J\u00fcrgen"}`, 'latin1'),
    'ended (ended)',
  ],
  ['no text of the id of something else', 'AccountEndedCalls', '{"id":110167431}', ''],
  ['no text of an id that no database can hold', 'AccountSMS', '{"id":"9999999999999999999","status":"sent"}', ''],
  [
    'nothing in parts',
    'AccountEndedCalls',
    `--b\r\nContent-Disposition: form-data; name="callId"\r\n\r\n${ended}\r\n--b--\r\n`,
    '',
  ],
  ['nothing in lines of JSON', 'AccountEndedCalls', `${secret}\n${secret}\n`, ''],
  ['nothing in a form with brackets', 'AccountEndedCalls', `data[0][callId]=${ended}`, ''],
  ['nothing in UTF-16', 'AccountEndedCalls', Buffer.from(secret, 'utf16le'), ''],
  ['nothing in gzip that no header tells of', 'AccountEndedCalls', gzipSync(secret), ''],
  ['nothing in raw deflate', 'AccountEndedCalls', deflateRawSync(secret), ''],
  [
    'nothing behind an unescaped quote',
    'AccountSMS',
    `{"message":"said "call me"","fromNumber":"${customer}","toNumber":"${ours}"}`,
    '',
  ],
  ['nothing behind a line break in a text', 'AccountEndedCalls', `{"text":"one\ntwo","callId":"${ended}"}`, ''],
  ['no addresses of SIP', 'AccountSMS', json({ from: `sip:${customer}@10.0.0.5`, to: `sip:${ours}@10.0.0.5` }), ''],
  ['no numbers of entities', 'AccountSMS', json({ from: '&#49;8455008085', to: '&#49;8457511133' }), ''],
  ['a call by its name alone', 'AccountEndedCalls', json({ call: ended }), 'ended (ended)'],
  ['the punctuated key of a bare id', 'AccountEndedCalls', `{"call-id":${ringing}}`, 'ringing (ended)'],
  ['the punctuated key of a bare unique id', 'AccountEndedCalls', `{"unique_id":${ringing}}`, 'ringing (ended)'],
  ['JSON in a JSON text in a list', 'AccountEndedCalls', json([json(seen)]), 'ended (ended)'],
  ['JSON after a byte order mark and blanks', 'AccountEndedCalls', `\ufeff\r\n ${json(seen)}`, 'ended (ended)'],
  ['a form after a byte order mark', 'AccountEndedCalls', `\ufeffcallId=${ended}`, 'ended (ended)'],
  ['an empty spelling beside a full one', 'AccountEndedCalls', json({ call_id: '', callId: ended }), 'ended (ended)'],
  ...['', ' ', 'unknown', null, []].map((none): [string, EventType, string, string] => [
    `a number after ${json(none)} under another name`,
    'AccountSMS',
    json({ id: 5, fromNumber: none, from: customer, to: ours }),
    'ours/customer #5',
  ]),
  [
    'a receipt, not what surrounds it',
    'AccountSMS',
    json({ id: 7, line: ours, account: { id: 3, number: stranger } }),
    '#7',
  ],
  ['nothing in an unknown wrapper', 'AccountSMS', json({ a: { line: ours, b: { id: 3, number: stranger } } }), ''],
  ['a receipt, where there is one number', 'AccountSMS', json({ id: 7, user: { id: 3, from: stranger } }), '#7'],
  ['no line in an index', 'AccountSMS', json({ id: 5, line: '102345', from: customer, to: ours }), 'ours/customer #5'],
  ['a receipt, where there is only our own number', 'AccountSMS', json({ id: 7, from: ours }), '#7'],
  ['no id in an unknown wrapper', 'AccountSMS', json({ carrier: { id: 3 } }), ''],
  ['no text where calls are told', 'AccountEndedCalls', json({ meta: { from: customer, to: ours } }), ''],
  ['nothing that a person wrote', 'AccountEndedCalls', json({ text: json(seen), note: { message: json(seen) } }), ''],
  ['nothing that is not kept', 'AccountEndedCalls', json({ media: seen, token: json(seen) }), ''],
])('finds %s', (_fact, path, sent, expected) => {
  const { references, body, unread } = received(sent, path);
  expect(shown(references)).toBe(expected);
  if (expected === '') expect([body, unread], 'it is kept whole').toEqual(['', Buffer.from(sent)]);
  else expect(shown(received(body, path).references), 'the same in what was kept').toBe(expected);
});

const calling = { webhookType: 'AccountEndedCalls', callId: ended };
const transcribed = { webhookType: 'AccountAITranscription', callId: ended };
const inEnvelope = { type: 'AccountRealTimeCalls', data: { ...between, callId: ringing, status: 'ringing' } };

test.each<[string, EventType, unknown, string]>([
  ['a call', 'AccountSMS', { ...calling, ...between }, 'ended (ended)'],
  ['a ringing call in an envelope', 'AccountSMS', inEnvelope, 'ringing (live)'],
  ['a transcript', 'AccountSMS', { ...transcribed, ...between }, 'ended (transcript)'],
  ['a transcript beside calls', 'AccountEndedCalls', transcribed, 'ended (ended), ended (transcript)'],
  ['an ended call beside transcripts', 'AccountAITranscription', calling, 'ended (transcript), ended (ended)'],
  [
    'an ended call beside live ones',
    'AccountRealTimeCalls',
    { ...calling, status: 'missed' },
    'ended (live), ended (ended)',
  ],
  [
    'a text where it names no call',
    'AccountSMS',
    { ...between, webhookType: 'AccountEndedCalls', id: 5 },
    'ours/customer #5',
  ],
  ['a text beside calls', 'AccountEndedCalls', { ...between, webhookType: 'AccountSMS', id: 5 }, 'ours/customer #5'],
  ['the id of a text, not of its event', 'AccountSMS', { ...between, id: 3, messageId: 5 }, 'ours/customer #5'],
  ['a text of which only the id is told', 'AccountSMS', { webhookType: 'AccountEndedCalls', messageId: 5 }, '#5'],
  [
    'a text and the call that it names',
    'AccountSMS',
    { ...between, id: 5, callId: ended },
    'ours/customer #5, ended (ended)',
  ],
  ['no call of a mere id of that shape', 'AccountSMS', { ...between, id: ended }, 'ours/customer'],
  ...(['AccountSMS', 'AccountEndedCalls'] as const).map((path): [string, EventType, unknown, string] => [
    'events of other types in a batch',
    path,
    [{ ...between, webhookType: 'AccountSMS', id: 5 }, calling],
    'ours/customer #5, ended (ended)',
  ]),
])('reads as it says of itself, whatever its path: %s', (_fact, path, event, expected) => {
  expect(shown(received(json(event), path).references)).toBe(expected);
});

test.each([
  ['9223372036854775807', 'ours/customer #9223372036854775807'],
  ['9223372036854775808', 'ours/customer'],
])('the id of a text is kept if a column holds it: %s', (id, expected) => {
  const event = json(between).replace('{', `{"id":${id},`);
  expect(shown(received(event, 'AccountSMS').references)).toBe(expected);
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
  const found = [6, 7].map((depth) => shown(received(at(depth), 'AccountEndedCalls').references));
  expect(found).toEqual(['ended (ended)', '']);
});

/** As many events as a mebibyte holds. */
function mebibyteOf(event: (at: number) => string): string[] {
  const events: string[] = [];
  for (let bytes = 2, at = 0; ; at += 1) {
    const next = event(at);
    bytes += next.length + 1;
    if (bytes > 1_048_576) return events;
    events.push(next);
  }
}
const nth = (at: number) => `1783385492.${at + 100_000}`;

test.each<[string, EventType, (at: number) => string]>([
  ['calls', 'AccountEndedCalls', (at) => `{"callId":"${nth(at)}"}`],
  ['calls in envelopes', 'AccountEndedCalls', (at) => `{"data":{"callId":"${nth(at)}"}}`],
  ['texts', 'AccountSMS', (at) => `{"id":${at},"from":"${18_450_000_000 + at}","to":"${ours}"}`],
  ['texts of an unknown line', 'AccountSMS', (at) => `{"line":"15550001111","number":"${18_450_000_000 + at}"}`],
  ['receipts', 'AccountSMS', (at) => `{"id":${at + 100_000}}`],
])('of a mebibyte of %s, the first count', (_fact, type, event) => {
  const events = mebibyteOf(event);
  const { references, isTruncated } = received(`[${events}]`, type);
  expect(references).toHaveLength(maxReferences);
  expect(references).toEqual(received(`[${events.slice(0, maxReferences)}]`, type).references);
  expect(isTruncated).toBe(true);
});

test('as many references as a delivery may name are taken whole, and repeats do not crowd out what follows them', () => {
  for (const count of [maxReferences, maxReferences + 1]) {
    const callIds = Array.from({ length: count }, (_, at) => nth(at % maxReferences));
    const facts = received(json({ callIds }), 'AccountEndedCalls');
    expect(facts).toMatchObject({ references: { length: maxReferences }, isTruncated: false });
  }
  const calls = Array.from({ length: 600 }, (_, at) => ({ callId: at < 599 ? ended : ringing }));
  expect(shown(received(json(calls), 'AccountEndedCalls').references)).toBe('ended (ended), ringing (ended)');
});

test('many texts that only begin like JSON do not hide the one that is', () => {
  const data = [...Array.from({ length: 5_000 }, () => '[sic]'), json({ callId: ended })];
  expect(shown(received(json({ data }), 'AccountEndedCalls').references)).toBe('ended (ended)');
});
