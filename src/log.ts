import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { printable } from './storable.ts';

export type Log = Logger;

/**
 * The process's log: one JSON line per moment, on standard error, so that standard output stays free for data.
 * Control characters are escaped, since a person may read it on a terminal. Only allow-listed fields of an error are written: a raw answer or a URL attached to an error never reaches the log.
 */
export function createLog(level: string, destination: DestinationStream = standardError()): Log {
  return pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, serializers: { err: describeError } },
    { write: (line) => destination.write(printable(line)) },
  );
}

// Whoever read the log may be gone, which is no reason to fail.
function standardError(): DestinationStream {
  const destination = pino.destination(2);
  destination.on('error', () => undefined);
  return destination;
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : describeError(error.cause);
  return { name, code, message, cause, stack };
}
