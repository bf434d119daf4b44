import { createLog, type Log } from '../../src/shared/log.ts';

/** A log of every level that is kept as text, to be searched for what must not be in it. */
export interface CapturedLog {
  readonly log: Log;
  text(): string;
}

export function captureLog(): CapturedLog {
  const lines: string[] = [];
  const log = createLog('trace', { write: (line: string) => void lines.push(line) });
  return { log, text: () => lines.join('') };
}
