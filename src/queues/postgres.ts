import {
  assertSchemaCompatibility,
  type createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  type PgPoolClient,
  PostgresConnection,
  PostgresQueueBackend,
  runMigrations,
  withBackend,
} from 'bullmq';
import type { Client, Pool, PoolClient, PoolConfig } from 'pg';
import { queuePools, queueTiming } from '../../config/queues.ts';
import { openPool, prepareSession, withClient, writesRefused } from '../db/connections.ts';
import type { Log } from '../shared/log.ts';
import type { BullQueue, BullWorker, PendingJob, QueueStore } from './backend.ts';
import type { OutageLog } from './outage-log.ts';

const schema = 'bullmq';
/**
 * Lock timeouts of the library's statements. A producer's statement must fail long before its client gives up, because
 * the abandoned statement would keep waiting on its connection. Several queues can fail in a row, and the health check
 * needs a connection too.
 */
const lockTimeouts = { producers: `${queueTiming.timeout / 4}ms`, jobs: '10s' } as const;

/** Maximum connections of a process for adding jobs, and for taking and finishing them. */
export type QueuePools = Readonly<Record<'producers' | 'jobs', number>>;

/**
 * Migrates the schema `bullmq`. Safe while other versions run, and for two processes at once. Rejects with a lock
 * timeout (`isLockTimeout`) after a second: the library takes an advisory lock, which any role can hold.
 */
export async function migrateQueues(databaseUrl: string): Promise<void> {
  await withClient({ connectionString: databaseUrl }, async (client) => {
    if (await isNewest(client)) return;
    await client.query(`set lock_timeout = '1s'`);
    await runMigrations(client, schema);
    for (const table of rewrittenTables) await client.query(`alter table ${schema}.${table} set (${vacuumedSoon})`);
  });
}

/** Every job leaves dead rows in these tables, and taking the next job scans the ones that aren't vacuumed yet. */
const rewrittenTables = ['job', 'event', 'dedup', 'dedup_next'];
const vacuumedSoon =
  'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0';

/** Whether the schema has all migrations and settings of this release, so no lock is needed. */
async function isNewest(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (select from pg_class where oid = to_regclass('${schema}.${rewrittenTables.at(-1)}') and reloptions is not null) as found`,
  );
  return rows[0]?.found === true && (await assertSchemaCompatibility(client, schema)) >= LATEST_SCHEMA_VERSION;
}

/**
 * Queues in Postgres: one small pool for all producers, one for all workers, and one connection on which all workers
 * listen. Workers also poll, in case that connection dies unnoticed. Rejects if the schema is missing or not migrated.
 */
export async function createPostgresStore(
  databaseUrl: string,
  outage: OutageLog,
  log: Log,
  pools: QueuePools = queuePools,
): Promise<QueueStore> {
  await withClient({ connectionString: databaseUrl }, (client) => assertSchemaCompatibility(client, schema));
  const createBackend: typeof createPostgresBackend = (name, options) =>
    new PollingBackend(new ReadyConnection(options.connection), name, options);
  const bull = withBackend(createBackend);
  const opened: Pool[] = [];
  const open = (use: keyof typeof lockTimeouts, config: PoolConfig) => {
    // The library's statements name no schema, and its functions take advisory locks, which any role can hold. Commits
    // needn't wait for the disk: the sweep reads the targets of jobs that a crash of Postgres lost.
    const onConnect = prepareSession(databaseUrl, {
      ...{ search_path: schema, lock_timeout: lockTimeouts[use], synchronous_commit: 'off' },
    });
    const settings = { ...config, application_name: 'trunkline queues', onConnect };
    // Each queue and worker of the library adds a listener to its pool.
    const pool = openPool(databaseUrl, log, outage.report, settings).setMaxListeners(0);
    opened.push(pool);
    return pool;
  };
  const producers = open('producers', {
    max: pools.producers,
    connectionTimeoutMillis: queueTiming.timeout,
    query_timeout: queueTiming.timeout,
  });
  let ofWorkers: PgPool | undefined;

  return {
    backend: 'postgres',
    isConnected: () => true,
    openQueue: (name, opening) =>
      new bull.Queue(name, { connection: producers as unknown as PgPool, ...opening }) as unknown as BullQueue,
    openWorker(name, processor, tuning) {
      ofWorkers ??= withOneListener(
        open('jobs', { max: pools.jobs, query_timeout: queueTiming.lockDuration }),
        open('jobs', { max: queuePools.listen, query_timeout: queueTiming.lockDuration }),
      );
      return new bull.Worker(name, processor, { connection: ofWorkers, ...tuning }) as unknown as BullWorker;
    },
    // The library makes a round trip for each job, which takes too long when thousands of jobs wait.
    pendingJobs: async ({ name }) =>
      (await producers.query<PendingJob>(`select id, data from job where queue = $1 and state <> 'active'`, [name]))
        .rows,
    // The library can't trim events in this backend.
    forgetEvents: async ({ name }) => void (await producers.query('delete from event where queue = $1', [name])),
    health: () =>
      producers.query('select').then(
        () => ({ isReachable: true }),
        () => ({ isReachable: false }),
      ),
    connections: (workers) => pools.producers + (workers > 0 ? pools.jobs + queuePools.listen : 0),
    async disconnect() {
      for (const pool of opened) if (pool !== producers) void pool.end().catch(outage.report);
      await producers.end();
    },
  };
}

/**
 * On the first connection of each queue and worker, the library reads the schema version. If that fails, it never
 * retries: all later statements fail too, and a worker repeats them without a pause. The store has already read the
 * version.
 */
class ReadyConnection extends PostgresConnection {
  override async waitUntilReady(): Promise<void> {}
}

/** After a failed wait for jobs, the library would rely on notifications alone for up to an hour. */
class PollingBackend extends PostgresQueueBackend {
  override get maximumBlockTimeout(): number {
    return queueTiming.pollEvery.postgres / 1_000;
  }
}

type Listener = (error: Error) => void;

/** A connection that all workers listen on. */
interface SharedConnection {
  readonly client: PoolClient;
  readonly holders: Set<object>;
  lastQuery: Promise<unknown>;
  isOver: boolean;
}

/**
 * A pool for the queue library in which all workers listen on one shared connection. The library takes connections out
 * of this pool only to listen, or briefly at its start. Each worker filters notifications by its queue.
 */
function withOneListener(jobs: Pool, listeners: Pool): PgPool {
  let shared: Promise<SharedConnection> | undefined;

  function open(): Promise<SharedConnection> {
    const opening = listeners.connect().then((client) => {
      client.setMaxListeners(0);
      const connection = { client, holders: new Set<object>(), lastQuery: Promise.resolve(), isOver: false };
      client.once('error', () => end(connection));
      return connection;
    });
    opening.catch(() => shared === opening && forget());
    return opening;
  }

  // After a switchover, the old server may keep this connection open, but nothing arrives on it any more.
  jobs.on(writesRefused as 'error', () => {
    const refused = new Error('Connection ended, since Postgres takes no writes');
    void shared?.then(({ client, isOver }) => isOver || client.emit('error', refused)).catch(() => undefined);
  });

  function forget(): void {
    shared = undefined;
  }

  /** Destroys a connection that is broken or still listens. The next caller gets a new one. */
  function end(connection: SharedConnection): void {
    if (connection.isOver) return;
    connection.isOver = true;
    forget();
    connection.client.release(true);
  }

  async function connect(): Promise<PgPoolClient> {
    let connection: SharedConnection;
    do {
      shared ??= open();
      connection = await shared;
      // Its last holder may have released it meanwhile.
    } while (connection.isOver);
    const { client, holders } = connection;
    const own: [string, Listener][] = [];
    const remove = (isRemoved: (event: string, listener: Listener) => boolean) => {
      for (const entry of own.filter(([event, listener]) => isRemoved(event, listener))) {
        client.removeListener(...entry);
        own.splice(own.indexOf(entry), 1);
      }
    };
    const holder = {
      connection: (client as unknown as PgPoolClient).connection,
      query(text: string, values?: unknown[]) {
        const answer = connection.lastQuery.then(async () => {
          const result = await client.query(text, values);
          // The connection was lost right after the answer. Without this error, the library would believe that its next
          // connection listens.
          if (connection.isOver) throw new Error('Connection terminated right after its answer');
          return result;
        });
        connection.lastQuery = answer.catch((error: Error) => {
          // The library replaces a connection only after an error event, which a broken connection may have emitted
          // earlier.
          if (!connection.isOver) client.emit('error', error);
          else for (const [event, listener] of [...own]) if (event === 'error') listener(error);
        });
        return answer;
      },
      on(event: string, listener: Listener) {
        client.on(event as 'error', listener);
        own.push([event, listener]);
        return holder;
      },
      removeListener(event: string, listener: Listener) {
        remove((name, each) => name === event && each === listener);
        return holder;
      },
      removeAllListeners(event?: string) {
        remove((name) => event === undefined || name === event);
        return holder;
      },
      release() {
        remove(() => true);
        if (holders.delete(holder) && holders.size === 0) end(connection);
      },
    };
    holders.add(holder);
    return holder as unknown as PgPoolClient;
  }

  const pool = {
    options: jobs.options,
    query: (text: string, values?: unknown[]) => jobs.query(text, values),
    connect,
    end: () => jobs.end(),
    on(event: 'error', listener: (error: Error) => void) {
      jobs.on(event, listener);
      return pool;
    },
    removeAllListeners: () => pool,
  };
  return pool as unknown as PgPool;
}
