import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { query } from '../warehouse/database.ts';
import { isMigrated } from '../warehouse/migrate.ts';

/** What a deployment needs to know of a process before it sends deliveries to it. */
export interface Readiness {
  readonly database: boolean;
  readonly migrations: boolean;
  readonly queue: boolean;
}

/** `/healthz`: the process lives. `/readyz`: deliveries can be stored; a queue that is away only costs time. */
export function registerHealth(app: FastifyInstance, context: Context): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const ready = await readiness(context);
    const isReady = ready.database && ready.migrations;
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready', ...ready });
  });
}

async function readiness({ database, queues }: Context): Promise<Readiness> {
  const [isConnected, areApplied, health] = await Promise.all([
    query(database.db, 'select 1', []).then(
      () => true,
      () => false,
    ),
    isMigrated(database.db).catch(() => false),
    queues.health(),
  ]);
  return { database: isConnected, migrations: areApplied, queue: health.isReachable };
}
