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

/** A pool of connections. */
interface PoolUse {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** What the API client lets through. */
interface ServiceUse {
  readonly circuit: { state(): { readonly state: string } };
  /** Whether each operation that was used is paused because the service throttles it. */
  throttled(): ReadonlyMap<string, boolean>;
}

const refusingMs = 60_000;

/** What Node says of this process, whose measuring goes on for as long as it lives: once, however many contexts there are. */
let measured: Registry | undefined;

export function processMetrics(): Registry {
  if (measured) return measured;
  measured = new Registry();
  // The lag of the event loop is sampled so often; by default every 10 ms, which costs more than an idle receiver.
  collectDefaultMetrics({ register: measured, eventLoopMonitoringPrecision: 100 });
  return measured;
}

/** What one process counts of its own work. Shared state is read from the database instead. */
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
    help: 'Refused requests: a wrong ADMIN_TOKEN, a callback of no pending login; and connections over the limit.',
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
  const pools = new Map<string, PoolUse>();
  let service: ServiceUse | undefined;
  let leases = () => 0;
  const own = <L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[],
    collect: (gauge: Gauge<L>) => void,
  ) =>
    new Gauge({
      name: `trunkline_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        collect(this);
      },
    });
  own(
    'build_info',
    'Always 1: the version, the commit and the newest migration of the release that runs here.',
    ['version', 'commit', 'schema'],
    (gauge) => gauge.set({ ...readRelease() }, 1),
  );
  own('deliveries_refusing', '1 while the last delivery could not be stored, for a minute.', [], (gauge) =>
    gauge.set(isRefusing() ? 1 : 0),
  );
  own(
    'api_circuit_open',
    '1 while the circuit breaker holds requests to the service back, until one succeeds.',
    [],
    (gauge) => gauge.set(service && service.circuit.state().state !== 'closed' ? 1 : 0),
  );
  own(
    'api_throttled',
    '1 while the requests of an operation wait because the service throttles it; only operations that were used.',
    ['operation'],
    (gauge) => {
      for (const [operation, isPaused] of service?.throttled() ?? []) gauge.set({ operation }, isPaused ? 1 : 0);
    },
  );
  own('leases', 'Sync targets that this process has claimed and is reading.', [], (gauge) => gauge.set(leases()));
  own(
    'pool_connections',
    'Connections to Postgres by pool: `main`, and `inbox`, which stores deliveries.',
    ['pool', 'state'],
    (gauge) => {
      for (const [pool, { totalCount, idleCount }] of pools) {
        gauge.set({ pool, state: 'idle' }, idleCount);
        gauge.set({ pool, state: 'busy' }, totalCount - idleCount);
      }
    },
  );
  own('pool_waiting', 'Statements and transactions that wait for a connection of the pool.', ['pool'], (gauge) => {
    for (const [pool, { waitingCount }] of pools) gauge.set({ pool }, waitingCount);
  });
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
    requestRefused(reason: 'admin_token' | 'login_state' | 'connection_limit') {
      requests.inc({ reason });
    },
    /** Whether the last delivery could not be stored and was less than a minute ago. */
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
    // From now on, these are reported: the connections of a pool, the API client, how many claims this process holds.
    watchPool: (name: string, pool: PoolUse) => void pools.set(name, pool),
    watchService(watched: ServiceUse) {
      service = watched;
    },
    watchLeases(held: () => number) {
      leases = held;
    },
  };
}
