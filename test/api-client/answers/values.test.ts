import { expect, test } from 'vitest';
import { readAnswer } from '../../../src/api-client/answers/envelope.ts';
import { requiredRows } from '../../../src/api-client/answers/fields.ts';
import { type Field, type Report, UnreadableData } from '../../../src/api-client/answers/values.ts';
import { user } from '../../../src/api-client/entities/account-schemas.ts';
import { callSummary, recording } from '../../../src/api-client/entities/call-schemas.ts';
import { line, message } from '../../../src/api-client/entities/text-schemas.ts';
import { type Json, type Row, readRow, typed } from '../row.ts';

const ignored: Report = () => undefined;

test.each<[string, Field<Row>, Json, Json]>([
  ['a number for text', user, { id: 1, mobile: 18455008085 }, { id: 1 }],
  ['text for an id', message, { id: '110167431', sentBy: '5' }, { id: 110167431, sentBy: 5 }],
  ['text for a count', callSummary, { id: '1783385492.1', repeated: '1' }, { id: '1783385492.1' }],
  ['a word for a flag', message, { id: 1, read: 'true' }, { id: 1 }],
  ['a fraction for a count', callSummary, { id: '1783385492.1', repeated: 1.5 }, { id: '1783385492.1' }],
  ['a count beyond four bytes', callSummary, { id: '1783385492.1', repeated: 2 ** 31 }, { id: '1783385492.1' }],
  ['a new word', callSummary, { id: '1783385492.1', status: 'parked' }, { id: '1783385492.1', status: 'parked' }],
  ['an empty reference', callSummary, { id: '1783385492.1', calledBack: '' }, { id: '1783385492.1' }],
  ['a call id of another shape', callSummary, { id: 'c-1' }, { id: 'c-1' }],
  ['a list that would lose an element', line, { number: '1', userIds: [1, 'x'] }, { number: '1' }],
])('%s is noted, and read where nothing is lost', (_, entity, came, expected) => {
  const { row, differences } = readRow(entity, came);
  expect(typed(row)).toEqual(expected);
  expect(differences.length).toBeGreaterThan(0);
});

test('a bare call id keeps every digit', () => {
  const text = '{"data":[{"id":1783385492.057900,"calledBack":1783385999.10}]}';
  const [call] = readAnswer(text, (rows, report) => requiredRows(rows, callSummary, report, 'calls'), ignored);
  expect(call).toMatchObject({ id: '1783385492.057900', calledBack: '1783385999.10' });
});

test.each([
  ['9007199254740991', 9007199254740991],
  ['9007199254740993', '9007199254740993'],
  ['9223372036854775807', '9223372036854775807'],
  ['"1234567890123456"', 1234567890123456],
])('the message id %s keeps every digit', (written, expected) => {
  const read = (rows: unknown, report: Report) => requiredRows(rows, message, report, 'messages');
  const messages = readAnswer(`{"data":[{"id":${written}}]}`, read, ignored);
  expect(messages.map(({ id }) => id)).toEqual([expected]);
});

test('a message id that no column holds is none', () => {
  expect(() => readRow(message, { id: '9223372036854775808' })).toThrow(UnreadableData);
});

test.each([
  ['in', 'in'],
  ['out', 'out'],
  ['inbound', undefined],
])('a message going %s is read as %s', (word, expected) => {
  expect(readRow(message, { id: 1, direction: word }).row?.direction).toBe(expected);
});

test.each([
  ['2026-04-21T18:47:50Z', true],
  ['2026-04-21t18:47:50.123456z', true],
  ['2026-04-21T18:47:50-04:00', true],
  ['2024-02-29T00:00:00Z', true],
  ['2026-02-29T00:00:00Z', false],
  ['2026-04-31T00:00:00Z', false],
  ['2026-13-01T00:00:00Z', false],
  ['2026-04-21T24:00:00Z', false],
  ['2026-04-21T18:47:50', false],
  ['2026-04-21T18:47:50+23:59', false],
  ['2026-04-21', false],
  ['0001-01-01T00:00:00Z', false],
  ['', false],
  ['yesterday', false],
])('%j is an instant: %s', (text, isInstant) => {
  const { row, differences } = readRow(recording, { uniqueId: '1783385493.1', startTime: text });
  expect(row?.startTime).toBe(isInstant ? text : undefined);
  expect(differences).toHaveLength(isInstant ? 0 : 1);
});
