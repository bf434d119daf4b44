import { expect, test } from 'vitest';
import type { EventType } from '../../src/event-types.ts';
import type { Hint } from '../../src/events/hint.ts';
import { received } from './fixtures.ts';
import { call, customer, ended, friend, group, ours, ringing, stranger, thread } from './hints.ts';

const json = (value: unknown) => JSON.stringify(value);
const text7: Hint = { kind: 'message', messageId: '7' };
const text900: Hint = { kind: 'message', messageId: '900' };
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
  ...['group', 'conversation', 'thread'].map((key): [string, EventType, string, Hint[]] => [
    `a group whose participants stand in its ${key}`,
    'AccountSMS',
    json({ id: 5, from: friend, to: ours, [key]: { id: 3, Participants: [{ number: customer }, { number: friend }] } }),
    [group(ours, [customer, friend], '5')],
  ]),
  [
    'a group whose participants stand around its texts',
    'AccountSMS',
    json({ groupParticipants: [customer, friend], messages: [{ id: 5, from: friend, to: ours, record: { id: 3 } }] }),
    [group(ours, [customer, friend], '5')],
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
