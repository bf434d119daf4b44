import closeWithGrace from 'close-with-grace';
import type { Log } from '../log.ts';

/** A platform kills a process 30 seconds after it asked it to stop; what is in hand is done well before that. */
export const drainMs = 20_000;
const hardLimitMs = 25_000;

/**
 * Keeps the process until it is told to stop or fails, then closes what is open; exit code 0 when that was done in time.
 * A second Ctrl-C forces the exit. A second SIGTERM does not: platforms send it to several processes of one group.
 */
export function runUntilStopped(log: Log, close: () => Promise<void>): void {
  const grace = closeWithGrace(
    { delay: hardLimitMs, logger: graceLogger(log), skip: ['SIGTERM'] },
    async ({ signal, err }) => {
      if (err) log.fatal({ err }, 'The process failed and stops');
      else log.info({ signal: signal ?? 'SIGTERM' }, 'Stopping: what is in hand is finished first');
      await close();
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
