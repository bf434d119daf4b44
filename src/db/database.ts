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

/** All statements go through {@link query} or {@link hotQuery}, so the types don't need to know any table. */
export type Database = Db<unknown>;
export type Transaction = Tx<unknown>;

export interface OpenDatabase extends AsyncDisposable {
  readonly db: Database;
  /** For maintenance: the same connections without a time limit for statements. */
  readonly unlimited: Database;
  /** For hot statements, which are prepared by name. */
  readonly pool: Pool;
}

/**
 * Opens a pool of connections, which the caller disposes of. A restart of Postgres only fails the queries at the time.
 */
export function createDatabase(options: {
  url: string;
  log: Log;
  maxConnections: number;
  /** Shown in pg_stat_activity. */
  name: string;
  /**
   * Maximum duration of a statement. Postgres cancels it slightly earlier; if it doesn't, the connection is dead: a
   * firewall that forgot it, or a host that is gone, sends no reset. Default: no limit.
   */
  statementMs?: number;
  /** Postgres refuses every write. */
  isReadOnly?: boolean;
}): OpenDatabase {
  const { url, statementMs, isReadOnly = false } = options;
  const canceledMs = statementMs === undefined ? 0 : Math.round(0.8 * statementMs);
  const onLost = (error: Error) => {
    // If Postgres stops while the pool is being closed, a warning would be noise.
    if (!pool.ending) options.log.warn({ err: error }, 'A connection to Postgres was lost');
  };
  const pool = openPool(url, options.log, onLost, {
    isReadOnly,
    max: options.maxConnections,
    application_name: `trunkline ${options.name}`,
    query_timeout: statementMs,
    onConnect: prepareSession(url, {
      statement_timeout: String(canceledMs),
      ...(isReadOnly && { default_transaction_read_only: 'on' }),
    }),
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
 * A connection for Kysely. Makes parameters storable, and prepares hot statements by name. If a statement gets no
 * answer within the limit, the connection is destroyed: the next statement would wait behind it.
 */
function storingClient(client: PoolClient, limit: { readonly query_timeout?: number } = {}): PostgresPoolClient {
  let isDead = false;
  const query = async (text: string, parameters: readonly unknown[]) => {
    try {
      return await client.query({ name: preparedNames.get(text), text, values: parameters.map(storable), ...limit });
    } catch (error) {
      if (error instanceof Error && error.message === 'Query read timeout') {
        isDead = true;
        // If the connection is gone, don't wait for it again to roll back.
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

/** Without a number, the driver would use the pool's limit. */
const longestMs = 2 ** 31 - 1;

/** A connection without limits. They are restored when it is released. */
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

/** A NUL or lone surrogate must not keep a whole answer out of the database. */
function storable(parameter: unknown): unknown {
  if (typeof parameter === 'string') return storableText(parameter);
  return Array.isArray(parameter) ? parameter.map(storable) : parameter;
}

/** A statement of the `sql` tag, or a text with `$1…` and its parameters. */
type Statement<Row> = [statement: RawBuilder<Row>] | [text: string, parameters: readonly unknown[]];

/**
 * Runs a statement and returns its rows: ``query(db, sql<{ line: string }>`select line from … where key = ${key}`)``.
 */
export async function query<Row>(db: Database | Transaction, ...statement: Statement<Row>): Promise<Row[]> {
  const run = async () => (await db.executeQuery(compiled(db, statement))).rows;
  // Safe to repeat: a single statement is rolled back completely. REINDEX, for example, can end it with a deadlock.
  return db.isTransaction ? run() : retryDeadlock(run);
}

/**
 * Like {@link query}, but parsed once per connection, and after some runs planned once per ANALYZE. For statements that
 * every read or event runs. The text must not vary, nor the columns of its result: `*` of a table would, with each
 * column that a later release adds.
 */
export async function hotQuery<Row>(db: Database | Transaction, ...statement: Statement<Row>): Promise<Row[]> {
  const query = compiled(db, statement);
  if (!preparedNames.has(query.sql)) preparedNames.set(query.sql, preparedName(query.sql));
  const run = async () => (await db.executeQuery(query)).rows;
  return db.isTransaction ? run() : retryDeadlock(run);
}

/** The name of a prepared statement, derived from its text: the same in every process, and unique. */
export function preparedName(text: string, prefix = 'hot'): string {
  return `${prefix}_${hash('sha256', text, 'base64url').slice(0, 22)}`;
}

/** The names of prepared statements by text, because Kysely only passes text and values to the driver. */
const preparedNames = new Map<string, string>();

function compiled<Row>(db: Database | Transaction, statement: Statement<Row>): CompiledQuery<Row> {
  return typeof statement[0] === 'string'
    ? CompiledQuery.raw(statement[0], [...(statement[1] ?? [])])
    : statement[0].compile(db);
}

type ScalarType =
  | 'text'
  | 'text[]'
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
 * Rows as a relation in a statement, naming each column once: either its type, for a property of the same name, or its
 * type and a function that returns its value. All rows travel as one JSON parameter. Rows are passed to Postgres in no
 * other way.
 *
 * ``sql`insert into t (line, sent_at) select line, sent_at from ${relation('new', texts, {
 *   line: 'text', sent_at: ['timestamptz', (text) => text.sentAt] })}` `` reads
 * `json_to_recordset($1::json) as new (line text, sent_at timestamptz)`.
 * `ordinality` names an additional last column that counts from 1.
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

/**
 * No limit, but Postgres plans for a tenth of the hundred rows that it expects of a function. So it looks up rows by
 * their keys instead of scanning a table, also while the table is small or empty.
 */
const aFewRows = sql`limit (select 1000000000)`;

/** A relation from a JSON array of objects, with their keys as columns. */
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
  const alias = sql.raw(name);
  const names = sql.raw([...Object.keys(types), ordinality].join(', '));
  const rows =
    ordinality === undefined
      ? sql`json_to_recordset(${json}::json) as ${alias} (${columns})`
      : sql`rows from (json_to_recordset(${json}::json) as (${columns})) with ordinality as ${alias} (${names})`;
  return sql`(select * from ${rows} ${aFewRows}) as ${alias}`;
}

/**
 * A value of a hot statement that Postgres plans without looking at it: a plan for each value would often seem cheaper
 * than the prepared one, and cost a multiple of the statement.
 */
export const unseen = (value: string | readonly string[]) =>
  typeof value === 'string' ? sql`(select ${value}::text)` : sql`(select ${value}::text[])::text[]`;

const deadlock = '40P01';
const serializationFailure = '40001';

/** Another transaction has inserted a row that this one considers new. `inTransaction` then repeats the work. */
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
 * Lets the statements of a transaction wait at most a second for a lock. While a statement waits for an exclusive lock,
 * all later queries on the table queue up behind it, and an analyst's long query may hold the lock.
 */
export async function limitLockWait(tx: Database | Transaction): Promise<void> {
  await query(tx, sql`set local lock_timeout = '1s'`);
}

/** Runs `work` in a transaction, and repeats it after a deadlock. So `work` must not have other side effects. */
export function inTransaction<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return retryDeadlock(() => db.transaction().execute(work));
}
