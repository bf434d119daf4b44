import { isUntrusted } from '../db/refusals.ts';
import type { Log } from '../shared/log.ts';

/** During an outage some requests still succeed. It counts as over after so many milliseconds without a failure. */
const quietMs = 10_000;
/** A worker that is refused asks again each second. */
const refusedMs = 30_000;

/** Logs once when the queue store becomes unavailable, and once when it is available again. */
export interface OutageLog {
  report(error: unknown): void;
  recovered(): void;
  /** The last error within half a minute that says that the store's user may not run a command. */
  refusal(): Error | undefined;
  /** Stops logging, because connections that are being closed report errors. */
  end(): void;
}

export function createOutageLog(log: Log, backend: string): OutageLog {
  let isUnavailable = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  let refused: { readonly error: Error; readonly at: number } | undefined;
  let isEnded = false;
  const reported = new Set<string>();

  function report(err: unknown): void {
    if (isEnded) return;
    if (isLostLock(err)) {
      log.debug({ err, backend }, 'A job took longer than its lock; another worker may take it too, which is harmless');
      return;
    }
    if (err instanceof Error && lacksCommand(err)) refused = { error: err, at: performance.now() };
    const isUnreachable = isConnectionError(err);
    if (!isUnreachable && !isRefusal(err)) {
      // Logs each kind of error once. Messages differ only in job ids and counts.
      const kind = String(err).replace(/\d+/g, '#');
      if (!reported.has(kind)) log.warn({ err, backend }, 'The queue library reported an error; the worker continues');
      reported.add(kind);
      return;
    }
    failedAt = performance.now();
    if (isUnavailable) return;
    isUnavailable = true;
    const what = isUnreachable ? 'The queues cannot be reached' : 'The store of the queues refuses requests';
    log.warn({ err, backend }, `${what}; targets wait in Postgres`);
  }

  return {
    report,
    recovered() {
      if (!isUnavailable || isEnded || performance.now() - failedAt < quietMs) return;
      isUnavailable = false;
      log.info({ backend }, 'The queues are back');
    },
    refusal: () => (refused && performance.now() - refused.at < refusedMs ? refused.error : undefined),
    end() {
      isEnded = true;
    },
  };
}

/** Whether the user of Redis may not run a command. In a script, Redis 7.0 doesn't name the command. */
export function lacksCommand({ message }: Error): boolean {
  return /^NOPERM |^ERR The user executing the script can't run/.test(message);
}

/** The library's codes for a job that is gone, finished, no longer locked, or locked by another worker. */
const lostLockCodes: readonly unknown[] = [-1, -2, -3, -6];

function isLostLock(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && lostLockCodes.includes(error.code)) || error.message.startsWith('could not renew lock');
}

const connectionCodes =
  /^(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|PIPE|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH)|ENOENT|queue_unavailable|08\d{3}|57P0[1-5]|53300|28\d{3}|3D000)$/;
const connectionWords =
  /^(?:Connection (?:is closed|terminated|ended)|timeout e|Socket timeout|Command timed out|connect E|Stream isn't writeable|Reached the max retries|Client has encountered|WRONGPASS|NOAUTH|Query read timeout)/i;

/** Whether there is no usable connection. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    connectionCodes.test(code) ||
    connectionWords.test(error.message) ||
    isUntrusted(error) ||
    isConnectionError(error.cause)
  );
}

/** Redis or Postgres answered with a refusal: it is a replica and takes no writes, or its memory is full. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const hasState = 'code' in error && /^[0-9A-Z]{5}$/.test(String(error.code));
  return hasState || /^[A-Z]{3,} /.test(error.message) || isRefusal(error.cause);
}
