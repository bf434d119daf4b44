import { CompiledQuery, type Kysely as Db, Kysely, PostgresDialect, type Transaction as Tx } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Log } from '../log.ts';
import { openPool } from '../postgres/sessions.ts';
import { storableText } from '../storable.ts';
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
  const pool = openPool(options.url, options.log, {
    max: options.maxConnections,
    application_name: `trunkline ${options.name}`,
    query_timeout: options.statementMs,
  });
  // Without a listener, a connection that Postgres closes would end the process.
  const onLost = (error: Error) => {
    // The end of a pool does not wait until Postgres has seen it: one that stops then may still say so.
    if (!pool.ending) options.log.warn({ err: error }, 'A connection to Postgres was lost');
  };
  pool.on('error', onLost);
  // The pool takes its listener off a connection in use, and one that waits between two statements has no other.
  pool.on('connect', (client) => {
    client.on('error', onLost);
    prepareHot(client);
  });
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

/**
 * Runs one hand-written statement with positional parameters. Text reaches Postgres by this door alone, so it is made
 * storable here: one NUL in an answer must not keep the answer out.
 */
export async function query<Row>(
  db: Database | Transaction,
  text: string,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, parameters.map(storable)));
  return rows;
}

/** The name that a hot statement is prepared under. */
const hot = new Map<string, string>();

/**
 * The same, for statements that every read or every event asks: each connection prepares them once, since planning them
 * anew costs as much as running them. Only for what is looked up by a key, which has the same plan whatever is asked.
 */
export function hotQuery<Row>(
  db: Database | Transaction,
  text: string,
  parameters: readonly unknown[],
): Promise<Row[]> {
  if (!hot.has(text)) hot.set(text, `hot_${hot.size}`);
  return query(db, text, parameters);
}

/** The query builder hands over a text and its values, and no name. */
function prepareHot(client: PoolClient): void {
  const ask: (...question: unknown[]) => unknown = client.query.bind(client);
  const askByName = (text: unknown, values: unknown, ...rest: unknown[]) => {
    const name = typeof text === 'string' ? hot.get(text) : undefined;
    return name === undefined ? ask(text, values, ...rest) : ask({ name, text, values }, ...rest);
  };
  client.query = askByName as typeof client.query;
}

function storable(parameter: unknown): unknown {
  if (typeof parameter === 'string') return storableText(parameter);
  return Array.isArray(parameter) ? parameter.map(storable) : parameter;
}

const deadlock = '40P01';
const serializationFailure = '40001';

/** Runs a transaction again that Postgres ended because it and another one waited for each other. */
export async function retryDeadlock<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (tries === 5 || (code !== deadlock && code !== serializationFailure)) throw error;
    }
  }
}

const lockNotAvailable = '55P03';

/** Whether a statement gave up waiting for a lock: `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === lockNotAvailable;
}

/**
 * Lets the statements of this transaction wait a second at most for what others hold. Whoever waits for all of a table or a
 * view keeps everybody else off it who comes later, behind one long query of an analyst for as long as that takes.
 */
export async function waitBriefly(tx: Database | Transaction): Promise<void> {
  await query(tx, `set local lock_timeout = '1s'`, []);
}

/** Runs work in a transaction, from its beginning again when Postgres ends it over a deadlock: it may change nothing else. */
export function inTransaction<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return retryDeadlock(() => db.transaction().execute(work));
}
