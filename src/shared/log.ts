import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { printable } from './storable.ts';

export type Log = Logger;

/**
 * The log of the process: JSON lines on standard error, because standard output is for data. Escapes control
 * characters. Of an error, only allow-listed fields are written, so no raw answer or URL reaches the log.
 */
export function createLog(level: string, destination: DestinationStream = standardError()): Log {
  return pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, serializers: { err: describeError } },
    { write: (line) => destination.write(printable(line)) },
  );
}

// If the reader of the log closes it, the process must go on.
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
