import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import type { OpenDatabase } from '../db/database.ts';
import { isMigrated } from '../db/migrate.ts';
import { writeProbe } from '../db/write-probe.ts';
import { withTimeout } from '../shared/timeout.ts';

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
  let probing: Promise<boolean> | undefined;

  /**
   * Whether the database accepts writes. A standby doesn't, nor does one with a full disk. Commits something that
   * leaves no row.
   */
  async function probe(): Promise<boolean> {
    try {
      // Uses the pool itself, which drops a connection that didn't answer in time.
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
