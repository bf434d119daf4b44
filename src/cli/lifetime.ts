import closeWithGrace from 'close-with-grace';
import type { Log } from '../log.ts';

/*
 * A stop, in milliseconds since it was asked for. A process ends within five seconds, though the API, Redis or Postgres
 * hangs: whatever it had in hand, another process or the next start takes over when its lease ends.
 */

/** Until then reads are waited for. They are given up afterwards, and no send leaves any more. */
const readsMs = 2_000;
/** Until then the answer to a send that has left is waited for. After that its outcome is unknown, and written down so. */
const sendsMs = 3_500;
/** The queues' handlers have ended by then. */
export const drainMs = 3_000;
/** The process ends, whatever still runs. */
const hardLimitMs = 4_500;

/** What a process runs. */
export interface Running {
  /** Gives up requests to the API, so that nobody waits for them: those that may be repeated, or all. */
  abandon(what: 'repeatable' | 'all'): void;
  /** Finishes what is in hand and closes what is open. */
  close(): Promise<void>;
}

/**
 * Keeps the process until it is told to stop or fails, then closes what is open; exit code 0 unless it failed. A second
 * Ctrl-C forces the exit. A second SIGTERM does not: platforms send it to several processes of one group.
 */
export function runUntilStopped(log: Log, running: Running): void {
  let hasFailed = false;
  const grace = closeWithGrace(
    {
      delay: hardLimitMs,
      logger: graceLogger(log),
      skip: ['SIGTERM'],
      onTimeout: () => {
        log.warn('Stopped before everything was closed; what was in hand is taken over');
        process.exit(hasFailed ? 1 : 0);
      },
    },
    async ({ signal, err }) => {
      hasFailed = err !== undefined;
      if (err) log.fatal({ err }, 'The process failed and stops');
      else log.info({ signal: signal ?? 'SIGTERM' }, 'Stopping: what is in hand is finished first');
      const timers = [
        setTimeout(() => running.abandon('repeatable'), readsMs),
        setTimeout(() => running.abandon('all'), sendsMs),
      ];
      await running.close();
      for (const timer of timers) clearTimeout(timer);
      log.info('Stopped');
    },
  );
  let isTold = false;
  process.on('SIGTERM', () => {
    if (!isTold) grace.close();
    isTold = true;
  });
}

function graceLogger(log: Log) {
  return { error: (error: unknown) => log.error({ err: error }, 'The stop was not graceful') };
}
