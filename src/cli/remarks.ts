import { createLog, type Log } from '../log.ts';

/**
 * The log of a command that a person waits for: what must be known stands on standard error as a sentence, not as JSON.
 * What is found again, such as for each hour of a day, is said once. With LOG_LEVEL at debug or below, everything is told,
 * as the processes do.
 */
export function createRemarks(level: 'warn' | 'error' = 'warn', asked = process.env.LOG_LEVEL): Log {
  if (asked === 'debug' || asked === 'trace') return createLog(asked);
  const made = new Set<string>();
  return createLog(level, {
    write(line) {
      const remark = remarkOf(line);
      if (!made.has(remark)) console.error(remark);
      made.add(remark);
    },
  });
}

/** The sentence of one line of the log, with its error's message. */
export function remarkOf(line: string): string {
  const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return err?.message === undefined ? msg : `${msg} (${err.message})`;
}
