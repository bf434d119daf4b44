import { expect, test } from 'vitest';
import type { EventType } from '../../src/event-types.ts';
import { extract } from '../../src/events/extract.ts';
import type { CallHint, Hint } from '../../src/events/hint.ts';
import { fixture, fixtureNames, isOurLine, received } from './fixtures.ts';

const ours = '18457511133';
const ourOther = '18457511144';
const customer = '18455008085';
const friend = '18455550123';
const stranger = '18459990000';
const ended = '1783386668.111111';
const ringing = '1783385492.057900';

const json = (value: unknown) => JSON.stringify(value);
const text7: Hint = { kind: 'message', messageId: '7' };
const text900: Hint = { kind: 'message', messageId: '900' };
const between = { from: customer, to: ours, direction: 'incoming' };

const cases: [fact: string, file: string, pathType: EventType | undefined, hints: Hint[]][] = [
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

test.each(cases)('finds %s', (_fact, file, pathType, hints) => {
  const facts = received(fixture(file), pathType);
  expect(facts.hints).toEqual(hints);
});

test.each(cases)('finds the same with the wrong content type: %s', (_fact, file, pathType, hints) => {
  expect(received(fixture(file), pathType, 'text/plain').hints).toEqual(hints);
});

test.each(cases)('finds the same in what was kept: %s', (_fact, file, pathType, hints) => {
  const { body, fingerprint } = received(fixture(file), pathType);
  const again = received(body, pathType);
  expect(again.hints).toEqual(hints);
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
  expect(facts).toMatchObject({ type: 'AccountRealTimeCalls', hints: [call(ended, 'live')] });
});

test('a batch may mix types where the path names none', () => {
  const batch = `[${fixture('sms-received.txt')},${fixture('call-ended.txt')},${fixture('contradicting-type.txt')}]`;
  expect(received(batch).hints).toEqual([
    thread(ours, customer, '110167431'),
    call(ended, 'ended'),
    call(ended, 'live'),
  ]);
});

test.each<[string, EventType, object, Hint[]]>([
  ['a call', 'AccountSMS', { webhookType: 'AccountEndedCalls', ...between, callId: ended }, [call(ended, 'ended')]],
  [
    'a ringing call in an envelope',
    'AccountSMS',
    { type: 'AccountRealTimeCalls', data: { ...between, callId: ringing, status: 'ringing' } },
    [call(ringing, 'live')],
  ],
  [
    'a transcript',
    'AccountSMS',
    { webhookType: 'AccountAITranscription', ...between, callId: ended },
    [call(ended, 'transcript')],
  ],
  [
    'a transcript on the path for calls',
    'AccountEndedCalls',
    { webhookType: 'AccountAITranscription', callId: ended },
    [call(ended, 'transcript')],
  ],
  [
    'an ended call on the path for transcripts',
    'AccountAITranscription',
    { webhookType: 'AccountEndedCalls', callId: ended },
    [call(ended, 'ended')],
  ],
  [
    'an ended call on the path for live ones',
    'AccountRealTimeCalls',
    { webhookType: 'AccountEndedCalls', callId: ended, status: 'missed' },
    [call(ended, 'ended')],
  ],
  ['nothing else', 'AccountSMS', { webhookType: 'AccountEndedCalls', ...between, id: 5 }, []],
])('an event that says it is of another type than its path is read as %s', (_fact, path, event, hints) => {
  expect(received(JSON.stringify(event), path).hints).toEqual(hints);
});

test('a text that names a call points at both, and one with a mere id of that shape does not', () => {
  const text = { ...between, id: 5 };
  expect(received(JSON.stringify({ ...text, callId: ended }), 'AccountSMS').hints).toEqual([
    thread(ours, customer, '5'),
    call(ended, 'ended'),
  ]);
  expect(received(JSON.stringify({ ...between, id: ended }), 'AccountSMS').hints).toEqual([thread(ours, customer)]);
});

test('a batch on a registered path may hold events of other types', () => {
  const texts = [
    { webhookType: 'AccountSMS', ...between, id: 5 },
    { webhookType: 'AccountEndedCalls', callId: ended },
  ];
  const hints = [thread(ours, customer, '5'), call(ended, 'ended')];
  expect(received(JSON.stringify(texts), 'AccountEndedCalls').hints).toEqual(hints);
  expect(received(JSON.stringify(texts), 'AccountSMS').hints).toEqual(hints);
});

const seen = { callId: ended, status: 'missed' };
const text = { id: 900, line: ours, number: customer };
const twice = (value: unknown) => JSON.stringify(JSON.stringify(value));

test.each<[string, EventType, string, Hint[]]>([
  ['an unknown wrapper', 'AccountSMS', json({ attributes: text }), [thread(ours, customer, '900')]],
  [
    'an unknown wrapper below an envelope with an id',
    'AccountSMS',
    json({ id: 7, type: 'AccountSMS', eventData: text }),
    [thread(ours, customer, '900')],
  ],
  ...['results', 'callData', 'params', 'cdr', 'list', 'recording', 'transcripts', 'x-y'].flatMap(
    (key): [string, EventType, string, Hint[]][] => [
      [`${key} that is an object`, 'AccountEndedCalls', json({ [key]: seen }), [call(ended, 'ended')]],
      [`${key} that is a list`, 'AccountEndedCalls', json({ ok: { [key]: [seen] } }), [call(ended, 'ended')]],
      [`${key} that is JSON`, 'AccountEndedCalls', json({ [key]: json(seen) }), [call(ended, 'ended')]],
    ],
  ),
  [
    'a transcript in a list',
    'AccountAITranscription',
    json({ transcripts: [{ id: 1, callId: ended }] }),
    [call(ended, 'transcript')],
  ],
  ['a type beside its wrapper', 'AccountSMS', json({ type: 'AccountEndedCalls', cdr: seen }), [call(ended, 'ended')]],
  [
    'a call in an unknown wrapper, and not its legs',
    'AccountEndedCalls',
    json({ callData: { ...seen, cdrs: [{ callId: ringing, uniqueId: ringing }] } }),
    [call(ended, 'ended')],
  ],
  [
    'a call by its unique id in an unknown wrapper, and not its legs',
    'AccountEndedCalls',
    json({ callData: { uniqueId: ended, cdrs: [{ id: ringing }] } }),
    [call(ended, 'ended')],
  ],
  ['a call by its name alone', 'AccountEndedCalls', json({ call: ended }), [call(ended, 'ended')]],
  ['the punctuated key of a bare id', 'AccountEndedCalls', `{"call-id":${ringing}}`, [call(ringing, 'ended')]],
  ['the punctuated key of a bare unique id', 'AccountEndedCalls', `{"unique_id":${ringing}}`, [call(ringing, 'ended')]],
  ['JSON in a JSON text', 'AccountEndedCalls', twice(seen), [call(ended, 'ended')]],
  ['JSON in a JSON text in a list', 'AccountEndedCalls', json([json(seen)]), [call(ended, 'ended')]],
  ['JSON after a byte order mark and blanks', 'AccountEndedCalls', `\ufeff\r\n ${json(seen)}`, [call(ended, 'ended')]],
  ['a form after a byte order mark', 'AccountEndedCalls', `\ufeffcallId=${ended}`, [call(ended, 'ended')]],
  [
    'a line of JSON each',
    'AccountEndedCalls',
    `${json(seen)}\r\n\n${json({ callId: ringing })}\n`,
    [call(ended, 'ended'), call(ringing, 'ended')],
  ],
  [
    'numbers in objects',
    'AccountSMS',
    json({ From: { Number: customer }, To: { Number: ours }, Direction: 'Inbound', Id: 5 }),
    [thread(ours, customer, '5')],
  ],
  [
    'phones in objects',
    'AccountSMS',
    json({ from: { phone_number: customer }, to: [{ Phone: ours }], id: 5 }),
    [thread(ours, customer, '5')],
  ],
  ...['', ' ', 'unknown', null, []].map((none): [string, EventType, string, Hint[]] => [
    `a number after ${json(none)} under another name`,
    'AccountSMS',
    json({ id: 5, fromNumber: none, from: customer, to: ours }),
    [thread(ours, customer, '5')],
  ]),
  [
    'an empty spelling beside a full one',
    'AccountEndedCalls',
    json({ call_id: '', callId: ended }),
    [call(ended, 'ended')],
  ],
  ['a receipt in an unknown wrapper', 'AccountSMS', json({ id: 7, receipt: { messageId: 900 } }), [text7, text900]],
])('finds an event in %s', (_fact, path, body, hints) => {
  const facts = received(body, path);
  expect(facts.hints).toEqual(hints);
  expect(received(facts.body, path).hints).toEqual(hints);
});

const part = (head: string, value: string) => `--b\r\n${head}\r\n\r\n${value}\r\n`;
const plain = 'Content-Type: text/plain; charset=utf-8';

test.each([
  [
    'with their types first',
    part(`${plain}\r\nContent-Disposition: form-data; name=callId`, ended) +
      part(`${plain}\r\nContent-Disposition: form-data; name=secret`, 'hush'),
  ],
  [
    'after a preamble',
    `To whom --b\r\nit may concern\r\n${part('content-disposition:form-data;name="callId"', ended)}`,
  ],
  ['after blanks', `\r\n${part('Content-Disposition: form-data; name="callId"', ended)}`],
  [
    'with blanks after their boundary',
    part('Content-Disposition: form-data; name="callId"', ended).replace('--b', '--b \t'),
  ],
  [
    'with line feeds only',
    part(`${plain}\r\nContent-Disposition: form-data; name="callId"`, ended).replaceAll('\r', ''),
  ],
])('reads parts %s', (_fact, parts) => {
  const { hints, body } = received(`${parts}--b--\r\n`, 'AccountEndedCalls', 'multipart/form-data; boundary=b');
  expect(hints).toEqual([call(ended, 'ended')]);
  expect(body).not.toContain('hush');
});

test.each<[string, EventType, unknown, Hint[]]>([
  ['what surrounds a receipt', 'AccountSMS', { id: 7, line: ours, account: { id: 3, number: stranger } }, [text7]],
  ['what surrounds a stranger', 'AccountSMS', { a: { line: ours, b: { id: 3, number: stranger } } }, []],
  ['one number', 'AccountSMS', { id: 7, user: { id: 3, from: stranger } }, [text7]],
  ['the id of a stranger', 'AccountSMS', { carrier: { id: 3 } }, []],
  ['two numbers where calls are told', 'AccountEndedCalls', { meta: { from: customer, to: ours } }, []],
  ['what a person wrote', 'AccountEndedCalls', { text: json(seen), note: { message: json(seen) } }, []],
  ['what is not kept', 'AccountEndedCalls', { media: seen, token: json(seen) }, []],
])('makes no event of %s', (_fact, path, event, hints) => {
  expect(received(json(event), path).hints).toEqual(hints);
});

test('the type of an event in an unknown wrapper counts where the path names none', () => {
  const event = { attributes: { webhookType: 'AccountAITranscription', callId: ended } };
  expect(received(json(event))).toMatchObject({ type: 'AccountAITranscription', hints: [call(ended, 'transcript')] });
});

test('a request without a body is its query', () => {
  const query = '?callId=1783385492.057900&status=ringing&secret=hush';
  const facts = extract(
    { pathType: 'AccountRealTimeCalls', contentType: undefined, query, body: Buffer.alloc(0) },
    isOurLine,
  );
  expect(facts.hints).toEqual([call(ringing, 'live')]);
  expect(JSON.parse(facts.body)).toEqual({ callId: ringing, status: 'ringing', secret: '[redacted]' });
});

test('a body makes the query irrelevant', () => {
  const body = fixture('sms-received.txt');
  const facts = extract({ pathType: 'AccountSMS', contentType: undefined, query: 'secret=hush', body }, isOurLine);
  expect(facts).toEqual(received(body, 'AccountSMS'));
});

test('the id of something else is no text, and one that no database can hold is none either', () => {
  expect(received('{"id":110167431}', 'AccountEndedCalls').hints).toEqual([]);
  expect(received('{"id":110167431}').hints).toEqual([]);
  expect(received('{"id":"9999999999999999999","status":"sent"}', 'AccountSMS').hints).toEqual([]);
});

test('an empty request is kept as nothing', () => {
  expect(received('', 'AccountSMS')).toMatchObject({ type: 'AccountSMS', hints: [], body: '' });
});

test('the same event in another layout has the same fingerprint, another type or text has not', () => {
  const body = fixture('sms-received.txt');
  const { fingerprint } = received(body, 'AccountSMS');
  expect(received(JSON.stringify(JSON.parse(String(body)), null, 2), 'AccountSMS').fingerprint).toBe(fingerprint);
  expect(received(body, 'AccountEndedCalls').fingerprint).not.toBe(fingerprint);
  expect(received(String(body).replace('3rd', '4th'), 'AccountSMS').fingerprint).not.toBe(fingerprint);
});

test('a form cannot reach a prototype', () => {
  const { body } = received(fixture('form-dots.txt'));
  expect(body).not.toContain('polluted');
  expect({}).not.toHaveProperty('polluted');
});

const mebibyte = 1_048_576;
const many = (event: (at: number) => string) => {
  const events: string[] = [];
  for (let bytes = 2, at = 0; ; at += 1) {
    const next = event(at);
    bytes += next.length + 1;
    if (bytes > mebibyte) return events;
    events.push(next);
  }
};
const nth = (at: number) => `1783385492.${at + 100_000}`;

test.each<[string, EventType, (at: number) => string]>([
  ['calls', 'AccountEndedCalls', (at) => `{"callId":"${nth(at)}"}`],
  ['calls in envelopes', 'AccountEndedCalls', (at) => `{"data":{"callId":"${nth(at)}"}}`],
  ['texts', 'AccountSMS', (at) => `{"id":${at},"from":"${18_450_000_000 + at}","to":"${ours}"}`],
  ['texts of an unknown line', 'AccountSMS', (at) => `{"line":"15550001111","number":"${18_450_000_000 + at}"}`],
  ['receipts', 'AccountSMS', (at) => `{"id":${at + 100_000}}`],
])('every one of the %s in a mebibyte counts', (_fact, type, event) => {
  const events = many(event);
  expect(received(`[${events.join()}]`, type).hints).toHaveLength(events.length);
});

test('every call of a list counts, and every one of a form', () => {
  const ids = many((at) => `"${nth(at)}"`).slice(0, -1);
  expect(received(`{"callIds":[${ids.slice(1).join()}]}`, 'AccountEndedCalls').hints).toHaveLength(ids.length - 1);
  const pairs = many((at) => `calls[${at}][callId]=${nth(at)}`);
  expect(received(pairs.join('&'), 'AccountEndedCalls').hints).toHaveLength(pairs.length);
  const parts = many((at) => `--b\r\nContent-Disposition: form-data; name="calls[${at}][id]"\r\n\r\n${nth(at)}\r\n`);
  expect(received(`${parts.join('')}--b--`, 'AccountEndedCalls').hints).toHaveLength(parts.length);
});

test('a mebibyte that reads each of its numbers as a line gives no more than it could name', () => {
  const group = (at: number) => `{"to":[${Array.from({ length: 64 }, (_, n) => 19_990_000_000 + at * 64 + n).join()}]}`;
  const { hints } = received(`[${many(group).join()}]`, 'AccountSMS');
  const named = hints.reduce((sum, hint) => sum + (hint.kind === 'thread' ? hint.participants.length + 1 : 1), 0);
  expect(named).toBeGreaterThan(90_000);
  expect(named).toBeLessThan(110_000);
});

test('repeats do not crowd out what follows them', () => {
  const calls = Array.from({ length: 600 }, (_, index) => ({ callId: index < 599 ? ended : ringing }));
  const { hints } = received(JSON.stringify(calls), 'AccountEndedCalls');
  expect(hints).toEqual([call(ended, 'ended'), call(ringing, 'ended')]);
});

test('an event more than six wrappers deep is not looked for', () => {
  const at = (depth: number): string => '{"data":'.repeat(depth) + fixture('call-ended.txt') + '}'.repeat(depth);
  expect(received(at(6), 'AccountEndedCalls').hints).toEqual([call(ended, 'ended')]);
  expect(received(at(7), 'AccountEndedCalls').hints).toEqual([]);
});

function thread(line: string, number: string, messageId?: string): Hint {
  return { kind: 'thread', line, number, participants: [], ...(messageId === undefined ? {} : { messageId }) };
}

function group(line: string, participants: string[], messageId?: string): Hint {
  return { ...thread(line, participants[0] ?? '', messageId), participants } as Hint;
}

function call(callId: string, why: CallHint['why']): Hint {
  return { kind: 'call', callId, why };
}
