import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../src/shared/json.ts';
import { busyMs } from '../busy.ts';

/** What is written, and what is read as JSON has it. */
const answers = `
  a bare call id as written           | {"callId":1783385492.057900}                    | {"callId":"1783385492.057900"}
  under every spelling                | {"CALL_ID":1.10,"UniqueId":2.20}                | {"CALL_ID":"1.10","UniqueId":"2.20"}
  under every punctuation             | {"call-id":17.50,"Unique_ID" : 1.20}            | {"call-id":"17.50","Unique_ID":"1.20"}
  with blanks and dots in its key     | {"called back":1.30,"bridged.from.call-id":1.40} | {"called back":"1.30","bridged.from.call-id":"1.40"}
  the key of a list                   | {"CallIDs":1.60}                                | {"CallIDs":"1.60"}
  a call as written                   | {"call":1783385492.10}                          | {"call":"1783385492.10"}
  the price of a call as a number     | {"call":1.50,"callIdle":1.50}                   | {"call":1.5,"callIdle":1.5}
  a call id deep inside               | {"data":[{"legs":[{"bridgedFromCallId": 17.50}]}]} | {"data":[{"legs":[{"bridgedFromCallId":"17.50"}]}]}
  call ids in arrays                  | {"callIds":[1783385492.0570, 1783385493.10]}    | {"callIds":["1783385492.0570","1783385493.10"]}
  the call that returned a call       | {"calledBack" :\t1783385492.10}                 | {"calledBack":"1783385492.10"}
  a long integer                      | {"id":9007199254740993,"n":[-90071992547409931]} | {"id":"9007199254740993","n":["-90071992547409931"]}
  the largest safe integer a number   | [9007199254740991]                              | [9007199254740991]
  an ordinary id a number             | {"id":110167431}                                | {"id":110167431}
  amounts and seconds numbers         | {"price":0.0075,"end":12.50,"at":[1.5]}         | {"price":0.0075,"end":12.5,"at":[1.5]}
  what stands in a string             | {"a":"\\"callId\\":1.10, 12345678901234567"}    | {"a":"\\"callId\\":1.10, 12345678901234567"}
  no byte order mark                  | \ufeff{"a":1}                                   | {"a":1}`;

test.each(
  answers
    .trim()
    .split('\n')
    .map((row) => row.split(' | ')),
)('keeps %s', (_, written = '', read = '') => {
  expect(parseJson(written.trimEnd())).toEqual(JSON.parse(read));
});

test('throws what JSON.parse throws', () => {
  expect(() => parseJson('{"callId":1.')).toThrow(SyntaxError);
  expect(() => parseJson('')).toThrow(SyntaxError);
});

test.each([
  ['blanks', `{"id":${' '.repeat(1_048_576)}1.5}`],
  ['amounts', `{${'"a":1.5,'.repeat(131_072)}"a":1}`],
  ['keys without an end', '"id":'.repeat(209_715)],
  ['an endless key', `{"${'-'.repeat(1_048_576)}id":1.5}`],
])('takes time in proportion to a mebibyte of %s', (_fact, json) => {
  const parsing = () => {
    try {
      parseJson(json);
    } catch {}
  };
  expect(busyMs(parsing)).toBeLessThan(2_000);
});

test('equals JSON.parse where no identifier is at stake', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (json) => {
      fc.pre(!/\d{16}|\d{9}\.\d|"[^"]*(id|back|call)[^"]*"/i.test(json));
      expect(parseJson(json)).toEqual(JSON.parse(json));
    }),
  );
});

test('a number elsewhere is the same with and without an identifier beside it', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), (value) => {
      const parsed = parseJson(`{"callId":1783385492.057900,"price":${JSON.stringify(value)}}`);
      expect(parsed).toEqual({ callId: '1783385492.057900', price: JSON.parse(JSON.stringify(value)) });
    }),
  );
});
