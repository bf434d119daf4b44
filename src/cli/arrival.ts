import pRetry from 'p-retry';
import { Client } from 'pg';
import type { Log } from '../log.ts';
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
export async function untilPostgresIsThere(databaseUrl: string, log: Log): Promise<void> {
  const stop = () => {
    log.info('Stopped: there was nothing in hand');
    process.exit(exitCodes.done);
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  try {
    await wait(databaseUrl, log);
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop);
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
