import { Registry } from '@prometheus-io/client';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { createGauges } from '../ops/gauges.ts';
import { cachedFor, type Snapshot, takeSnapshot } from '../ops/snapshot.ts';
import { processMetrics } from '../shared/metrics.ts';
import { createGuard } from './admin.ts';
import { registerHealth } from './health.ts';
import { type Listening, listen } from './listen.ts';

/** Milliseconds for which all clients share one snapshot. */
const sharedMs = 1_000;

/** The snapshot shared by the pages and metrics of one process. */
export function sharedSnapshot(context: Context): () => Promise<Snapshot> {
  return cachedFor(sharedMs, () => takeSnapshot(context));
}

/** Serves `/metrics`: counters of this process, and the state that all processes share. Once per process. */
export function registerMetrics(app: FastifyInstance, { metrics }: Context, snapshot: () => Promise<Snapshot>): void {
  const gauges = createGauges(metrics.registry, snapshot);
  const registry = Registry.merge([processMetrics(), metrics.registry]);
  app.get('/metrics', async (_request, reply) => {
    await gauges.refresh();
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
      registerMetrics(scope, context, sharedSnapshot(context));
    });
  });
}
