import { types } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { dashboard, dashboardQueries, questions, readConfig } from './queries.ts';
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

describe('the dashboard', () => {
  test.each(dashboardQueries)('“$title” is answered to the BI role', async ({ text, format }) => {
    expect(text).not.toContain('$__');
    const { rows, fields } = await warehouse.reader.query(text);
    expect(rows.length).toBeGreaterThan(0);
    if (format === 'time_series') {
      expect(fields[0]?.name).toBe('time');
      expect(rows[0].time).toBeInstanceOf(Date);
    }
  });

  // Grafana shows a date as midnight UTC in the zone of the browser: west of Greenwich that is the day before.
  test.each(dashboardQueries.filter(({ format }) => format === 'table'))(
    '“$title” shows no date or local time as an instant',
    async ({ text }) => {
      const { fields } = await warehouse.reader.query(text);
      const zoneless = fields.filter(
        ({ dataTypeID }) => dataTypeID === types.builtins.DATE || dataTypeID === types.builtins.TIMESTAMP,
      );
      expect(zoneless.map(({ name }) => name)).toEqual([]);
    },
  );

  test('asks the data source that is provisioned', () => {
    const { datasources } = parse(readConfig('grafana/provisioning/datasources/trunkline.yaml'));
    const uids = new Set(dashboard.panels.map(({ datasource }) => datasource.uid));
    expect([...uids]).toEqual([datasources[0].uid]);
    expect(datasources[0].secureJsonData.password).toMatch(/^\$/);
  });

  test('fits the 24 columns that Grafana has, with ids that stand once', () => {
    expect(dashboard.panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
