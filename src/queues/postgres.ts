import { assertSchemaCompatibility, createPostgresBackend, type PgPool, runMigrations, withBackend } from 'bullmq';
import { Client, Pool } from 'pg';
import { queuePools, queueTiming } from '../../config/queues.ts';
import type { BullQueue, BullWorker, QueueStore } from './store.ts';
import type { Trouble } from './trouble.ts';

const schema = 'bullmq';

/** Brings the schema `bullmq` up to date; safe while other versions run and when two processes do it at once. */
export async function migrateQueues(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => runMigrations(client, schema));
}

/**
 * Queues in Postgres: one small pool for all producers; for each worker a pool and a connection that listens, which
 * also polls every few seconds because a LISTEN can die unnoticed. Rejects when the schema is missing or stale.
 */
export async function createPostgresStore(databaseUrl: string, trouble: Trouble): Promise<QueueStore> {
  await withClient(databaseUrl, (client) => assertSchemaCompatibility(client, schema));
  const bull = withBackend(createPostgresBackend);
  const producers = new Pool({
    connectionString: databaseUrl,
    max: queuePools.producers,
    connectionTimeoutMillis: queueTiming.patience,
    query_timeout: queueTiming.patience,
    keepAlive: true,
    options: `-c search_path=${schema}`,
  });
  producers.on('error', trouble.report);

  return {
    backend: 'postgres',
    isConnected: () => true,
    openQueue: (name) => new bull.Queue(name, { connection: producers as unknown as PgPool }) as unknown as BullQueue,
    openWorker(name, processor, tuning) {
      const connection = {
        connectionString: databaseUrl,
        schema,
        max: queuePools.worker,
        connectionTimeoutMillis: 5_000,
        keepAlive: true,
      };
      return new bull.Worker(name, processor, { connection, ...tuning }) as unknown as BullWorker;
    },
    // The library's own trimming of events is not there for this backend.
    forgetEvents: async ({ name }) => void (await producers.query('delete from event where queue = $1', [name])),
    async health() {
      const answer = await producers.query('select').catch(() => undefined);
      return { isReachable: answer !== undefined, warnings: [] };
    },
    connections: (workers) => queuePools.producers + workers * (queuePools.worker + queuePools.listen),
    disconnect: () => producers.end(),
  };
}

async function withClient(databaseUrl: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
