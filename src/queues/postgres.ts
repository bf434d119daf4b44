import { assertSchemaCompatibility, createPostgresBackend, type PgPool, runMigrations, withBackend } from 'bullmq';
import { Client, type ClientBase, Pool, type PoolConfig } from 'pg';
import { queuePools, queueTiming } from '../../config/queues.ts';
import { prepareSession } from '../postgres/sessions.ts';
import type { BullQueue, BullWorker, QueueStore } from './store.ts';
import type { Trouble } from './trouble.ts';

const schema = 'bullmq';

/** Brings the schema `bullmq` up to date; safe while other versions run and when two processes do it at once. */
export async function migrateQueues(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => runMigrations(client, schema));
}

/**
 * Queues in Postgres: one small pool for all producers; for each worker a pool, one connection of which listens, and
 * that also polls every few seconds because a LISTEN can die unnoticed. Rejects when the schema is missing or stale.
 */
export async function createPostgresStore(databaseUrl: string, trouble: Trouble): Promise<QueueStore> {
  await withClient(databaseUrl, (client) => assertSchemaCompatibility(client, schema));
  const bull = withBackend(createPostgresBackend);
  const prepare = prepareSession(databaseUrl);
  const onConnect = async (client: ClientBase) => {
    await enterSchema(client);
    await prepare(client);
  };
  const open = (config: PoolConfig) =>
    new Pool({ ...config, connectionString: databaseUrl, keepAlive: true, onConnect });
  const producers = open({
    max: queuePools.producers,
    connectionTimeoutMillis: queueTiming.patience,
    query_timeout: queueTiming.patience,
  });
  producers.on('error', trouble.report);
  const ofWorkers = new Set<Pool>();
  const end = (pool: Pool) => {
    if (ofWorkers.delete(pool)) void pool.end().catch(trouble.report);
  };

  return {
    backend: 'postgres',
    isConnected: () => true,
    openQueue: (name, opening) =>
      new bull.Queue(name, { connection: producers as unknown as PgPool, ...opening }) as unknown as BullQueue,
    openWorker(name, processor, tuning) {
      const pool = open({ max: queuePools.worker + queuePools.listen, connectionTimeoutMillis: 5_000 });
      ofWorkers.add(pool);
      const connection = pool as unknown as PgPool;
      const worker = new bull.Worker(name, processor, { connection, ...tuning }) as unknown as BullWorker;
      return worker.once('closed', () => end(pool));
    },
    // The library's own trimming of events is not there for this backend.
    forgetEvents: async ({ name }) => void (await producers.query('delete from event where queue = $1', [name])),
    async health() {
      const answer = await producers.query('select').catch(() => undefined);
      return { isReachable: answer !== undefined, warnings: [], notices: [] };
    },
    connections: (workers) => queuePools.producers + workers * (queuePools.worker + queuePools.listen),
    async disconnect() {
      for (const pool of ofWorkers) end(pool);
      await producers.end();
    },
  };
}

/**
 * The library's statements name no schema. Said at the start of a session, as its own pools do, it would be overruled by
 * `options` in DATABASE_URL, and refused by poolers.
 */
async function enterSchema(client: ClientBase): Promise<void> {
  await client.query(`set search_path to ${schema}`);
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
