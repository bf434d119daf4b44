import { expect, test } from 'vitest';
import type { EventType } from '../../src/shared/event-types.ts';
import type { Reference } from '../../src/webhooks/references.ts';
import { received } from './fixtures.ts';
import { call, customer, ended, ours, ringing, stranger, thread } from './references.ts';

const json = (value: unknown) => JSON.stringify(value);
const text7: Reference = { kind: 'message', messageId: '7' };
const seen = { callId: ended, status: 'missed' };

test.each<[string, EventType, string, Reference[]]>([
  ['a call by its name alone', 'AccountEndedCalls', json({ call: ended }), [call(ended, 'ended')]],
  ['the punctuated key of a bare id', 'AccountEndedCalls', `{"call-id":${ringing}}`, [call(ringing, 'ended')]],
  ['the punctuated key of a bare unique id', 'AccountEndedCalls', `{"unique_id":${ringing}}`, [call(ringing, 'ended')]],
  ['JSON in a JSON text in a list', 'AccountEndedCalls', json([json(seen)]), [call(ended, 'ended')]],
  ['JSON after a byte order mark and blanks', 'AccountEndedCalls', `\ufeff\r\n ${json(seen)}`, [call(ended, 'ended')]],
  ['a form after a byte order mark', 'AccountEndedCalls', `\ufeffcallId=${ended}`, [call(ended, 'ended')]],
  ...['', ' ', 'unknown', null, []].map((none): [string, EventType, string, Reference[]] => [
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
])('finds an event in %s', (_fact, path, body, references) => {
  const facts = received(body, path);
  expect(facts.references).toEqual(references);
  expect(received(facts.body, path).references).toEqual(references);
});

test.each<[string, EventType, unknown, Reference[]]>([
  ['what surrounds a receipt', 'AccountSMS', { id: 7, line: ours, account: { id: 3, number: stranger } }, [text7]],
  ['an unknown wrapper', 'AccountSMS', { a: { line: ours, b: { id: 3, number: stranger } } }, []],
  ['one number', 'AccountSMS', { id: 7, user: { id: 3, from: stranger } }, [text7]],
  ['the id in an unknown wrapper', 'AccountSMS', { carrier: { id: 3 } }, []],
  ['two numbers where calls are told', 'AccountEndedCalls', { meta: { from: customer, to: ours } }, []],
  ['what a person wrote', 'AccountEndedCalls', { text: json(seen), note: { message: json(seen) } }, []],
  ['what is not kept', 'AccountEndedCalls', { media: seen, token: json(seen) }, []],
])('makes no event of %s', (_fact, path, event, references) => {
  expect(received(json(event), path).references).toEqual(references);
});
