import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../../../src/local/postgres.ts';
import { migrateAll } from '../../../src/migrations.ts';
import { createLog } from '../../../src/shared/log.ts';
import { startRedis } from '../../stores/redis.ts';
import { endWithUs } from './processes.ts';

export const backends = ['redis', 'postgres'] as const;
export type Backend = (typeof backends)[number];

/** The stores of one bench: the Postgres that the daemon embeds, with its settings, and a Redis with AOF each second. */
export interface Stores extends AsyncDisposable {
  readonly postgresPid: number;
  readonly redisPid: number;
  /** The `REDIS_URL` that selects a backend. */
  redisUrl(backend: Backend): string | undefined;
  /** A new migrated database. */
  database(name: string): Promise<string>;
  /** A database that an earlier run left in the folder, migrated up to now. Throws when there is none. */
  keptDatabase(name: string): Promise<string>;
}

/** Without a folder the databases are gone with the stores; one that is given keeps them for the next run. */
export async function openStores(kept?: string): Promise<Stores> {
  const log = createLog('warn');
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'trunkline-bench-')));
  const postgres = await startPostgres({ dataDir: folder, log });
  const owner = new URL(postgres.url).username;
  await run(postgres.superuserUrl, [`grant pg_checkpoint to ${owner}`]);
  const redis = await startRedis().catch(async (error: unknown) => {
    await postgres.stop();
    throw error;
  });

  const stopped = Promise.withResolvers<void>();
  endWithUs(() => {
    process.kill(postgres.pid, 'SIGINT');
    process.kill(redis.pid, 'SIGKILL');
  }, stopped.promise);
  return {
    postgresPid: postgres.pid,
    redisPid: redis.pid,
    redisUrl: (backend) => (backend === 'redis' ? redis.url : undefined),
    async keptDatabase(name) {
      const url = at(postgres.url, name);
      await migrateAll(url, log);
      return url;
    },
    async database(name) {
      const url = at(postgres.url, name);
      await run(postgres.superuserUrl, [`create database ${name} owner ${owner}`]);
      await migrateAll(url, log);
      return url;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([postgres.stop(), redis.stop()]);
      stopped.resolve();
      if (kept === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

function at(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

async function run(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
