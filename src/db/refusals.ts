import { limitReached } from './limits.ts';

/*
 * Why Postgres, or a pooler in front of it, refuses a connection. Only codes decide, never texts. A pooler that is full
 * or starting uses its own codes, often as general as XX000, and names no source routine. Postgres always names one.
 */

const unreachable = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
]);
/** The driver has no code for a connection that ended or timed out. */
const lostConnection = /^(?:Connection terminated|timeout expired|timeout exceeded when trying to connect)/;
/** SQLSTATE classes of a server that is starting, stopping, unreachable, or short of connections, memory or disk. */
const passingClasses = new Set(['08', '53', '58']);
/** 57014: a time limit of the role or database cancelled a statement that prepares a connection. */
const passingCodes = new Set(['57014', '57P01', '57P02', '57P03', '57P05']);
/** Codes that can mean anything when a pooler sends them. */
const vagueCodes = new Set(['08P01', '28000', 'XX000']);

/** Node's error codes for untrusted certificates. */
const certificateFaults = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
]);
const otherHost = 'ERR_TLS_CERT_ALTNAME_INVALID';

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether a connection failed because the certificate isn't trusted. */
export function isUntrusted(error: unknown): boolean {
  return certificateFaults.has(codeOf(error)) || codeOf(error) === otherHost;
}

/**
 * Whether a pooler refused with a code that can mean either that it is full or starting, or that a setting is wrong.
 */
export function isVagueRefusal(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && vagueCodes.has(codeOf(error)) && !hasRoutine(error);
}

function hasRoutine(error: Error): boolean {
  return 'routine' in error && error.routine !== undefined;
}

/** Whether Postgres is temporarily unreachable, so that waiting helps. */
export function isPostgresAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (isVagueRefusal(error)) return false;
  const isNoSocket = code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect';
  const isPassing = /^[0-9A-Z]{5}$/.test(code) && passingClasses.has(code.slice(0, 2)) && code !== '08P01';
  return (
    isNoSocket || isPassing || unreachable.has(code) || passingCodes.has(code) || lostConnection.test(error.message)
  );
}

export const freeDisk =
  'Free space on the disk of the database and of its tablespaces, or enlarge it. Nothing has to be restarted.';

/** What a failed connection means and how to fix it. Undefined for other errors. `place` is ` at HOST:PORT`. */
export function describeRefusal(
  error: unknown,
  place = '',
): { readonly sentence: string; readonly remedy: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const limit = limitReached(error);
  if (limit) return limit;
  const code = codeOf(error);
  // If a host name has several addresses, the error of a refused connection has an empty message.
  const why = error.message || code;
  if (isVagueRefusal(error)) {
    return {
      sentence: `The pooler before Postgres${place} refuses the connection (${why}).`,
      remedy:
        'If it is full, run fewer web and worker processes, lower their DATABASE_POOL_SIZE, or raise its limit. Otherwise check the host, user, password and database of DATABASE_URL.',
    };
  }
  if (code === otherHost) {
    return {
      sentence: `The certificate of Postgres${place} is for another host name (${why}).`,
      remedy:
        'Use a host name of the certificate in DATABASE_URL, or accept any certificate and name with sslmode=no-verify.',
    };
  }
  if (isUntrusted(error)) {
    return {
      sentence: `The certificate of Postgres${place} is not trusted (${why}).`,
      remedy:
        'Name its authority with sslrootcert=FILE in DATABASE_URL, or accept any certificate with sslmode=no-verify.',
    };
  }
  if (code === '28000' && why.endsWith('no encryption')) {
    return {
      sentence: `Postgres accepts encrypted connections only (${why}).`,
      remedy:
        'Append sslmode=verify-full to DATABASE_URL, or sslmode=no-verify for a self-signed certificate; PGSSLMODE does the same.',
    };
  }
  if (code === '28000' || code === '28P01') {
    return {
      sentence: `Postgres refused the user or the password of DATABASE_URL (${why}).`,
      remedy: 'Set DATABASE_URL to a user that may log in, and its password.',
    };
  }
  if (code === '3D000') {
    return {
      sentence: `Postgres has no such database (${why}).`,
      remedy: 'Create the database that DATABASE_URL names.',
    };
  }
  if (code === '57014') {
    return {
      sentence: `Postgres ended a statement at a time limit (${why}).`,
      remedy: 'Try again. If that does not help, raise statement_timeout of the role and the database of DATABASE_URL.',
    };
  }
  if (code === '0A000') {
    return {
      sentence: `Postgres, or a pooler before it, does not support what was asked of it (${why}).`,
      remedy:
        'Remove parameters of the session (`options`) from DATABASE_URL, or connect to Postgres directly instead of through a pooler.',
    };
  }
  if (code === '57P01') {
    return { sentence: `Postgres is shutting down (${why}).`, remedy: 'Try again in a moment.' };
  }
  if (code === '57P03') {
    return { sentence: `Postgres is starting or stopping (${why}).`, remedy: 'Try again in a moment.' };
  }
  if (code === '53100') return { sentence: `The disk of Postgres is full (${why}).`, remedy: freeDisk };
  // The message says what the server is short of, such as memory.
  if (/^(?:53|58)/.test(code) || !isPostgresAway(error)) return undefined;
  return {
    sentence: `Postgres${place} cannot be reached (${why}).`,
    remedy: 'Check that it runs and that DATABASE_URL is right.',
  };
}
