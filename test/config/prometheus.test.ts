import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { allChecks } from '../../src/checks/checks.ts';
import { migrated, openReceiver, settingsFor } from '../server/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';
import { readConfig } from './queries.ts';

const world = await openReceiver(settingsFor(await databaseForTest(migrated)));
afterAll(() => world[Symbol.asyncDispose]());

const rulesFile = 'prometheus/trunkline.rules.yaml';

const rules: { alert: string; expr: string; annotations: object }[] = parse(readConfig(rulesFile)).groups[0].rules;
const dashboard: {
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly w: number };
    readonly targets: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
  }[];
} = JSON.parse(readConfig('grafana/dashboards/trunkline-operations.json'));

const queries = [
  ...rules.map(({ alert, expr }) => ({ what: `the rule ${alert}`, expr })),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ what: `“${title}”`, expr }))),
];

describe('a query', () => {
  test.each(queries)('of $what asks for metrics and labels that exist', async ({ expr }) => {
    const metrics = await (await world.get('/metrics')).text();
    const asked = [...expr.matchAll(/\b(trunkline_\w+?)(?:_bucket|_count|_sum)?\b(?=[^\w]|$)/g)].map(
      ([, name]) => name,
    );
    expect(asked.length).toBeGreaterThan(0);
    for (const name of asked) expect(metrics).toMatch(new RegExp(`^# TYPE ${name} `, 'm'));
    for (const [, check] of expr.matchAll(/check!?="(\w+)"/g)) expect(Object.keys(allChecks)).toContain(check);
  });
});

test('the dashboard asks the data source that is provisioned, and fits its 24 columns', () => {
  const { datasources } = parse(readConfig('grafana/provisioning/datasources/trunkline.yaml'));
  const asked = new Set(dashboard.panels.flatMap(({ targets }) => targets.map(({ datasource }) => datasource.uid)));
  expect([...asked]).toEqual([datasources[1].uid]);
  expect(dashboard.panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
});

const promtool = promisify(execFile);
const hasPromtool = await promtool('promtool', ['--version']).then(
  () => true,
  () => false,
);

test.runIf(hasPromtool)('promtool takes the rules', async () => {
  const file = fileURLToPath(new URL(`../../config/${rulesFile}`, import.meta.url));
  const { stdout } = await promtool('promtool', ['check', 'rules', file]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});
