import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { readRelease } from './release.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** One request to the service; `status` is undefined when no answer came. */
interface ApiRequest {
  readonly operation: string;
  readonly outcome: string;
  readonly status?: number;
  readonly milliseconds: number;
}

const refusingMs = 60_000;

/** What one process counts about its own work. Shared state is read from the database instead. */
export function createMetrics() {
  let refusedAt: number | undefined;
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `trunkline_${name}`, help, labelNames, registers });
  const seconds = <Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) =>
    new Histogram({ name: `trunkline_${name}_seconds`, help, labelNames, buckets, registers });

  const stored = 'Webhook deliveries that were stored and answered 2xx.';
  const deliveries = counter('deliveries_total', stored, ['type', 'recognized']);
  const refused = 'Webhook requests that were answered 404, 413 or 503.';
  const refusals = counter('deliveries_refused_total', refused, ['reason']);
  const requests = counter(
    'requests_refused_total',
    'Refused requests with a wrong ADMIN_TOKEN, and connections beyond the limit.',
    ['reason'],
  );
  const commits = seconds(
    'delivery_commit',
    'From the last byte of a delivery to its commit.',
    [],
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
  );
  const reads = seconds(
    'target_turn',
    'Reads of sync targets: claim, read and commit.',
    ['kind', 'turn'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
  );
  const answers = seconds(
    'api_answer',
    'Requests to the service, retries included.',
    ['operation', 'outcome'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 20],
  );
  const requestsToService = counter(
    'api_requests_total',
    'Requests to the service by HTTP status, retries included; `none` when no answer came.',
    ['operation', 'status'],
  );
  const build = new Gauge({
    name: 'trunkline_build_info',
    help: 'Always 1: the version, the commit and the newest migration of the release that runs here.',
    labelNames: ['version', 'commit', 'schema'],
    registers,
  });
  build.set({ ...readRelease() }, 1);
  return {
    registry,
    deliveryAccepted(type: string, isRecognized: boolean) {
      refusedAt = undefined;
      deliveries.inc({ type, recognized: String(isRecognized) });
    },
    deliveryRefused(reason: 'token' | 'too_large' | 'unavailable') {
      if (reason === 'unavailable') refusedAt = performance.now();
      refusals.inc({ reason });
    },
    requestRefused(reason: 'admin_token' | 'connection_limit') {
      requests.inc({ reason });
    },
    /** Whether the last delivery couldn't be stored, less than a minute ago. */
    isRefusing: () => refusedAt !== undefined && performance.now() - refusedAt < refusingMs,
    commitSeconds: (seconds: number) => commits.observe(seconds),
    targetRead(kind: string, outcome: string, seconds: number) {
      reads.observe({ kind, turn: outcome }, seconds);
    },
    apiAnswered({ operation, outcome, status, milliseconds }: ApiRequest) {
      answers.observe({ operation, outcome }, milliseconds / 1_000);
      requestsToService.inc({ operation, status: String(status ?? 'none') });
    },
  };
}
