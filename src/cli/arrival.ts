import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { Client } from 'pg';
import type { ReadySettings } from '../context.ts';
import type { Log } from '../log.ts';
import { areMigrated } from '../migrations.ts';
import { withPatience } from '../queues/patience.ts';
import { createDatabase } from '../warehouse/database.ts';
import { exitCodes } from './exit.ts';
import { isPostgresAway, sentenceOf } from './failures.ts';

const connectMs = 5_000;
const firstPauseMs = 250;
const longestPauseMs = 5_000;

/**
 * Waits until Postgres takes connections: a platform starts the processes and the database in any order. A SIGTERM or
 * Ctrl-C meanwhile ends the process with code 0, so that nothing may be open yet. Rejects at once with what waiting does
 * not cure: a refused password, a missing database.
 */
export function untilPostgresIsThere(databaseUrl: string, log: Log): Promise<void> {
  return stoppable(log, () => wait(databaseUrl, log));
}

/** Ends the process with code 0 on SIGTERM or Ctrl-C while it waits. */
async function stoppable(log: Log, work: () => Promise<void>): Promise<void> {
  const stop = () => {
    log.info('Stopped: there was nothing in hand');
    process.exit(exitCodes.done);
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  try {
    await work();
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop);
  }
}

const refusalMs = 2_000;

/**
 * Rejects with what waiting for Postgres does not cure, such as a refused password. For a process that serves while
 * Postgres is away: one that is away, or slow to answer, is none of its business.
 */
export async function refusePostgresFaults(databaseUrl: string): Promise<void> {
  const knocked = knock(databaseUrl).catch((error: unknown) => {
    if (!isPostgresAway(error)) throw error;
  });
  await withPatience(refusalMs, knocked, () => undefined);
}

/** Milliseconds between two looks for missing migrations, and between two lines that say that they are missing. */
const migrationsEveryMs = 1_000;
const migrationsAgainMs = 300_000;

/**
 * Waits until the database has all migrations of this release; one that a newer release has migrated has them. Says at
 * once that some are missing, and again every five minutes. A SIGTERM or Ctrl-C meanwhile ends the process with code 0.
 */
export function untilMigrated({ databaseUrl, redisUrl }: ReadySettings, log: Log): Promise<void> {
  return stoppable(log, async () => {
    await using database = createDatabase({ url: databaseUrl, log, maxConnections: 1, name: 'migrations' });
    const isThere = () => areMigrated(database.db, redisUrl === undefined);
    await followMigrations(isThere, log, 'This worker takes no work until they are there.');
  });
}

/** The same for a process that works meanwhile; never rejects, and ends when the signal fires. */
export async function followMigrations(
  areThere: () => Promise<boolean>,
  log: Log,
  meanwhile: string,
  signal = new AbortController().signal,
): Promise<void> {
  let saidAt: number | undefined;
  while (!signal.aborted) {
    // A Postgres that is away is told of elsewhere.
    const isDone = await areThere().catch(() => undefined);
    if (isDone) {
      if (saidAt !== undefined) log.info('The database has all migrations of this release now');
      return;
    }
    if (isDone === false && (saidAt === undefined || performance.now() - saidAt > migrationsAgainMs)) {
      saidAt = performance.now();
      log.warn(`The database lacks migrations of this release: run \`trunkline migrate\`. ${meanwhile}`);
    }
    await sleep(migrationsEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

async function wait(databaseUrl: string, log: Log): Promise<void> {
  let isTold = false;
  await pRetry(() => knock(databaseUrl), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: firstPauseMs,
    maxTimeout: longestPauseMs,
    shouldRetry: ({ error }) => isPostgresAway(error),
    onFailedAttempt({ error }) {
      if (isTold || !isPostgresAway(error)) return;
      isTold = true;
      const reason = sentenceOf(error, { DATABASE_URL: databaseUrl });
      log.warn({ reason }, 'Postgres takes no connections yet; it is waited for');
    },
  });
  if (isTold) log.info('Postgres is there; the start goes on');
}

async function knock(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectMs });
  // A connection that is cut while it ends has nobody else to tell.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end();
  }
}
