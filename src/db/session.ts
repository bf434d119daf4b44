import { Client, type ClientBase, type QueryResult } from 'pg';
import { UserError } from '../shared/errors.ts';

/**
 * Settings of all our sessions. A role, a database, a server or `options` in DATABASE_URL may have changed them.
 * `default_transaction_read_only` isn't included: hosting providers set it when a disk is full, and `doctor` reports
 * it.
 */
export const sessionSettings = {
  // How values are written and read.
  array_nulls: 'on',
  bytea_output: 'hex',
  datestyle: 'ISO, MDY',
  extra_float_digits: '1',
  intervalstyle: 'postgres',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  // "One day later" must have the same length on every server.
  timezone: 'UTC',
  timezone_abbreviations: 'Default',
  transform_null_equals: 'off',
  xmlbinary: 'base64',
  xmloption: 'content',
  // Which rows and names a statement refers to.
  gin_fuzzy_search_limit: '0',
  row_security: 'on',
  search_path: '"$user", public',
  session_replication_role: 'origin',
  // Time limits of statements and sessions. Our sessions set their own.
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  lock_timeout: '0',
  statement_timeout: '0',
  transaction_timeout: '0',
  // Ends the session of a lost host within half a minute. Until then, it holds its locks.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // Guarantees of transactions: statements assume READ COMMITTED, and a delivery is answered once its commit is
  // durable.
  default_transaction_deferrable: 'off',
  default_transaction_isolation: 'read committed',
  synchronous_commit: 'on',
  // JIT costs 0.5 to 3 s if the planner overestimates a short statement, and is on by default.
  jit: 'off',
  // Planning a statement each time costs more than running it. `reporting/analyze.ts` ends plans for empty tables.
  plan_cache_mode: 'auto',
  // Looking up a few rows through an index is cheaper than scanning a table, on any modern disk and in memory.
  seq_page_cost: '1',
  random_page_cost: '1.1',
  // What helps a report of somebody else's can make a statement of ours take seconds.
  parallel_setup_cost: '1000',
  enable_bitmapscan: 'on',
  enable_hashagg: 'on',
  enable_hashjoin: 'on',
  enable_indexonlyscan: 'on',
  enable_indexscan: 'on',
  enable_material: 'on',
  enable_memoize: 'on',
  enable_mergejoin: 'on',
  enable_nestloop: 'on',
  enable_seqscan: 'on',
  enable_sort: 'on',
};

/** Settings for some sessions only. */
export type SessionOverrides = Partial<Record<keyof typeof sessionSettings | 'default_transaction_read_only', string>>;

/**
 * Applies the settings that our statements rely on to a new session. Uses a statement, because poolers refuse start-up
 * parameters. Skips settings that the server doesn't know, `session_replication_role` if the role may not change it,
 * and `synchronous_commit` if it is stricter. Resolves to whether the session took writes before.
 */
export async function setUpSession(client: ClientBase, overrides: SessionOverrides = {}): Promise<boolean> {
  const wanted = Object.entries({ ...sessionSettings, ...overrides }).map(([name, value]) => `('${name}', '${value}')`);
  // All in one message: with a very short timeout, the statement that lifts the timeout could exceed it.
  const results = await client.query(
    `set statement_timeout = 0; select pg_catalog.set_config(s.name, s.value, false)
     from (values ${wanted.join(', ')}) as s (name, value)
     where pg_catalog.current_setting(s.name, true) <> s.value and case s.name
       when 'synchronous_commit' then 'off' in (pg_catalog.current_setting(s.name), s.value)
       when 'session_replication_role' then (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
       else true end;
     select pg_catalog.current_setting('transaction_read_only') = 'off' as takes_writes`,
  );
  return (results as unknown as QueryResult<{ takes_writes: boolean }>[]).at(-1)?.rows[0]?.takes_writes ?? true;
}

/** A pooler shares the sessions of our connections with other programs. */
export class SharedSessions extends UserError {
  readonly code = 'shared_sessions';

  constructor() {
    super(
      'DATABASE_URL leads through a pooler in transaction mode, which loses prepared statements, LISTEN and the settings of sessions.',
      {
        remedy:
          'Connect to Postgres directly, or to a pooler in session mode, which many hosts offer at another port or host name.',
      },
    );
  }
}

const connectMs = 5_000;
/** A pooler with several server processes may assign the same one twice in a row. */
const rounds = 4;

/**
 * Rejects with {@link SharedSessions} if a pooler assigns server processes per transaction. Changes nothing in the
 * sessions, since other programs use them too.
 */
export async function refuseSharedSessions(databaseUrl: string): Promise<void> {
  const options = { connectionString: databaseUrl, connectionTimeoutMillis: connectMs, query_timeout: connectMs };
  const [one, other] = [new Client(options), new Client(options)];
  for (const client of [one, other]) client.on('error', () => undefined);
  try {
    await Promise.all([one.connect(), other.connect()]);
    const [first, second]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      first.push(await pidOf(one));
      second.push(await pidOf(other));
    }
    if (areShared(first, second)) throw new SharedSessions();
  } finally {
    await Promise.allSettled([one.end(), other.end()]);
  }
}

/**
 * Whether different server processes answered when two connections took turns. A session that isn't shared always has
 * the same process.
 */
export function areShared(first: readonly number[], second: readonly number[]): boolean {
  return new Set(first).size > 1 || new Set(second).size > 1 || first.some((pid) => second.includes(pid));
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? Number.NaN;
}

/** Whether something between us and Postgres, such as a pooler, assigns its own connection numbers. */
export async function isPooled(client: ClientBase): Promise<boolean> {
  const { processID } = client as Client & { readonly processID: number | null };
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid !== processID;
}
