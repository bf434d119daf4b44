import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { allChecks } from '../../src/ops/health-checks.ts';
import { migrated, openReceiver, settingsFor } from '../ops/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';
import { readConfig } from './queries.ts';

const world = await openReceiver(settingsFor(await databaseForTest(migrated)));
afterAll(() => world[Symbol.asyncDispose]());

const rulesFile = 'prometheus/trunkline.rules.yaml';

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: string;
  readonly summary: string;
  readonly description: string;
}

/** What no check can tell. */
const ownRules: readonly AlertRule[] = [
  {
    alert: 'trunkline_not_scraped',
    expr: 'absent(trunkline_build_info)',
    for: '2m',
    severity: 'critical',
    summary: 'No Trunkline process answers Prometheus.',
    description: 'Check that `web` runs and that Prometheus has its ADMIN_TOKEN as bearer token.',
  },
  {
    alert: 'trunkline_commits_slow',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(trunkline_delivery_commit_seconds_bucket[10m]))) > 0.5',
    for: '10m',
    severity: 'warning',
    summary: 'Storing a delivery takes more than half a second.',
    description: 'Postgres is slow or overloaded. Check its disk and its load.',
  },
];

/** The gauge of the checks does not have what only one process sees. */
const otherExpressions: Readonly<Record<string, string>> = {
  deliveries_refused: 'sum(increase(trunkline_deliveries_refused_total{reason="unavailable"}[5m])) > 0',
};

const either = '{{ if eq $value 3.0 }}critical{{ else }}warning{{ end }}';

const checkRules: readonly AlertRule[] = allChecks.flatMap(({ id, levels, meaning }) => {
  const isProblem = levels.includes('problem');
  const isWarning = levels.includes('warning');
  if (!isProblem && !isWarning) return [];
  return {
    alert: `trunkline_${id}`,
    expr: otherExpressions[id] ?? `max(trunkline_health_check{check="${id}"}) >= 2`,
    for: id in otherExpressions ? '0s' : isProblem ? '1m' : '5m',
    severity: isProblem && isWarning ? either : isProblem ? 'critical' : 'warning',
    summary: meaning,
    description: '`npx trunkline status` says what is wrong and what to do.',
  };
});

function alertRules(): string {
  const rules = [...ownRules, ...checkRules].map(
    ({ alert, expr, severity, summary, description, ...each }) => `      - alert: ${alert}
        expr: ${expr}
        for: ${each.for}
        labels: { severity: ${JSON.stringify(severity)} }
        annotations: { summary: ${JSON.stringify(summary)}, description: ${JSON.stringify(description)} }
`,
  );
  return `# Alert rules for Prometheus: name this file under \`rule_files\`. Every \`web\` reports the same shared state, so one is enough
# to scrape. The checks alert by themselves too (NOTIFY_…). Generated: \`npm test -- test/config/prometheus.test.ts -u\`.
groups:
  - name: trunkline
    rules:
${rules.join('')}`;
}

test('the alert rules have every check', async () => {
  await expect(alertRules()).toMatchFileSnapshot(`../../config/${rulesFile}`);
});

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
    for (const [, check] of expr.matchAll(/check!?="(\w+)"/g)) expect(allChecks.map(({ id }) => id)).toContain(check);
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
