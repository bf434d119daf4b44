import { Client, type ClientBase } from 'pg';
import { UserError } from '../shared/errors.ts';

/**
 * What each of our sessions has, because a role, a database, a server or `options` in DATABASE_URL may set it otherwise.
 * `default_transaction_read_only` is not among them: hosts set it when a disk is full, and `doctor` names it.
 */
const settings = {
  // How values are written and read.
  array_nulls: 'on',
  bytea_output: 'hex',
  datestyle: 'ISO, MDY',
  extra_float_digits: '1',
  intervalstyle: 'postgres',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  // "One day later" has the same length on every server.
  timezone: 'UTC',
  timezone_abbreviations: 'Default',
  transform_null_equals: 'off',
  xmlbinary: 'base64',
  xmloption: 'content',
  // Which rows and names a statement means.
  gin_fuzzy_search_limit: '0',
  row_security: 'on',
  search_path: '"$user", public',
  session_replication_role: 'origin',
  // When a statement or a session ends. Ours set their own limits.
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  lock_timeout: '0',
  statement_timeout: '0',
  transaction_timeout: '0',
  // Ends the session of a host that is gone within half a minute: until then, it holds its locks.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // What transactions promise: statements are written for READ COMMITTED, and a delivery is answered once its commit is durable.
  default_transaction_deferrable: 'off',
  default_transaction_isolation: 'read committed',
  synchronous_commit: 'on',
  // Costs 0.5 to 3 s where the planner overestimates a short statement; on by default.
  jit: 'off',
  // A prepared statement would keep the plan of the empty table on which it first ran, until the next ANALYZE.
  plan_cache_mode: 'force_custom_plan',
  // Looking up some rows by key in an index is cheaper than reading a table, on any disk of today and from memory.
  random_page_cost: '1.1',
};

/** Values of settings for some sessions alone. */
export type SessionOverrides = Partial<Record<keyof typeof settings, string>>;

/**
 * Gives a new session the settings that our statements rely on. By a statement, because poolers refuse start-up parameters.
 * Settings that the server does not know are left out; so is `session_replication_role` where the role may not change it, and
 * `synchronous_commit` where it is stricter.
 */
export async function setUpSession(client: ClientBase, overrides: SessionOverrides = {}): Promise<void> {
  const wanted = Object.entries({ ...settings, ...overrides }).map(([name, value]) => `('${name}', '${value}')`);
  // In the same message: with a limit of some milliseconds, the statement that lifts it could run into it.
  await client.query(
    `set statement_timeout = 0; select pg_catalog.set_config(s.name, s.value, false)
     from (values ${wanted.join(', ')}) as s (name, value)
     where pg_catalog.current_setting(s.name, true) <> s.value and case s.name
       when 'synchronous_commit' then pg_catalog.current_setting(s.name) = 'off'
       when 'session_replication_role' then (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
       else true end`,
  );
}

/** A pooler gives our connections sessions that they share with others. */
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
 * Rejects with {@link SharedSessions} when a pooler assigns server processes per transaction. Changes nothing in the sessions,
 * which other programs use too.
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

/** Whether servers with these process ids answered two connections in turn: a session of its own is always the same server. */
export function areShared(first: readonly number[], second: readonly number[]): boolean {
  return new Set(first).size > 1 || new Set(second).size > 1 || first.some((pid) => second.includes(pid));
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? Number.NaN;
}

/** Whether something between us and Postgres numbers its connections itself, as poolers do. */
export async function isPooled(client: ClientBase): Promise<boolean> {
  const { processID } = client as Client & { readonly processID: number | null };
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid !== processID;
}
