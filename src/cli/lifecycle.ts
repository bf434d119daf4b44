import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Outages } from '../alerts/outages.ts';
import type { Context } from '../context.ts';
import { createDatabase } from '../db/database.ts';
import { refuseOtherEncoding, selectEncoding } from '../db/migrate.ts';
import { isPostgresAway, isVagueRefusal } from '../db/refusals.ts';
import { isPooled, refuseSharedSessions } from '../db/session.ts';
import { areMigrated } from '../migrations.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
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

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

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
 * exit. A second SIGTERM doesn't, because platforms send it to several processes of a group. Returns what ends the
 * process for a failure.
 */
export function runUntilStopped(log: Log, running: Running): (error: unknown) => void {
  let stoppingSince: number | undefined;
  async function stop(code: number): Promise<void> {
    stoppingSince = performance.now();
    setTimeout(() => running.abandon('repeatable'), readsMs);
    setTimeout(() => running.abandon('all'), sendsMs);
    const closed = running.close().then(
      () => true,
      (err: unknown) => log.error({ err }, 'Closing failed during the stop'),
    );
    if (await withTimeout(hardLimitMs, closed, () => false)) log.info('Stopped');
    else log.warn('Stopped before all work was finished; another process or the next start takes it over');
    process.exit(code);
  }
  const fail = (err: unknown) => {
    if (err instanceof UserError) log.fatal(`The process stops. ${describeFailure(err)}`);
    else log.fatal({ err }, 'The process failed and stops');
    if (stoppingSince === undefined) void stop(exitCodes.failed);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppingSince === undefined) {
      log.info({ signal }, 'Stopping after the work in progress');
      void stop(exitCodes.done);
    } else if (signal === 'SIGINT' && performance.now() - stoppingSince > sameCtrlCMs) {
      log.warn('Stopped at once by a second Ctrl-C; another process or the next start takes over the work in progress');
      process.exit(exitCodes.failed);
    }
  };
  // Writing to a closed terminal fails, also during the stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  for (const signal of stopSignals) process.on(signal, onSignal);
  process.on('uncaughtException', fail).on('unhandledRejection', fail);
  stopWithWrapper(() => onSignal('SIGTERM'));
  return fail;
}

const wrapperEveryMs = 1_000;

/**
 * npm and npx end at a SIGTERM without passing it on, so what they started stops when they are gone. A process that was
 * put into the background without them goes on. Returns the timer that watches them.
 */
function stopWithWrapper(stop: () => void): NodeJS.Timeout | undefined {
  const { ppid } = process;
  if (process.env.npm_execpath === undefined || ppid === 1) return undefined;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    stop();
  }, wrapperEveryMs);
  return timer.unref();
}

const connectMs = 5_000;
const firstPauseMs = 250;
const maxPauseMs = 5_000;
/** How long to retry a refusal that can mean either a full or starting pooler, or a wrong setting. */
const vagueMs = 120_000;

interface Awaited {
  /** Also waits for the migrations. `areQueuesHere`: those of the queues too. `meanwhile`: what the lack of them means. */
  readonly migrations?: { readonly areQueuesHere: boolean; readonly meanwhile: string };
  /** Called for each failure after which the wait goes on. */
  readonly onFailure?: (error: unknown) => Promise<void>;
  readonly maxVagueMs?: number;
  /** Ends the wait of a process that works meanwhile. Without it, SIGTERM or Ctrl-C ends the process with code 0. */
  readonly signal?: AbortSignal;
}

/**
 * Waits until Postgres is usable, because a platform starts processes and database in any order. Logs once what it waits
 * for, with the remedy. Rejects at once for errors that waiting can't fix, such as a wrong password, and after
 * `maxVagueMs` for ambiguous ones, unless a connection was granted before.
 */
export async function waitForPostgres(
  databaseUrl: string,
  log: Log,
  { migrations, onFailure, maxVagueMs = vagueMs, signal }: Awaited = {},
): Promise<void> {
  const begun = performance.now();
  let hasConnected = false;
  /** Logged as soon as what is waited for is there. */
  let ended: string | undefined;
  const tell = (sentence?: string, end?: string) => {
    if (end === ended) return;
    if (ended !== undefined) log.info(ended);
    if (sentence !== undefined) log.warn(sentence);
    ended = end;
  };
  const areApplied = async (areQueuesHere: boolean): Promise<boolean> => {
    await using database = createDatabase({ url: databaseUrl, log, maxConnections: 1, name: 'migrations' });
    return await areMigrated(database.db, areQueuesHere);
  };
  const isReady = async (): Promise<boolean> => {
    try {
      await tryToConnect(databaseUrl, () => (hasConnected = true));
      if (!migrations || (await areApplied(migrations.areQueuesHere))) {
        tell();
        return true;
      }
      const lacking = `The database lacks migrations of this release: run ${toType('migrate')}.`;
      tell(`${lacking} ${migrations.meanwhile}`, 'The database has all migrations of this release now');
      return false;
    } catch (error) {
      const isVague = isVagueRefusal(error) && (hasConnected || performance.now() - begun < maxVagueMs);
      const failure = describeFailure(error, { DATABASE_URL: databaseUrl });
      if (!isPostgresAway(error) && !isVague) {
        throw error instanceof UserError ? error : new UserError(failure, { cause: error });
      }
      tell(`Waiting for Postgres. ${failure}`, 'Postgres accepts connections now');
      await onFailure?.(error);
      return false;
    }
  };
  const stop = () => {
    log.info('Stopped: no work was in progress');
    process.exit(exitCodes.done);
  };
  if (!signal) for (const each of stopSignals) process.on(each, stop);
  const wrapper = signal ? undefined : stopWithWrapper(stop);
  try {
    let pauseMs = firstPauseMs;
    while (!signal?.aborted && !(await isReady())) {
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
  } finally {
    clearInterval(wrapper);
    for (const each of stopSignals) process.off(each, stop);
  }
}

/** Opens two connections at once, to prove that Postgres grants more than one and that the database is usable. */
async function tryToConnect(databaseUrl: string, onConnected = () => {}): Promise<void> {
  const options = { connectionString: databaseUrl, connectionTimeoutMillis: connectMs };
  const clients = [new Client(options), new Client(options)] as const;
  // Without a listener, a connection that breaks while closing would end the process.
  for (const client of clients) client.on('error', () => undefined);
  try {
    const connecting = await Promise.allSettled(clients.map((client) => client.connect()));
    if (connecting.some(({ status }) => status === 'fulfilled')) onConnected();
    for (const each of connecting) if (each.status === 'rejected') throw each.reason;
    const [client] = clients;
    if (await isPooled(client)) await refuseSharedSessions(databaseUrl);
    refuseOtherEncoding((await client.query(selectEncoding)).rows);
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()));
  }
}
