import { collectDefaultMetrics, Registry } from '@prometheus-io/client';
import type { FastifyInstance } from 'fastify';
import type { Asked } from '../checks/checks.ts';
import { createGauges } from '../checks/gauges.ts';
import { type Overview, takeOverview } from '../checks/overview.ts';
import type { Context } from '../context.ts';
import type { OpenDatabase } from '../db/database.ts';
import { isMigrated } from '../db/migrate.ts';
import { writeProbe } from '../db/write-probe.ts';
import { withTimeout } from '../shared/timeout.ts';
import { type Listening, listen } from './app.ts';
import { createGuard } from './auth.ts';

/** If Postgres doesn't answer within so many milliseconds, it counts as unreachable. */
const timeoutMs = 2_000;

/**
 * `/healthz`: the process is alive. `/readyz`: deliveries can be stored, checked within two seconds through the pool
 * that stores them. A receiver is ready without its queues, because that only delays reads. A worker isn't
 * (`needsQueues`).
 */
export function registerHealth(
  app: FastifyInstance,
  {
    queues,
    stored,
    needsQueues = false,
  }: Pick<Context, 'queues'> & { readonly stored: OpenDatabase; readonly needsQueues?: boolean },
): void {
  const store = createStoreProbe(stored);
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const [stores, health] = await Promise.all([store(), queues.health()]);
    const ready = { ...stores, queue: health.isReachable };
    const isReady = ready.database && ready.migrations && (ready.queue || !needsQueues);
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready', ...ready });
  });
}

/** Probes the database once for all concurrent callers, so that a hanging database only blocks one connection. */
function createStoreProbe({ db, pool }: OpenDatabase): () => Promise<{ database: boolean; migrations: boolean }> {
  let areApplied = false;
  /** Whether the database accepts writes. A standby doesn't, nor does one with a full disk. Leaves no row. */
  const probe = shared(async () => {
    // Uses the pool itself, which drops a connection that didn't answer in time.
    const takesWrites = await pool
      .query(writeProbe)
      .then(({ rows }) => rows[0]?.takesWrites === true)
      .catch(() => false);
    if (takesWrites) areApplied ||= await isMigrated(db).catch(() => false);
    return takesWrites;
  });
  return async () => {
    const canStore = await withTimeout(timeoutMs, probe(), () => false);
    return { database: canStore, migrations: areApplied };
  };
}

/** The overview that the pages and metrics of one process share for a second. */
export function sharedOverview(context: Asked): () => Promise<Overview> {
  return shared(() => takeOverview(context), 1_000);
}

/** One answer for all who ask while it is taken, and for `keptMs` longer. A failure isn't kept. */
function shared<T>(take: () => Promise<T>, keptMs = 0): () => Promise<T> {
  let latest: Promise<T> | undefined;
  const forget = () => {
    latest = undefined;
  };
  return () => {
    if (latest) return latest;
    latest = take();
    latest.then(() => (keptMs === 0 ? forget() : setTimeout(forget, keptMs).unref()), forget);
    return latest;
  };
}

let measured: Registry | undefined;

/** Node's own metrics. Collected once, however many contexts a process has, because measuring can't be stopped. */
function processMetrics(): Registry {
  if (measured) return measured;
  measured = new Registry();
  // Sampling interval of the event-loop lag. The default of 10 ms costs more than an idle receiver.
  collectDefaultMetrics({ register: measured, eventLoopMonitoringPrecision: 100 });
  return measured;
}

/** Serves `/metrics`: counters of this process, and the state that all processes share. Once per process. */
export function registerMetrics(app: FastifyInstance, context: Context): void {
  const { metrics } = context;
  const refreshGauges = createGauges(metrics.registry, sharedOverview({ ...context, metrics: undefined }));
  const registry = Registry.merge([processMetrics(), metrics.registry]);
  app.get('/metrics', async (_request, reply) => {
    await refreshGauges();
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of a worker at HOST. Metrics need the admin token, as on `web`. A worker
 * is ready only if it can reach the queues too. Rejects if HOST or the port can't be bound.
 */
export function openWorkerPort(context: Context, port: number): Promise<Listening> {
  const { settings, log, metrics, queues, database } = context;
  const { host, adminToken } = settings.receiver;
  return listen({ host, port, log, metrics }, async (app) => {
    registerHealth(app, { queues, stored: database, needsQueues: true });
    await app.register(async (scope) => {
      createGuard({ adminToken, metrics, log }).protect(scope);
      registerMetrics(scope, context);
    });
  });
}
