import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Log } from '../shared/log.ts';
import { describeRefusal, isFull, isVagueRefusal } from './refusals.ts';
import { isPooled, refuseSharedSessions, type SessionOverrides, setUpSession } from './session.ts';

const connectMs = 5_000;
const firstPauseMs = 50;
const longestPauseMs = 500;
/** Firewalls keep connections that are probed this often. A connection to a lost host ends ten seconds later. */
const keepAliveMs = 10_000;
/** Longer than the waits of most loops: each new connection costs a handshake and two statements. */
const idleMs = 90_000;
/** Minimum age in milliseconds at which a read-only session is replaced: a busy pool mustn't reconnect all the time. */
const replaceAfterMs = 1_000;
/** Minimum milliseconds between two warnings about the same connection limit. */
const warnAgainMs = 60_000;

/**
 * Opens a pool whose connections are prepared by {@link prepareSession}. If a limit or a full pooler refuses a
 * connection, the pool logs the limit and retries for a few seconds, because another connection may close meanwhile.
 * Calls `onLost` for each open connection that is lost, idle or in use. With `isReadOnly`, refused writes are expected.
 */
export function openPool(
  url: string,
  log: Log,
  onLost: (error: Error) => void,
  { isReadOnly = false, ...config }: PoolConfig & { readonly isReadOnly?: boolean },
): Pool {
  const pool = new RetryingPool(
    {
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      idleTimeoutMillis: idleMs,
      ...config,
      onConnect: unlessLost(config.onConnect ?? prepareSession(url)),
      connectionString: url,
    },
    log,
  );
  // The pool only listens while a connection is idle, and an error without a listener ends the process.
  pool.on('connect', (client) => {
    client.on('error', (error) => readOnlySessions.has(client) || onLost(error));
    (client as Client).connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === refusals.diskFull) refusedAt.set(`${code} ${url}`, performance.now());
      if (code !== refusals.readOnly || isReadOnly) return;
      markReadOnly(url, client);
      pool.emit(writesRefused);
    });
  });
  return pool.on('error', () => undefined);
}

/** SQLSTATEs of refused writes that alerts report. */
export const refusals = { diskFull: '53100', readOnly: '25006' } as const;
const refusedAt = new Map<string, number>();

/** A pool emits this event when one of its sessions refuses a write because it is read-only. */
export const writesRefused = 'writesRefused';

/**
 * Milliseconds since the Postgres of a URL last refused a write of this process with a code; undefined if it never did.
 */
export function refusedMs(url: string, code: (typeof refusals)[keyof typeof refusals]): number | undefined {
  const at = refusedAt.get(`${code} ${url}`);
  return at === undefined ? undefined : performance.now() - at;
}

const readOnlySessions = new WeakSet<ClientBase>();

function markReadOnly(url: string, client: ClientBase): void {
  readOnlySessions.add(client);
  refusedAt.set(`${refusals.readOnly} ${url}`, performance.now());
}

/** The pool may hand out a connection that was lost during its preparation, and nobody would see the earlier error. */
function unlessLost(prepare: (client: ClientBase) => void | Promise<void>): (client: ClientBase) => Promise<void> {
  return async (client) => {
    let lost: Error | undefined;
    client.once('error', (error) => {
      lost = error;
    });
    await prepare(client);
    if (lost) throw lost;
  };
}

class RetryingPool extends Pool {
  readonly #log: Log;
  readonly #openedAt = new WeakMap<PoolClient, number>();
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(config: PoolConfig, log: Log) {
    super(config);
    this.#log = log;
    this.on('connect', (client) => this.#openedAt.set(client, performance.now()));
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | undefined {
    const connected = this.#connectWithRetries();
    if (!callback) return connected;
    connected.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
    return undefined;
  }

  async #connectWithRetries(): Promise<PoolClient> {
    const deadline = performance.now() + connectMs;
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      try {
        return this.#replacedIfReadOnly(await super.connect());
      } catch (error) {
        const refusal = isFull(error) || isVagueRefusal(error) ? describeRefusal(error) : undefined;
        if (!refusal) throw error;
        this.#warn(`${refusal.sentence} ${refusal.remedy}`);
        if (performance.now() + pause > deadline || this.ending) throw error;
        await sleep(pause);
      }
    }
  }

  /**
   * Ends a read-only session when it is released: it would stay read-only after the database takes writes again, or
   * after its address leads to another server. Postgres ends it, because a pooler would hand it out again.
   */
  #replacedIfReadOnly(client: PoolClient): PoolClient {
    const { release } = client;
    client.release = (error) => {
      const isStale = performance.now() - (this.#openedAt.get(client) ?? 0) > replaceAfterMs;
      if (error || !isStale || !readOnlySessions.has(client)) return release(error);
      const ended = client.query('select pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
      void ended.then(() => release(true));
    };
    return client;
  }

  #warn(reason: string): void {
    if (performance.now() - this.#warnedAt < warnAgainMs) return;
    this.#warnedAt = performance.now();
    this.#log.warn({ reason }, 'A connection to Postgres was refused; it is tried again');
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: boolean | Error) => void,
) => void;

/**
 * Prepares each new connection of a pool with our session settings. Rejects with `SharedSessions`, before it changes
 * anything, if other programs share the session.
 */
export function prepareSession(url: string, overrides?: SessionOverrides): (client: ClientBase) => Promise<void> {
  let isOwn = false;
  return async (client) => {
    if (!isOwn && (await isPooled(client))) await refuseSharedSessions(url);
    isOwn = true;
    const takesWrites = await setUpSession(client, overrides);
    if (!takesWrites && overrides?.default_transaction_read_only === undefined) markReadOnly(url, client);
  };
}

/**
 * Identifies the deployment that uses a database, by server and database. All its processes get the same id; a copy of
 * the database gets another one.
 */
export async function readDeploymentId(databaseUrl: string): Promise<string> {
  const config = { connectionString: databaseUrl, connectionTimeoutMillis: connectMs, query_timeout: connectMs };
  const { rows } = await withClient(config, (client) =>
    client.query<{ identity: string }>(
      `select (select system_identifier from pg_control_system()) || '/' || oid as identity
       from pg_database where datname = current_database()`,
    ),
  );
  return hash('sha256', rows[0]?.identity ?? '').slice(0, 12);
}

/** Runs `work` on a separate connection with our session settings. */
export async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  // Without a listener, losing the connection between two statements would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (config.connectionString !== undefined && (await isPooled(client))) {
      await refuseSharedSessions(config.connectionString);
    }
    await setUpSession(client);
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
