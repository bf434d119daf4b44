import { Registry } from '@prometheus-io/client';
import { expect, test } from 'vitest';
import { allChecks } from '../../src/checks/checks.ts';
import { createGauges } from '../../src/checks/gauges.ts';
import { createMetrics } from '../../src/shared/metrics.ts';
import { fill, migrated, openReceiver, settingsFor } from '../server/receiver.ts';
import { databaseForTest } from '../stores/databases.ts';

const shared = new Registry();
createGauges(shared, () => Promise.reject(new Error('only the names are needed')));
const own = createMetrics().registry;

/** The series of a page that all processes share: names, labels, and values where time does not change them. */
function sharedSeries(page: string): string[] {
  const names = new Set(shared.getMetricsAsArray().map(({ name }) => name));
  return page
    .split('\n')
    .filter((line) => names.has(/^\w+/.exec(line)?.[0] ?? ''))
    .map((line) => (line.includes('_seconds') ? line.replace(/ \S+$/, '') : line));
}

test('shared gauges are the same from every web', async () => {
  const databaseUrl = await databaseForTest(migrated);
  await using first = await openReceiver(settingsFor(databaseUrl));
  await using second = await openReceiver(settingsFor(databaseUrl));
  await fill(first.context.database.db);
  // What one of them has seen by itself.
  await first.get('/hooks/none/none');
  first.context.metrics.deliveryRefused('unavailable');
  const [one = '', two = ''] = await Promise.all(
    [first, second].map(async ({ get }) => (await get('/metrics')).text()),
  );
  expect(sharedSeries(one)).toEqual(sharedSeries(two));
  expect(sharedSeries(one).length).toBeGreaterThan(60);
  for (const page of [one, two]) expect(page).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m);
});

/** The names of its metrics, with their labels. */
function namesIn(registry: Registry): string {
  const names = registry.getMetricsAsArray().flatMap((metric) => {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: string[] };
    const labels = labelNames.length > 0 ? `{${labelNames.join(',')}}` : '';
    return name.startsWith('trunkline_') ? [`\`${name}${labels}\``] : [];
  });
  return names.sort().join(', ');
}

test('docs/metrics.md lists them all, and the health checks', async () => {
  const page = `# Metrics

\`/metrics\` of each \`web\`, and of a \`worker\` with \`WORKER_PORT\`, for Prometheus. Every scrape needs the admin token:

\`\`\`yaml
scrape_configs:
  - job_name: trunkline
    authorization:
      credentials_file: /etc/prometheus/trunkline-admin-token # ADMIN_TOKEN, or .data/admin-token where start made it
    static_configs:
      - targets: ['127.0.0.1:3000']
\`\`\`

\`curl -H "authorization: Bearer $ADMIN_TOKEN" http://127.0.0.1:3000/metrics | grep '^# HELP trunkline'\` prints what each metric means.
\`config/prometheus\` has alert rules. This page is generated: \`npm test -- test/checks/metrics.all.test.ts -u\`.

## State that all processes share

Gauges, read from the database and the queues at each scrape. Every process shows the same, so don't add them up: take
\`max without (instance)\`. While Postgres is away they keep their last values, and \`trunkline_database_up\` is 0.

${namesIn(shared)}.

## Of one process

Counters begin at 0 with each start: \`sum(rate(…))\`. Node's own metrics are here too: memory, CPU, and
\`nodejs_eventloop_lag_p99_seconds\`, sampled ten times a second.

${namesIn(own)}.

## Health checks

\`trunkline_health_check{check}\` is 0 when the check finds nothing, 1 for a notice, 2 for a warning, 3 for a problem. The checks:
${Object.keys(allChecks)
  .map((id) => `\`${id}\``)
  .join(', ')}.
`;
  await expect(page).toMatchFileSnapshot('../../docs/metrics.md');
});
