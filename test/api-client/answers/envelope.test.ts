import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAnswer } from '../../../src/api-client/answers/envelope.ts';
import { one, requiredRows } from '../../../src/api-client/answers/fields.ts';
import { UnreadableData } from '../../../src/api-client/answers/values.ts';
import { call, callSummary, transcript } from '../../../src/api-client/entities/call-schemas.ts';
import { line, message } from '../../../src/api-client/entities/text-schemas.ts';
import { json, listen, open, refusalOf, serve } from '../endpoint.ts';
import type { Row } from '../row.ts';

test.each([
  ['an HTML page', '<!doctype html><p>18455008085', /200: the body is a page of HTML or XML \(\d+ characters\)/],
  ['JSON that was cut off', '{"data":[{"number":"18455008085"', /broken or cut off/],
  ['an empty body', '', /the body is empty/],
  ['plain text', 'OK 18455008085', /something that is not JSON/],
  ['an array', '["18455008085"]', /array instead of \{ data \}/],
  ['JSON without data', '{"lines":["18455008085"]}', /the JSON has no `data`/],
  ['text for a list', '{"data":"none"}', /`lines` should be an array, but is text/],
  ['an object for a list', '{"data":{"number":"18455008085"}}', /`lines` should be an array, but is object/],
])('%s with status 200 is unreadable, and the error says what came without quoting it', async (_, body, expected) => {
  const { url, seen } = await listen((response) => response.end(body));
  const error = await refusalOf(open(url).lines.list());
  expect(error).toMatchObject({ code: 'unreadable', advice: 'retry', status: 200 });
  expect(error.message).toMatch(expected);
  expect(inspect(error, { showHidden: true })).not.toContain('18455008085');
  expect(seen).toHaveLength(1);
});

test('null for a list is an empty one', async () => {
  const { url } = await listen((response) => response.end('{"data":null}'));
  expect((await open(url).lines.list()).data).toEqual([]);
});

test('a call, a page of calls or a thread without its inner list or id is unreadable', async () => {
  const { url } = await serve('200 {"status":"missed"}', '200 {"total":1}', '200 {"messages":{}}');
  const { calls, conversations } = open(url);
  const pair = { line: '18457511133', number: '18455008085' };
  const reads = [() => calls.get('1.1'), () => calls.search({ start: 1, end: 2 }), () => conversations.read(pair)];
  for (const read of reads) expect(await refusalOf(read())).toMatchObject({ code: 'unreadable' });
});

test.each([
  [204, ''],
  [200, ''],
  [200, '{}'],
  [200, '{"data":null}'],
  [200, '{"data":{"deleted":true}}'],
])('%i with the body %j is the success of an operation that answers nothing', async (status, body) => {
  const { url } = await listen((response) => response.writeHead(status).end(body));
  const answer = await open(url).drafts.delete('key');
  expect(answer).toEqual({ status, data: undefined });
});

test.each([
  ['a page of HTML', '<html>18455008085</html>', /a page of HTML/],
  ['JSON that was cut off', '{"data":', /cut off/],
  ['a list', '[]', /array instead of/],
])('%s is not the success of an operation that answers nothing', async (_, body, expected) => {
  const { url } = await listen((response) => response.end(body));
  const error = await refusalOf(open(url).drafts.delete('key'));
  expect(error).toMatchObject({ code: 'unreadable', status: 200, effect: 'unknown' });
  expect(error.message).toMatch(expected);
});

test('204 where data is expected is unreadable', async () => {
  const { url } = await serve('204');
  const { lines, unread, calls } = open(url);
  for (const call of [lines.list(), unread.counts(), calls.get('1783385492.1')]) {
    const error = await refusalOf(call);
    expect(error).toMatchObject({ code: 'unreadable', status: 204 });
    expect(error.message).toContain('(204: the body is empty)');
  }
});

test('keys beside data are ignored, whatever they say', async () => {
  const beside = { next: 'abc', has_more: true, total: 3, pagination: { page: 1, pages: 2 } };
  const { url } = await listen((response) => json(response, 200, { data: [{ number: '18457511133' }], ...beside }));
  expect((await open(url).lines.list()).data).toHaveLength(1);
});

test('a difference is logged once, and a new word is shown only when it is a word', async () => {
  const statuses = ['parked', 'parked', '18455008085', 'a whole sentence of content'];
  const calls = statuses.map((status, i) => ({ id: `1783385492.${i}`, status }));
  const { url } = await serve(`200 ${JSON.stringify({ total: 4, calls })}`);
  const told: object[] = [];
  const log = { debug: () => undefined, warn: () => undefined, info: (fields: object) => told.push(fields) };
  const service = open(url, { log });
  for (let turn = 0; turn < 2; turn += 1) await service.calls.search({ start: 1, end: 2 });
  const difference = { operation: 'calls.search', what: 'unknown_value', path: 'calls[].status' };
  expect(told).toEqual([
    { ...difference, sample: 'parked' },
    { ...difference, sample: 'text' },
  ]);
});

test('whatever JSON comes, it is called unreadable or read, and its raw rows read the same again', () => {
  const keys = ['id', 'messages', 'legs', 'segments', 'delivery', 'userIds', 'startTime', 'status', '__proto__', 'x'];
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, 0, -1.5, 1.5e300, '', '1783385492.1', '2026-02-30T00:00:00Z', true, 2 ** 60),
      fc.string(),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 6 }),
    ),
  }));
  const entities = [line, message, callSummary, call, transcript] as const;
  fc.assert(
    fc.property(tree, fc.constantFrom(...entities), fc.boolean(), (data, entity, isList) => {
      const read = (came: unknown) =>
        readAnswer(
          JSON.stringify({ data: came }),
          (rows, report) =>
            isList ? requiredRows<Row>(rows, entity, report, 'rows') : [one<Row>('row', entity)(rows, report)],
          () => undefined,
        );
      try {
        const rows = read(data);
        const again = rows.flatMap(({ raw }) => read(isList ? [raw] : raw));
        expect(again).toEqual(rows);
      } catch (error) {
        expect(error).toBeInstanceOf(UnreadableData);
      }
    }),
    { numRuns: 500 },
  );
});
