import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { readRelease } from './release.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** One request to the service; `status` is undefined when no answer came, and `attempt` counts from 1. */
interface ApiRequest {
  readonly operation: string;
  readonly outcome: string;
  readonly status?: number;
  readonly attempt: number;
  readonly milliseconds: number;
}

const refusingMs = 60_000;

/**
 * Node's own metrics of this process. Collected once, however many contexts there are, because measuring can't be
 * stopped.
 */
let measured: Registry | undefined;

export function processMetrics(): Registry {
  if (measured) return measured;
  measured = new Registry();
  // Sampling interval of the event-loop lag. The default of 10 ms costs more than an idle receiver.
  collectDefaultMetrics({ register: measured, eventLoopMonitoringPrecision: 100 });
  return measured;
}

/** What one process counts about its own work. Shared state is read from the database instead. */
export function createMetrics() {
  let refusedAt: number | undefined;
  const registry = new Registry();
  const registers = [registry];
  const deliveries = new Counter({
    name: 'trunkline_deliveries_total',
    help: 'Webhook deliveries that were stored and answered 2xx.',
    labelNames: ['type', 'recognized'] as const,
    registers,
  });
  const refusals = new Counter({
    name: 'trunkline_deliveries_refused_total',
    help: 'Webhook requests that were answered 404, 413 or 503.',
    labelNames: ['reason'] as const,
    registers,
  });
  const requests = new Counter({
    name: 'trunkline_requests_refused_total',
    help: 'Refused requests with a wrong ADMIN_TOKEN, and connections beyond the limit.',
    labelNames: ['reason'] as const,
    registers,
  });
  const commits = new Histogram({
    name: 'trunkline_delivery_commit_seconds',
    help: 'From the last byte of a delivery to its commit.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
    registers,
  });
  const reads = new Histogram({
    name: 'trunkline_target_turn_seconds',
    help: 'Reads of sync targets: claim, read and commit.',
    labelNames: ['kind', 'turn'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    registers,
  });
  const answers = new Histogram({
    name: 'trunkline_api_answer_seconds',
    help: 'Requests to the service, retries included.',
    labelNames: ['operation', 'outcome'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 20],
    registers,
  });
  const requestsToService = new Counter({
    name: 'trunkline_api_requests_total',
    help: 'Requests to the service by HTTP status, retries included; `none` when no answer came.',
    labelNames: ['operation', 'status'] as const,
    registers,
  });
  const retries = new Counter({
    name: 'trunkline_api_retries_total',
    help: 'Requests to the service that repeated a failed one at once. Later retries of a read are new reads.',
    labelNames: ['operation'] as const,
    registers,
  });
  const build = new Gauge({
    name: 'trunkline_build_info',
    help: 'Always 1: the version, the commit and the newest migration of the release that runs here.',
    labelNames: ['version', 'commit', 'schema'],
    registers,
  });
  build.set({ ...readRelease() }, 1);
  const isRefusing = () => refusedAt !== undefined && performance.now() - refusedAt < refusingMs;
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
    isRefusing,
    commitSeconds: (seconds: number) => commits.observe(seconds),
    targetRead(kind: string, outcome: string, seconds: number) {
      reads.observe({ kind, turn: outcome }, seconds);
    },
    apiAnswered({ operation, outcome, status, attempt, milliseconds }: ApiRequest) {
      answers.observe({ operation, outcome }, milliseconds / 1_000);
      requestsToService.inc({ operation, status: String(status ?? 'none') });
      if (attempt > 1) retries.inc({ operation });
    },
  };
}
