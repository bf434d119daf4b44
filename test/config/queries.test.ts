import { afterAll, expect, test } from 'vitest';
import { questions } from './queries.ts';
import { seededWarehouse } from './warehouse.ts';

const warehouse = await seededWarehouse();
afterAll(() => warehouse[Symbol.asyncDispose]());

test('the questions are numbered, each with a title of its own', () => {
  const titles = questions.map(({ text }) => text.split('\n', 1)[0] ?? '');
  expect(questions.map(({ file }) => file.slice(0, 3))).toEqual(
    titles.map((_, at) => `${String(at + 1).padStart(2, '0')}-`),
  );
  expect(titles.length).toBeGreaterThanOrEqual(20);
  expect(titles.filter((title) => !/^-- .+[?)]$/.test(title))).toEqual([]);
  expect(new Set(titles).size).toBe(titles.length);
});

test.each(questions)('$file is answered to the BI role with rows', async ({ text }) => {
  const { rows, fields } = await warehouse.reader.query(text);
  expect(rows.length).toBeGreaterThan(0);
  // A column that is NULL in every row would say that it asks for what the seed does not have.
  const hollow = fields.filter(({ name }) => rows.every((row) => row[name] === null)).map(({ name }) => name);
  expect(hollow.filter((name) => !optional.has(name))).toEqual([]);
});

/** Columns that the seed leaves unknown on purpose. */
const optional = new Set([
  ...['caller_name', 'from_name', 'to_name', 'assigned_name', 'short_summary', 'delivery_status', 'holiday_name'],
  'would_cost_usd',
]);
