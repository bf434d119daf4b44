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
  [
    'a line of JSON each',
    'AccountEndedCalls',
    `${json(seen)}\r\n\n${json({ callId: ringing })}\n`,
    [call(ended, 'ended'), call(ringing, 'ended')],
  ],
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
  const { references, body } = received(`${parts}--b--\r\n`, 'AccountEndedCalls');
  expect(references).toEqual([call(ended, 'ended')]);
  expect(body).not.toContain('hush');
});

test('of parts beyond a thousand none is read, and no secret in them is kept', () => {
  const parts = (count: number) =>
    Array.from({ length: count }, (_, at) => part(`Content-Disposition: form-data; name="calls[${at}][id]"`, ended));
  expect(received(`${parts(1_000).join('')}--b--`, 'AccountEndedCalls').references).toHaveLength(1);
  const secret = part('Content-Disposition: form-data; name="secret"', 'hush');
  const { references, body } = received(`${parts(1_000).join('')}${secret}--b--`, 'AccountEndedCalls');
  expect(references).toEqual([]);
  expect(body).not.toContain('hush');
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
