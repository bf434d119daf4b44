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

/** Node's error codes for certificates that aren't trusted, and the one for a certificate of another host. */
const certificateFaults = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether a connection failed because the certificate isn't trusted. */
export function isUntrusted(error: unknown): boolean {
  return certificateFaults.has(codeOf(error));
}

/** Whether the server, the role or the database has no connection left. */
export function isFull(error: unknown): boolean {
  return codeOf(error) === '53300';
}

/** Whether a pooler refused with an ambiguous code: it's full, it's starting, or a setting is wrong. */
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

type Meaning = readonly [sentence: string, remedy: string];

const loginRefused: Meaning = [
  'Postgres refused the user or the password of DATABASE_URL',
  'Set DATABASE_URL to a user that may log in, and its password.',
];
const inAMoment = 'Try again in a moment.';

/** What a refusal means and how to end it, by its code or its kind. `@` is where Postgres is. */
const meanings: Readonly<Record<string, Meaning>> = {
  pooler: [
    'The pooler before Postgres@ refuses the connection',
    'If it is full, run fewer web and worker processes, lower their DATABASE_POOL_SIZE, or raise its limit. Otherwise check the host, user, password and database of DATABASE_URL.',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'The certificate of Postgres@ is for another host name',
    'Use a host name of the certificate in DATABASE_URL, or accept any certificate and name with sslmode=no-verify.',
  ],
  untrusted: [
    'The certificate of Postgres@ is not trusted',
    'Name its authority with sslrootcert=FILE in DATABASE_URL, or accept any certificate with sslmode=no-verify.',
  ],
  unencrypted: [
    'Postgres accepts encrypted connections only',
    'Append sslmode=verify-full to DATABASE_URL, or sslmode=no-verify for a self-signed certificate; PGSSLMODE does the same.',
  ],
  '28000': loginRefused,
  '28P01': loginRefused,
  '3D000': ['Postgres has no such database', 'Create the database that DATABASE_URL names.'],
  '53100': ['The disk of Postgres is full', freeDisk],
  '53300': [
    'Postgres takes no more connections',
    'Run fewer web and worker processes, lower their DATABASE_POOL_SIZE, or raise the limit: of the role or database in brackets by ALTER … CONNECTION LIMIT, else max_connections of the server. Where the host sets it, take a larger plan.',
  ],
  '57014': [
    'Postgres ended a statement at a time limit',
    'Try again. If that does not help, raise statement_timeout of the role and the database of DATABASE_URL.',
  ],
  '0A000': [
    'Postgres, or a pooler before it, does not support what was asked of it',
    'Remove parameters of the session (`options`) from DATABASE_URL, or connect to Postgres directly instead of through a pooler.',
  ],
  '57P01': ['Postgres is shutting down', inAMoment],
  '57P03': ['Postgres is starting or stopping', inAMoment],
  away: ['Postgres@ cannot be reached', 'Check that it runs and that DATABASE_URL is right.'],
};

function kindOf(error: Error): string | undefined {
  const code = codeOf(error);
  if (isVagueRefusal(error)) return 'pooler';
  // The code of a password that is wrong, too.
  if (code === '28000' && error.message.endsWith('no encryption')) return 'unencrypted';
  if (Object.hasOwn(meanings, code)) return code;
  if (isUntrusted(error)) return 'untrusted';
  // In classes 53 and 58, the message says what the server is short of, such as memory.
  return isPostgresAway(error) && !/^(?:53|58)/.test(code) ? 'away' : undefined;
}

/** What a failed connection means and how to fix it. Undefined for other errors. `place` is ` at HOST:PORT`. */
export function describeRefusal(
  error: unknown,
  place = '',
): { readonly sentence: string; readonly remedy: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  if (isFull(error.cause)) return describeRefusal(error.cause, place);
  const [sentence, remedy] = meanings[kindOf(error) ?? ''] ?? [];
  if (sentence === undefined || remedy === undefined) return undefined;
  // If a host name has several addresses, the error of a refused connection has an empty message.
  return { sentence: `${sentence.replace('@', place)} (${error.message || codeOf(error)}).`, remedy };
}
