import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Log } from '../shared/log.ts';
import { limitReached } from './limits.ts';

const connectMs = 5_000;
const firstPauseMs = 50;
const longestPauseMs = 500;
/** Minimum milliseconds between two warnings about one connection limit. */
const warnAgainMs = 60_000;

/**
 * Opens a pool, each connection of which is prepared as ours are. A connection that a limit refuses is asked for again for a
 * few seconds: the pool may get one of its own back, or another process may close one. Which limit that is, is logged.
 */
export function openPool(url: string, log: Log, config: PoolConfig): Pool {
  return new RetryingPool(
    {
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      onConnect: prepareSession(url),
      ...config,
      connectionString: url,
    },
    log,
  );
}

class RetryingPool extends Pool {
  readonly #log: Log;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(config: PoolConfig, log: Log) {
    super(config);
    this.#log = log;
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
        return await super.connect();
      } catch (error) {
        const limit = limitReached(error);
        if (!limit) throw error;
        this.#warn(`${limit.sentence} ${limit.remedy}`);
        if (performance.now() + pause > deadline || this.ending) throw error;
        await sleep(pause);
      }
    }
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
 * Prepares each new connection of a pool. Compiling (`jit`, on by default) takes 0.5 to 3 s where the planner overestimates
 * a statement, and our statements are short. As a statement, because poolers refuse it as a start-up parameter.
 */
export function prepareSession(url: string): (client: ClientBase) => Promise<void> {
  const watch = watchForDeadConnections(url);
  return async (client) => {
    await client.query('set jit = off');
    await watch(client);
  };
}

/**
 * Identifies the deployment whose database this is, the same for all of its processes: by server and database, so that a
 * copy of a database (a dump restored elsewhere, a clone) counts as another deployment.
 */
export async function readDeploymentId(databaseUrl: string): Promise<string> {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  // A connection that is cut while it ends has nobody else to tell.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ identity: string }>(
      `select (select system_identifier from pg_control_system()) || '/' || oid as identity
       from pg_database where datname = current_database()`,
    );
    return hash('sha256', rows[0]?.identity ?? '').slice(0, 12);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const checkMs = 1_000;
/** After this long without a byte of a pending answer, Postgres is asked through another connection. */
const stalledMs = 5_000;
/** An idle connection runs an empty statement this often: a dead one is found, and no firewall drops a live one. */
const idleMs = 15_000;
/** Wait before ending a connection: the answer may still be in flight. */
const graceMs = 500;
const askTimeoutMs = 5_000;

interface WatchedConnection {
  readonly client: ClientBase;
  readonly stream: Socket;
  /** Who serves it, by an id that no later session has. */
  readonly session: string;
  /** Bytes written when the last answer was complete. */
  bytesWritten: number;
  /** Bytes received at the last check, and when that number last grew. */
  bytesRead: number;
  lastByteAt: number;
  /** Since when an answer has been pending without a byte received. */
  pendingSince: number;
}

/**
 * Returns a function that watches a new connection and ends it when it is dead. A firewall that dropped its state, or a host
 * that is gone, sends no reset, and the system would wait 15 minutes or more. The duration of a statement proves nothing, so
 * Postgres is asked through a new connection: when it waits for us, or does not know the session, no answer will come.
 * Connections through a pooler are not watched.
 */
function watchForDeadConnections(url: string): (client: ClientBase) => Promise<void> {
  const wires = new Set<WatchedConnection>();
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;

  async function check(): Promise<void> {
    const now = performance.now();
    for (const wire of wires) {
      if (isStalled(wire)) continue;
      if (wire.stream.bytesRead !== wire.bytesRead) wire.lastByteAt = now;
      wire.bytesRead = wire.stream.bytesRead;
      wire.pendingSince = now;
      if (now - wire.lastByteAt >= idleMs) wire.client.query('select').catch(() => undefined);
    }
    const stalled = [...wires].filter(({ pendingSince }) => now - pendingSince >= stalledMs);
    if (stalled.length === 0 || isAsking) return;
    isAsking = true;
    // When Postgres cannot be reached at all, the next check tries again.
    await endDead(url, stalled).catch(() => undefined);
    isAsking = false;
  }

  return async (client) => {
    const { rows } = await client.query<Served>(`select pid, ${session} as session ${ours}`);
    const { connection, processID } = client as Client & { readonly processID: number | null };
    // A pooler gives its own number: the session behind it may serve somebody else a moment later.
    if (rows[0]?.pid !== processID) return;
    const stream = connection.stream as Socket;
    const now = performance.now();
    const wire: WatchedConnection = {
      client,
      stream,
      session: rows[0].session,
      bytesWritten: stream.bytesWritten,
      bytesRead: stream.bytesRead,
      lastByteAt: now,
      pendingSince: now,
    };
    connection.on('readyForQuery', () => {
      wire.bytesWritten = stream.bytesWritten;
    });
    wires.add(wire);
    timer ??= setInterval(check, checkMs).unref();
    stream.once('close', () => {
      wires.delete(wire);
      if (wires.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  };
}

interface Served {
  readonly pid: number;
  readonly session: string;
}

/** Process ids are reused; together with the start time they identify a session. */
const session = `pid || ' ' || extract(epoch from backend_start)`;
const ours = 'from pg_stat_activity where pid = pg_backend_pid()';

/** Whether an answer is pending and no byte was received since the last check. */
function isStalled({ stream, bytesWritten, bytesRead }: WatchedConnection): boolean {
  return stream.bytesWritten > bytesWritten && stream.bytesRead === bytesRead;
}

async function endDead(url: string, stalled: readonly WatchedConnection[]): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: askTimeoutMs,
    query_timeout: askTimeoutMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const busy = await client.query<{ session: string }>(
      `select ${session} as session from pg_stat_activity
       where ${session} = any($1) and wait_event_type is distinct from 'Client'`,
      [stalled.map((wire) => wire.session)],
    );
    await sleep(graceMs, undefined, { ref: false });
    const working = new Set(busy.rows.map((row) => row.session));
    const dead = stalled.filter((wire) => !working.has(wire.session) && isStalled(wire));
    for (const { stream } of dead) stream.destroy(new Error('Nothing comes over the connection any more'));
    // Roll back at once: otherwise its locks are held until Postgres notices.
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${session} = any($1)`, [
      dead.map((wire) => wire.session),
    ]);
  } finally {
    // end() would wait for an answer that may not come either.
    client.connection.stream.destroy();
  }
}
