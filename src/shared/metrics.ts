import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { readRelease } from './release.ts';

/** The metrics of one process. Shared state is read from the database instead. */
export interface Metrics {
  readonly registry: Registry;
  deliveryAccepted(type: string, isRecognized: boolean): void;
  deliveryRefused(reason: 'token' | 'too_large' | 'unavailable'): void;
  requestRefused(reason: 'admin_token' | 'host' | 'login_state' | 'connection_limit'): void;
  /** Whether the last delivery could not be stored and was less than a minute ago. */
  isRefusing(): boolean;
  commitSeconds(seconds: number): void;
  targetRead(kind: string, outcome: string, seconds: number): void;
  apiAnswered(operation: string, outcome: string, seconds: number): void;
}

const refusingMs = 60_000;

export function createMetrics(): Metrics {
  let refusedAt: number | undefined;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const buildInfo = new Gauge({
    name: 'trunkline_build_info',
    help: 'Always 1: the version, the commit and the newest migration of the release that runs here.',
    labelNames: ['version', 'commit', 'schema'] as const,
    registers,
  });
  buildInfo.set({ ...readRelease() }, 1);
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
    help: 'Refused requests: a wrong ADMIN_TOKEN, a Host that is not loopback without one, a callback of no pending login; and connections over the limit.',
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
  return {
    registry,
    deliveryAccepted(type, isRecognized) {
      refusedAt = undefined;
      deliveries.inc({ type, recognized: String(isRecognized) });
    },
    deliveryRefused(reason) {
      if (reason === 'unavailable') refusedAt = performance.now();
      refusals.inc({ reason });
    },
    requestRefused: (reason) => requests.inc({ reason }),
    isRefusing: () => refusedAt !== undefined && performance.now() - refusedAt < refusingMs,
    commitSeconds: (seconds) => commits.observe(seconds),
    targetRead: (kind, outcome, seconds) => reads.observe({ kind, turn: outcome }, seconds),
    apiAnswered: (operation, outcome, seconds) => answers.observe({ operation, outcome }, seconds),
  };
}
