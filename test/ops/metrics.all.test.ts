import { Registry } from '@prometheus-io/client';
import { afterAll, describe, expect, test } from 'vitest';
import { createGauges } from '../../src/ops/gauges.ts';
import { allChecks } from '../../src/ops/health-checks.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createMetrics } from '../../src/shared/metrics.ts';
import { trunkline } from '../credentials/commands.ts';
import { backends, redisUrlOf } from '../stores/backends.ts';
import { databaseForTest } from '../stores/databases.ts';
import { until } from '../world.ts';
import { adminToken, fill, migrated, openReceiver, settingsFor } from './receiver.ts';

const bearer = { headers: { authorization: `Bearer ${adminToken}` } };
const sandbox = await createSandbox({ calls: 2, threads: 1 });
afterAll(() => sandbox.close());

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

describe.each(backends)('a worker with queues in %s', (backend) => {
  test('answers health checks and metrics at WORKER_PORT, and stops listening when it ends', async () => {
    const databaseUrl = await databaseForTest(migrated);
    const redisUrl = redisUrlOf(backend);
    const worker = trunkline(
      {
        DATABASE_URL: databaseUrl,
        ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
        API_BASE_URL: sandbox.url,
        API_KEY: sandbox.apiKey,
        ADMIN_TOKEN: adminToken,
        WORKER_PORT: '0',
      },
      'worker',
      '--json',
    );
    await until(() => worker.out().includes('\n'), worker.err);
    const { url } = JSON.parse(worker.out()) as { url: string };
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
    const ready = await fetch(`${url}/readyz`);
    expect({ status: ready.status, ...((await ready.json()) as object) }).toEqual({
      status: 'ready',
      database: true,
      migrations: true,
      queue: true,
    });
    expect(ready.status).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/`, bearer)).status).toBe(404);
    const page = async () => (await fetch(`${url}/metrics`, bearer)).text();
    await expect.poll(page).toMatch(/trunkline_target_turn_seconds_count\{.*kind="users".*\} [1-9]/);
    await expect.poll(page).toContain('trunkline_workers{mode="dry-run"} 1');
    const text = await page();
    for (const series of [
      'trunkline_api_requests_total{operation="users.list",status="200"}',
      'nodejs_eventloop_lag_seconds',
      'trunkline_database_up 1',
    ]) {
      expect(text).toContain(series);
    }
    worker.process.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });
});

test('a port that other machines reach needs ADMIN_TOKEN', async () => {
  const given = {
    DATABASE_URL: 'postgres://u@127.0.0.1:1/x',
    API_BASE_URL: sandbox.url,
    API_KEY: 'k',
    HOST: '0.0.0.0',
    ADMIN_TOKEN: '',
  };
  const worker = trunkline({ ...given, WORKER_PORT: '0' }, 'worker');
  expect(await worker.ended).toBe(2);
  expect(worker.err()).toContain('ADMIN_TOKEN is missing');
});

async function tableOf(registry: Registry): Promise<string> {
  const rows = registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('trunkline_'))
    .map((metric) => {
      const { name, help, type, labelNames } = metric as unknown as Record<'name' | 'help' | 'type', string> & {
        labelNames: string[];
      };
      return `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
    });
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows.sort()].join('\n');
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

This page is generated: \`npm test -- test/ops/metrics.all.test.ts -u\`.

## State that all processes share

Read from the database and the queues at each scrape, and the same from every process: do not add them up, take
\`max without (instance)\`. While Postgres is away they keep their last values and \`trunkline_database_up\` is 0.

${await tableOf(shared)}

## Of one process

Counters begin at 0 with each start: \`sum(rate(…))\`. Node's own metrics (\`process_…\`, \`nodejs_…\`) are here too, such as
\`nodejs_eventloop_lag_p99_seconds\` (sampled ten times a second), and memory and CPU.

${await tableOf(own)}

## Health checks

What \`trunkline_health_check{check}\` tells apart; \`config/prometheus\` has alert rules for problems and for warnings:
${allChecks.map(({ id }) => `\`${id}\``).join(', ')}.
`;
  await expect(page).toMatchFileSnapshot('../../docs/metrics.md');
});
