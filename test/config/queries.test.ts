import { afterAll, expect, test } from 'vitest';
import { parseReport } from '../../src/server/reports/file.ts';
import { openReceiver, settingsFor } from '../server/receiver.ts';
import { readable } from '../server/seed.ts';
import { questions } from './queries.ts';
import { seededWarehouse } from './warehouse.ts';

const warehouse = await seededWarehouse();
const pages = await openReceiver(settingsFor(warehouse.facts.url));
afterAll(async () => {
  await pages[Symbol.asyncDispose]();
  await warehouse[Symbol.asyncDispose]();
});

test('the questions are numbered, each with a title, a question and a sentence of its own', () => {
  const reports = questions.map(({ file, text }) => parseReport(file, text));
  expect(questions.map(({ file }) => file.slice(0, 3))).toEqual(
    questions.map((_, at) => `${String(at + 1).padStart(2, '0')}-`),
  );
  for (const { name, title, question, says, fault } of reports) {
    expect([fault, title === name, question === '', says.length > 0], name).toEqual([undefined, false, false, true]);
  }
  expect(new Set(reports.map(({ title }) => title)).size).toBe(questions.length);
  expect(reports.filter(({ figure }) => figure).length).toBe(6);
  const targets = reports.flatMap(({ rows }) => rows ?? []);
  expect(targets.filter((target) => !reports.some(({ name }) => name === target))).toEqual([]);
});

test.each(questions)('$file is answered to the BI role with rows, and on its page with a sentence', async (each) => {
  const { rows, fields } = await warehouse.reader.query(each.text);
  expect(rows.length).toBeGreaterThan(0);
  // A column that is NULL in every row would say that it asks for what the seed does not have.
  const hollow = fields.filter(({ name }) => rows.every((row) => row[name] === null)).map(({ name }) => name);
  expect(hollow.filter((name) => !optional.has(name))).toEqual([]);

  const answer = await pages.get(`/reports/${parseReport(each.file, each.text).name}?days=30`);
  const page = await answer.text();
  expect([answer.status, /class="problem">([^<]*)/.exec(page)?.[1]]).toEqual([200, undefined]);
  expect(/<h1>(.*)<\/h1>/.exec(page)?.[1]).toMatch(/^(?!Nothing).*\.$/);
  expect(readable(page)).not.toMatch(/undefined|NaN|\[object/);
});

/** Columns that the seed leaves unknown on purpose. */
const optional = new Set([...['caller_name', 'assigned_name', 'short_summary', 'delivery_status'], 'would_cost_usd']);
