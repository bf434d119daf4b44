import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import type { OpenDatabase } from '../db/database.ts';
import { isMigrated } from '../db/migrate.ts';
import { writeProbe } from '../db/write-probe.ts';
import { withTimeout } from '../shared/timeout.ts';

/** Milliseconds after which a hanging Postgres counts as unreachable. */
const timeoutMs = 2_000;

/**
 * `/healthz`: the process is alive. `/readyz`: deliveries can be stored, checked within two seconds through the pool that
 * stores them. An unreachable queue does not matter to a receiver: it only delays reads. A worker `needsQueues`.
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

/** Probes the database once for all simultaneous callers, so that a hanging one occupies only one connection. */
function createStoreProbe({ db, pool }: OpenDatabase): () => Promise<{ database: boolean; migrations: boolean }> {
  let areApplied = false;
  let probing: Promise<boolean> | undefined;

  /** Whether the database accepts writes: a standby, or one with a full disk, does not. Commits something that leaves no row. */
  async function probe(): Promise<boolean> {
    try {
      // Through the pool itself, which drops a connection that did not answer in time.
      const { rows } = await pool.query(writeProbe);
      if (!rows[0]?.takesWrites) return false;
    } catch {
      return false;
    }
    areApplied ||= await isMigrated(db).catch(() => false);
    return true;
  }

  return async () => {
    probing ??= probe().finally(() => {
      probing = undefined;
    });
    const canStore = await withTimeout(timeoutMs, probing, () => false);
    return { database: canStore, migrations: areApplied };
  };
}
