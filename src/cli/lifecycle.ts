import { setTimeout as sleep } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import pRetry from 'p-retry';
import { Client } from 'pg';
import type { Outages } from '../alerts/watch.ts';
import type { Context, ReadySettings } from '../context.ts';
import { createDatabase } from '../db/database.ts';
import { refuseOtherEncoding, selectEncoding } from '../db/migrate.ts';
import { isPostgresAway, isVagueRefusal } from '../db/refusals.ts';
import { isPooled, refuseSharedSessions } from '../db/session.ts';
import { areMigrated } from '../migrations.ts';
import { toType } from '../shared/command-name.ts';
import type { Log } from '../shared/log.ts';
import { withTimeout } from '../shared/timeout.ts';
import { describeFailure, exitCodes } from './failures.ts';

/*
 * Deadlines of a shutdown, in milliseconds after the signal. A process ends within five seconds even while the API,
 * Redis or Postgres hangs. When its leases expire, another process or its next start continues its work.
 */

/** Reads that are still running are aborted, and no further send is dispatched. */
const readsMs = 2_000;
/** A dispatched send without an answer is recorded as UNKNOWN. */
const sendsMs = 3_500;
/** The queues' handlers have ended. */
export const drainMs = 3_000;
/** The process exits. */
const hardLimitMs = 4_500;
/**
 * After Ctrl-C, `npx` forwards a signal that the terminal has already sent to this process. A second one this soon is
 * the same.
 */
const sameCtrlCMs = 500;

/** Passed by the entry point to the commands, because nothing in `src` may import the workers. */
export interface Entry {
  startWorkers(
    context: Context,
    options?: { readonly role?: 'start'; readonly outages?: Outages },
  ): Promise<{ close(deadlineMs: number): Promise<void> }>;
}

/** The running parts of a process. */
export interface Running {
  /** Aborts API requests: only those that can be repeated, or all. */
  abandon(what: 'repeatable' | 'all'): void;
  /** Finishes work in progress and closes all resources. */
  close(): Promise<void>;
}

/**
 * Runs until a signal or a failure, then closes all resources. Exit code 0 unless it failed. A second Ctrl-C forces the
 * exit. A second SIGTERM doesn't, because platforms send it to several processes of a group.
 */
export function runUntilStopped(log: Log, running: Running): void {
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const grace = closeWithGrace(
    {
      delay: false,
      logger: { error: (err: unknown) => log.error({ err }, 'Closing failed during the stop') },
      skip: ['SIGTERM', 'SIGINT', 'SIGHUP'],
    },
    async ({ signal, err }) => {
      // A failure or another signal may have started the shutdown.
      first ??= { signal: signal ?? 'SIGTERM', at: performance.now() };
      if (err) log.fatal({ err }, 'The process failed and stops');
      else log.info({ signal: first.signal }, 'Stopping after the work in progress');
      const timers = [
        setTimeout(() => running.abandon('repeatable'), readsMs),
        setTimeout(() => running.abandon('all'), sendsMs),
      ];
      const closed = running.close().then(() => true);
      const isClosed = await withTimeout(hardLimitMs, closed, () => false);
      for (const timer of timers) clearTimeout(timer);
      if (isClosed) log.info('Stopped');
      else log.warn('Stopped before all work was finished; another process or the next start takes it over');
    },
  );
  // Writing to a closed terminal fails, also during the stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const onSignal = (signal: NodeJS.Signals) => {
    if (first === undefined) {
      first = { signal, at: performance.now() };
      grace.close();
    } else if (signal === 'SIGINT' && performance.now() - first.at > sameCtrlCMs) {
      log.warn('Stopped at once by a second Ctrl-C; another process or the next start takes over the work in progress');
      process.exit(exitCodes.failed);
    }
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal);
}

const connectMs = 5_000;
const firstPauseMs = 250;
const maxPauseMs = 5_000;

/** How long to retry a refusal that can mean either a full or starting pooler, or a wrong setting. */
const vagueMs = 120_000;

/**
 * Waits until Postgres grants so many connections at once, because a platform starts processes and database in any
 * order. Logs one warning with the server's message and the remedy, and a line once it succeeds. SIGTERM or Ctrl-C
 * meanwhile ends the process with code 0. Rejects at once for errors that waiting can't fix, such as a wrong password
 * or a missing database, and after `maxVagueMs` for ambiguous ones, unless a connection was granted before. `onFailure` is
 * told of each failure that it waits out.
 */
export async function waitForPostgres(
  databaseUrl: string,
  log: Log,
  connections = 1,
  onFailure?: (error: Error) => Promise<void>,
  maxVagueMs = vagueMs,
): Promise<void> {
  let isLogged = false;
  let hasConnected = false;
  const begun = performance.now();
  const isWorthWaiting = (error: unknown) =>
    isPostgresAway(error) || (isVagueRefusal(error) && (hasConnected || performance.now() - begun < maxVagueMs));
  const connected = () =>
    pRetry(() => tryToConnect(databaseUrl, connections, () => (hasConnected = true)), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: firstPauseMs,
      maxTimeout: maxPauseMs,
      shouldRetry: ({ error }) => isWorthWaiting(error),
      async onFailedAttempt({ error }) {
        if (!isWorthWaiting(error)) return;
        if (!isLogged) log.warn(`Waiting for Postgres. ${describeFailure(error, { DATABASE_URL: databaseUrl })}`);
        isLogged = true;
        await onFailure?.(error);
      },
    });
  await stoppable(log, connected);
  if (isLogged) log.info('Postgres accepts connections now; the start continues');
}

/** While the process waits, SIGTERM or Ctrl-C ends it with code 0. */
async function stoppable(log: Log, work: () => Promise<void>): Promise<void> {
  const stop = () => {
    log.info('Stopped: no work was in progress');
    process.exit(exitCodes.done);
  };
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop);
  try {
    await work();
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop).off('SIGHUP', stop);
  }
}

const refusalMs = 2_000;

/**
 * Rejects with errors that waiting for Postgres can't fix, such as a wrong password. For a process that works without
 * Postgres, so an unreachable or slow one isn't an error here.
 */
export async function checkPostgres(databaseUrl: string): Promise<void> {
  const connected = tryToConnect(databaseUrl).catch((error: unknown) => {
    if (!isPostgresAway(error) && !isVagueRefusal(error)) throw error;
  });
  await withTimeout(refusalMs, connected, () => undefined);
}

/** Milliseconds between two checks for missing migrations, and between two log lines about them. */
const migrationsEveryMs = 1_000;
const migrationsAgainMs = 300_000;

/**
 * Waits until the database has all migrations of this release or a newer one. Logs missing migrations at once, and then
 * every five minutes. SIGTERM or Ctrl-C meanwhile ends the process with code 0.
 */
export function waitForMigrations({ databaseUrl, redisUrl }: ReadySettings, log: Log): Promise<void> {
  return stoppable(log, async () => {
    await using database = createDatabase({ url: databaseUrl, log, maxConnections: 1, name: 'migrations' });
    const areApplied = () => areMigrated(database.db, redisUrl === undefined);
    await logMissingMigrations(areApplied, log, 'This worker waits for them.');
  });
}

/** Like {@link waitForMigrations}, for a process that works meanwhile. Never rejects. Ends when the signal fires. */
export async function logMissingMigrations(
  areApplied: () => Promise<boolean>,
  log: Log,
  meanwhile: string,
  signal = new AbortController().signal,
): Promise<void> {
  let loggedAt: number | undefined;
  while (!signal.aborted) {
    // An unreachable Postgres is reported elsewhere.
    const isDone = await areApplied().catch(() => undefined);
    if (isDone) {
      if (loggedAt !== undefined) log.info('The database has all migrations of this release now');
      return;
    }
    if (isDone === false && (loggedAt === undefined || performance.now() - loggedAt > migrationsAgainMs)) {
      loggedAt = performance.now();
      log.warn(`The database lacks migrations of this release: run ${toType('migrate')}. ${meanwhile}`);
    }
    await sleep(migrationsEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Opens and closes the connections at once, to prove that Postgres grants them and that the database is usable. */
async function tryToConnect(databaseUrl: string, connections = 1, onConnected = () => {}): Promise<void> {
  const options = { connectionString: databaseUrl, connectionTimeoutMillis: connectMs };
  const clients = Array.from({ length: connections }, () => new Client(options));
  // Without a listener, a connection that breaks while closing would end the process.
  for (const client of clients) client.on('error', () => undefined);
  try {
    const connecting = await Promise.allSettled(clients.map((client) => client.connect()));
    if (connecting.some(({ status }) => status === 'fulfilled')) onConnected();
    for (const each of connecting) if (each.status === 'rejected') throw each.reason;
    const [client] = clients;
    if (!client) return;
    if (await isPooled(client)) await refuseSharedSessions(databaseUrl);
    refuseOtherEncoding((await client.query(selectEncoding)).rows);
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
  }
}
