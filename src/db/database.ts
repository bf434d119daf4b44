import { hash } from 'node:crypto';
import {
  CompiledQuery,
  type Kysely as Db,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type RawBuilder,
  sql,
  type Transaction as Tx,
} from 'kysely';
import type { Client, Pool, PoolClient } from 'pg';
import type { Log } from '../shared/log.ts';
import { storableJson, storableText } from '../shared/storable.ts';
import { openPool, prepareSession } from './connections.ts';

export { sql };

/** Every statement goes through {@link query} or {@link hotQuery}, so the types know no table. */
export type Database = Db<unknown>;
export type Transaction = Tx<unknown>;

export interface OpenDatabase extends AsyncDisposable {
  readonly db: Database;
  /** For maintenance: the same connections, but a statement takes as long as it needs. */
  readonly unlimited: Database;
  /** For statements that are hot enough to be prepared by name. */
  readonly pool: Pool;
}

/** Opens a pool of connections; the caller disposes of it. A restart of Postgres fails queries, but not the process. */
export function createDatabase(options: {
  url: string;
  log: Log;
  maxConnections: number;
  /** Shows in pg_stat_activity. */
  name: string;
  /**
   * A statement that takes longer fails. Postgres cancels it a little before; if it does not, the connection is dead: no reset
   * comes from a firewall that forgot it, or from a host that is gone. Default: no limit.
   */
  statementMs?: number;
}): OpenDatabase {
  const { url, statementMs } = options;
  const canceledMs = statementMs === undefined ? 0 : Math.round(0.8 * statementMs);
  const onLost = (error: Error) => {
    // A Postgres that stops while the pool ends is not worth a warning.
    if (!pool.ending) options.log.warn({ err: error }, 'A connection to Postgres was lost');
  };
  const pool = openPool(url, options.log, onLost, {
    max: options.maxConnections,
    application_name: `trunkline ${options.name}`,
    query_timeout: statementMs,
    onConnect: prepareSession(url, { statement_timeout: String(canceledMs) }),
  });
  const db = kyselyOf(pool, async (client) => storingClient(client));
  return {
    db,
    unlimited: statementMs === undefined ? db : kyselyOf(pool, (client) => unlimitedClient(client, canceledMs)),
    pool,
    async [Symbol.asyncDispose]() {
      if (!pool.ending) await pool.end();
    },
  };
}

function kyselyOf(pool: Pool, wrap: (client: PoolClient) => Promise<PostgresPoolClient>): Database {
  const wrapped: PostgresPool = {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => wrap(await pool.connect()),
  };
  return new Kysely<unknown>({ dialect: new PostgresDialect({ pool: wrapped }) });
}

/**
 * A connection for Kysely: makes parameters storable, and prepares hot statements by name. A statement without an answer within
 * the limit destroys it, since the next one would wait behind it.
 */
function storingClient(client: PoolClient, limit: { readonly query_timeout?: number } = {}): PostgresPoolClient {
  let isDead = false;
  const query = async (text: string, parameters: readonly unknown[]) => {
    try {
      return await client.query({ name: preparedNames.get(text), text, values: parameters.map(storable), ...limit });
    } catch (error) {
      if (error instanceof Error && error.message === 'Query read timeout') {
        isDead = true;
        // Without a connection, the rollback of a transaction does not wait once more.
        (client as PoolClient & Client).connection.stream.destroy();
      }
      throw error;
    }
  };
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(isDead || destroy),
  };
}

/** Without a number, the driver would take the limit of the pool. */
const longestMs = 2 ** 31 - 1;

/** A connection without limits, which it gets back when it is released. */
async function unlimitedClient(client: PoolClient, canceledMs: number): Promise<PostgresPoolClient> {
  const setTimeouts = (ms: number) => client.query(`set statement_timeout = ${ms}`);
  const giveUp = (error: Error) => client.release(error);
  await setTimeouts(0).catch((error: Error) => {
    giveUp(error);
    throw error;
  });
  return {
    ...storingClient(client, { query_timeout: longestMs }),
    release: (destroy) =>
      destroy ? client.release(destroy) : void setTimeouts(canceledMs).then(() => client.release(), giveUp),
  };
}

/** One NUL or lone surrogate in an answer must not keep the whole answer out of the database. */
function storable(parameter: unknown): unknown {
  if (typeof parameter === 'string') return storableText(parameter);
  return Array.isArray(parameter) ? parameter.map(storable) : parameter;
}

/** A statement of the `sql` tag, or its text with `$1…` and the parameters. */
type Statement<Row> = [statement: RawBuilder<Row>] | [text: string, parameters: readonly unknown[]];

/** Runs one statement and returns its rows: ``query(db, sql<{ line: string }>`select line from … where key = ${key}`)``. */
export async function query<Row>(db: Database | Transaction, ...statement: Statement<Row>): Promise<Row[]> {
  const run = async () => (await db.executeQuery(compiled(db, statement))).rows;
  // A statement alone is rolled back as a whole. REINDEX, for one, can end it by a deadlock.
  return db.isTransaction ? run() : retryDeadlock(run);
}

/**
 * Like {@link query}, but parsed once per connection, for statements that every read or event runs; the text must not vary. It is
 * planned each time (`plan_cache_mode` of our sessions): a plan kept from an empty table would scan it for good.
 */
export async function hotQuery<Row>(db: Database | Transaction, ...statement: Statement<Row>): Promise<Row[]> {
  const query = compiled(db, statement);
  if (!preparedNames.has(query.sql)) preparedNames.set(query.sql, preparedName(query.sql));
  const run = async () => (await db.executeQuery(query)).rows;
  return db.isTransaction ? run() : retryDeadlock(run);
}

/** The name of a prepared statement, from its text: the same in every process, and of no other statement. */
export function preparedName(text: string, prefix = 'hot'): string {
  return `${prefix}_${hash('sha256', text, 'base64url').slice(0, 22)}`;
}

/** The names of prepared statements, by text: Kysely gives the driver only text and values. */
const preparedNames = new Map<string, string>();

function compiled<Row>(db: Database | Transaction, statement: Statement<Row>): CompiledQuery<Row> {
  return typeof statement[0] === 'string'
    ? CompiledQuery.raw(statement[0], [...(statement[1] ?? [])])
    : statement[0].compile(db);
}

type ScalarType =
  | 'text'
  | 'bigint'
  | 'integer'
  | 'smallint'
  | 'numeric'
  | 'double precision'
  | 'boolean'
  | 'timestamptz'
  | 'date'
  | 'jsonb'
  | 'uuid';

/**
 * Rows as one relation of a statement, with each column named once: its type, for a property of the same name, or its type
 * and how a row gives its value. All rows travel as one JSON parameter, the only way in which rows are passed to Postgres.
 *
 * ``sql`insert into t (line, sent_at) select line, sent_at from ${relation('new', texts, {
 *   line: 'text', sent_at: ['timestamptz', (text) => text.sentAt] })}` `` reads
 * `json_to_recordset($1::json) as new (line text, sent_at timestamptz)`. `ordinality` names a last column that counts from 1.
 */
export function relation<Row, Column extends string>(
  name: string,
  rows: readonly Row[],
  columns: {
    readonly [C in Column]:
      | (C extends keyof Row ? ScalarType : never)
      | readonly [type: ScalarType, value: (row: Row) => unknown];
  },
  ordinality?: string,
): RawBuilder<unknown> {
  const declared = Object.entries<ScalarType | readonly [ScalarType, (row: Row) => unknown]>(columns).map(
    ([column, given]) => {
      const [type, value] =
        typeof given === 'string' ? ([given, (row: Row) => row[column as keyof Row]] as const) : given;
      return { column, type, value };
    },
  );
  const records = rows.map((row) => Object.fromEntries(declared.map(({ column, value }) => [column, value(row)])));
  return relationOf(
    sql`${storableJson(records)}`,
    name,
    Object.fromEntries(declared.map(({ column, type }) => [column, type])),
    ordinality,
  );
}

/** A relation from a JSON array of objects whose keys are its columns. */
export function relationOf(
  json: RawBuilder<unknown>,
  name: string,
  types: Readonly<Record<string, string>>,
  ordinality?: string,
): RawBuilder<unknown> {
  const columns = sql.raw(
    Object.entries(types)
      .map(([column, type]) => `${column} ${type}`)
      .join(', '),
  );
  if (ordinality === undefined) return sql`json_to_recordset(${json}::json) as ${sql.raw(name)} (${columns})`;
  const names = sql.raw([...Object.keys(types), ordinality].join(', '));
  return sql`rows from (json_to_recordset(${json}::json) as (${columns})) with ordinality as ${sql.raw(name)} (${names})`;
}

const deadlock = '40P01';
const serializationFailure = '40001';

/** Another transaction inserted a row meanwhile that this one takes for new: `inTransaction` repeats the work. */
export class ChangedMeanwhile extends Error {
  readonly code = serializationFailure;
}

/** Repeats a transaction that Postgres ended because of a deadlock or a serialization failure. */
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

/** Whether a statement failed because of `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === lockNotAvailable;
}

/**
 * Makes the statements of a transaction fail after waiting a second for a lock. While one waits for an exclusive lock, all later
 * queries on the table queue up behind it, and the holder may be an analyst's long query.
 */
export async function limitLockWait(tx: Database | Transaction): Promise<void> {
  await query(tx, sql`set local lock_timeout = '1s'`);
}

/** Runs `work` in a transaction, and repeats it after a deadlock, so `work` must not have other side effects. */
export function inTransaction<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return retryDeadlock(() => db.transaction().execute(work));
}
