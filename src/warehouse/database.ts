import { CompiledQuery, type Kysely as Db, Kysely, PostgresDialect, type Transaction as Tx } from 'kysely';
import { Pool } from 'pg';
import type { Log } from '../log.ts';
import type { Tables } from './tables.ts';

export type Database = Db<Tables>;
export type Transaction = Tx<Tables>;

export interface OpenDatabase extends AsyncDisposable {
  readonly db: Database;
  /** For statements that are hot enough to be prepared by name. */
  readonly pool: Pool;
}

/** Opens a pool of connections; whoever opens it disposes of it. A restart of Postgres costs queries, not the process. */
export function createDatabase(options: {
  url: string;
  log: Log;
  maxConnections: number;
  /** Shows in pg_stat_activity. */
  name: string;
  /** A statement that takes longer fails. Default: no limit. */
  statementMs?: number;
}): OpenDatabase {
  const pool = new Pool({
    connectionString: options.url,
    max: options.maxConnections,
    application_name: `trunkline ${options.name}`,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    query_timeout: options.statementMs,
  });
  // Without a listener, an idle connection that Postgres closes would end the process.
  pool.on('error', (error) => options.log.warn({ err: error }, 'An idle connection to Postgres was lost'));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return {
    db,
    pool,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      // Kysely leaves a pool alone that it never asked for a connection.
      if (!pool.ending) await pool.end();
    },
  };
}

/** Runs one hand-written statement with positional parameters. */
export async function query<Row>(
  db: Database | Transaction,
  text: string,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, [...parameters]));
  return rows;
}
