import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { seededWarehouse } from './warehouse.ts';

const folder = new URL('../../config/grafana/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, folder), 'utf8');

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly datasource: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets: readonly { readonly rawSql: string; readonly format: string }[];
}
const dashboard: { panels: Panel[] } = JSON.parse(read('dashboards/trunkline.json'));
const warehouse = await seededWarehouse();
afterAll(() => warehouse[Symbol.asyncDispose]());

/** As Grafana's own macros are filled in, for the last 30 days. */
function filled(sql: string): string {
  const [from, to] = [new Date(Date.now() - 30 * 86_400_000), new Date()].map((moment) => `'${moment.toISOString()}'`);
  return sql
    .replace(/\$__timeFilter\((\w+)\)/g, `$1 between ${from} and ${to}`)
    .replaceAll('$__timeFrom()', from ?? '')
    .replaceAll('$__timeTo()', to ?? '');
}

describe('the dashboard', () => {
  const asked = dashboard.panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));

  test.each(asked)('“$title” is answered to the BI role', async ({ rawSql, format }) => {
    expect(filled(rawSql)).not.toContain('$__');
    const { rows, fields } = await warehouse.reader.query(filled(rawSql));
    expect(rows.length).toBeGreaterThan(0);
    if (format === 'time_series') {
      expect(fields[0]?.name).toBe('time');
      expect(rows[0].time).toBeInstanceOf(Date);
    }
  });

  test('asks the data source that is provisioned', () => {
    const { datasources } = parse(read('provisioning/datasources/trunkline.yaml'));
    const uids = new Set(dashboard.panels.map(({ datasource }) => datasource.uid));
    expect([...uids]).toEqual([datasources[0].uid]);
    expect(datasources[0].secureJsonData.password).toMatch(/^\$/);
  });

  test('fits the 24 columns that Grafana has, with ids that stand once', () => {
    expect(dashboard.panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
