import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Log } from '../shared/log.ts';
import { limitReached } from './limits.ts';
import { describeRefusal, isVagueRefusal } from './refusals.ts';
import { isPooled, refuseSharedSessions, type SessionOverrides, setUpSession } from './session.ts';

const connectMs = 5_000;
const firstPauseMs = 50;
const longestPauseMs = 500;
/** Minimum milliseconds between two warnings about one connection limit. */
const warnAgainMs = 60_000;

/**
 * Opens a pool whose connections are prepared by {@link prepareSession}. When a limit or a full pooler refuses a connection, the
 * pool logs which one, and retries for a few seconds: another connection may be closed meanwhile. `onLost` is told of each open connection that
 * is lost, idle or in use.
 */
export function openPool(url: string, log: Log, onLost: (error: Error) => void, config: PoolConfig): Pool {
  const pool = new RetryingPool(
    {
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      ...config,
      onConnect: unlessLost(config.onConnect ?? prepareSession(url)),
      connectionString: url,
    },
    log,
  );
  // The pool itself listens only while a connection is idle, and an error without a listener ends the process.
  pool.on('connect', (client) => {
    client.on('error', onLost);
    (client as Client).connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === diskFull) diskFullAt = performance.now();
    });
  });
  return pool.on('error', () => undefined);
}

const diskFull = '53100';
let diskFullAt: number | undefined;

/** Milliseconds since Postgres last told this process that its disk is full; undefined if it never did. */
export function diskFullMs(): number | undefined {
  return diskFullAt === undefined ? undefined : performance.now() - diskFullAt;
}

/** The pool hands out a connection that was lost while it was prepared, and its error, which nobody would see, is over by then. */
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
        const refusal = limitReached(error) ?? (isVagueRefusal(error) ? describeRefusal(error) : undefined);
        if (!refusal) throw error;
        this.#warn(`${refusal.sentence} ${refusal.remedy}`);
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
 * Prepares each new connection of a pool: gives it the settings of our sessions, and watches it. Rejects with `SharedSessions`
 * before it changes a session that other programs use too.
 */
export function prepareSession(url: string, overrides?: SessionOverrides): (client: ClientBase) => Promise<void> {
  const watch = watchForDeadConnections(url);
  let isOwn = false;
  return async (client) => {
    if (!isOwn && (await isPooled(client))) await refuseSharedSessions(url);
    isOwn = true;
    await setUpSession(client, overrides);
    await watch(client);
  };
}

/**
 * Identifies the deployment that uses a database, by server and database: the same for all its processes, and another one for a
 * copy of the database.
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

/** Runs `work` on a connection of its own, with the settings of our sessions. */
export async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  // Without a listener, a connection that is lost between two statements would end the process.
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

const checkMs = 1_000;
/** After this long without a byte of a pending answer, another connection asks Postgres about the session. */
const stalledMs = 5_000;
/** Interval of empty statements on an idle connection: they reveal a dead one and keep firewalls from dropping it. */
const idleMs = 15_000;
/** Wait before a connection is ended: the answer may still be in flight. */
const graceMs = 500;
const askTimeoutMs = 5_000;

interface WatchedConnection {
  readonly client: ClientBase;
  readonly stream: Socket;
  /** Identifies the session of the server; never reused. */
  readonly session: string;
  /** Bytes written when the last answer was complete. */
  bytesWritten: number;
  /** Bytes received by the last check, and when the last of them arrived. */
  bytesRead: number;
  lastByteAt: number;
  /** Since when an answer has been pending without a received byte. */
  pendingSince: number;
}

/**
 * Returns the dead-connection watchdog of a pool, which is given each new connection. A firewall that dropped its state, or a
 * host that is gone, sends no reset, and the system waits 15 minutes or more. A long statement proves nothing, so the watchdog
 * asks Postgres through a new connection. It ends connections whose session waits for us or does not exist: no answer will
 * come. Connections through a pooler are not watched.
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
    // If Postgres cannot be reached, the next check tries again.
    await endDead(url, stalled).catch(() => undefined);
    isAsking = false;
  }

  return async (client) => {
    const { rows } = await client.query<{ pid: number; session: string }>(
      `select pid, ${session} as session from pg_stat_activity where pid = pg_backend_pid()`,
    );
    const { connection, processID } = client as Client & { readonly processID: number | null };
    // A pooler gives its own process id. The session behind it may serve another client a moment later.
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

/** Process ids are reused, so a session is identified by its start time too. */
const session = `pid || ' ' || extract(epoch from backend_start)`;

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
    for (const { stream } of dead) stream.destroy(new Error('The connection is dead: no answer arrives'));
    // Roll back now: otherwise the session keeps its locks until Postgres notices.
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${session} = any($1)`, [
      dead.map((wire) => wire.session),
    ]);
  } finally {
    // end() would wait for an answer, which may not arrive on this connection either.
    client.connection.stream.destroy();
  }
}
