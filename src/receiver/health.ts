import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { withPatience } from '../queues/patience.ts';
import type { OpenDatabase } from '../warehouse/database.ts';
import { isMigrated } from '../warehouse/migrate.ts';

/** What a deployment needs to know of a process before it sends deliveries to it. */
export interface Readiness {
  readonly database: boolean;
  readonly migrations: boolean;
  readonly queue: boolean;
}

/** Whoever asks gives up soon, and a Postgres that hangs never answers; in milliseconds. */
const patienceMs = 2_000;

/**
 * `/healthz`: the process lives. `/readyz`: deliveries can be stored; a queue that is away only costs time. It asks by
 * the connections of `stored`, as the deliveries do, and answers within two seconds.
 */
export function registerHealth(
  app: FastifyInstance,
  { queues, stored }: Pick<Context, 'queues'> & { readonly stored: OpenDatabase },
): void {
  const store = createStoreProbe(stored);
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const [asked, health] = await Promise.all([store(), queues.health()]);
    const ready: Readiness = { ...asked, queue: health.isReachable };
    const isReady = ready.database && ready.migrations;
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready', ...ready });
  });
}

/** Asks the database, for all who want to know at the same time once: while it hangs, no further connection is spent. */
function createStoreProbe({ db, pool }: OpenDatabase): () => Promise<Omit<Readiness, 'queue'>> {
  // Migrations are never taken back, so that they are asked for until they are there.
  let areApplied = false;
  let asking: Promise<boolean> | undefined;

  /** Whether it answers and takes writes: a standby, or one whose disk is full, takes none. */
  async function ask(): Promise<boolean> {
    try {
      // By the pool itself, which throws a connection away that did not answer in time.
      const { rows } = await pool.query(`select current_setting('transaction_read_only') = 'off' as "takesWrites"`);
      if (!rows[0]?.takesWrites) return false;
    } catch {
      return false;
    }
    areApplied ||= await isMigrated(db).catch(() => false);
    return true;
  }

  return async () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    const canStore = await withPatience(patienceMs, asking, () => false);
    return { database: canStore, migrations: areApplied };
  };
}
