import { limitReached } from '../postgres/limits.ts';
import { isUntrusted } from '../queues/trouble.ts';
import type { Advice } from '../service/errors.ts';

/** Codes of errors whose message is all that a person needs. */
const toldInFull = new Set([
  'settings',
  'command_failed',
  'wrong_use',
  'folder_in_use',
  'folder_of_another',
  'folder_closed',
  'folder_of_older_version',
  'receivers_differ',
  'not_erasable',
  'no_bi_role',
  'not_rolled_up',
  'unknown_host',
]);

/** What Postgres and the network call the failures that a person can cure. */
const cures: Readonly<Record<string, (message: string, syscall: unknown) => string>> = {
  '28P01': (message) => `Postgres refused the user or the password of DATABASE_URL (${message}).`,
  '28000': (message) =>
    message.endsWith('no encryption')
      ? `Postgres takes encrypted connections only (${message}): append sslmode=verify-full to DATABASE_URL, or sslmode=no-verify where its certificate is its own; PGSSLMODE does the same.`
      : `Postgres refused the user or the password of DATABASE_URL (${message}).`,
  '3D000': (message) => `${message}: create the database that DATABASE_URL names.`,
  '42501': (message) => `Postgres does not allow it (${message}): let the user of DATABASE_URL own the database.`,
  '25006': (message) => `Postgres takes no writes (${message}): point DATABASE_URL at the primary.`,
  '57P01': (message) => `Postgres stops (${message}): try again in a moment.`,
  '57P03': (message) => `Postgres starts or stops (${message}): try again in a moment.`,
  '57014': (message) => `Postgres took too long and was stopped (${message}): try again, or with a shorter range.`,
  EADDRINUSE: (message) => `${message}: another program listens there. Set PORT to a free port, or to 0 for any.`,
  EACCES: (message, syscall) =>
    syscall === 'listen'
      ? `${message}: choose a PORT from 1024.`
      : `${message}: set DATA_DIR to a folder that the user of this process may write, or start as the user whose it is.`,
  EROFS: (message) => `${message}: set DATA_DIR to a folder that can be written.`,
  EADDRNOTAVAIL: (message) => `${message}: set HOST to an address of this machine.`,
  queue_unavailable: (message) =>
    `${message} See that the server of REDIS_URL runs, or without one that of DATABASE_URL, and repeat the command.`,
};

const notMigrated = new Set(['42P01', '42703', '3F000', '42883']);
const unreachable = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** A Postgres that starts, that ends its connections, or that has none left. */
const unready = new Set(['57P03', '57P01', '53300']);
const lostConnection = /^(?:Connection terminated|timeout expired|timeout exceeded when trying to connect)/;

/** What helps with each kind of refusal by the service. */
const serviceCures: Partial<Record<Advice, string>> = {
  retry: 'See that API_BASE_URL is right and that the service runs, then try again; `trunkline doctor` examines it.',
  credential: 'Set API_KEY to a key that is valid, or log in with `trunkline auth login`.',
  permission: 'Somebody has to allow it in the portal of the service.',
  reconcile: 'It may have been carried out all the same: look at the service before you repeat it.',
};

/** Whether Postgres is away or takes no connection at present; any other refusal of it needs a person. */
export function isPostgresAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  const isNoSocket = code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect';
  return isNoSocket || unreachable.has(code) || unready.has(code) || lostConnection.test(error.message);
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A failure as one line for a person: what failed, and the cure where there is one. What nobody foresaw is shown with its
 * trace when LOG_LEVEL asks for it.
 */
export function sentenceOf(error: unknown, environment: Environment = {}): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  if (toldInFull.has(code)) return error.message;
  if (error.name === 'ServiceError') return serviceSentence(error as Error & { advice: Advice; scope?: string });
  if (error.name === 'SchemaMigrationRequiredError' || notMigrated.has(code)) {
    return `The database lacks migrations of this release (${error.message}): run \`trunkline migrate\`.`;
  }
  if (!unready.has(code) && isPostgresAway(error)) {
    return `Postgres${placeOf(environment)} cannot be reached (${error.message || code}): see that it runs, and that DATABASE_URL is right.`;
  }
  if (isUntrusted(error)) {
    return `The certificate of Postgres${placeOf(environment)} is not trusted (${error.message}): name its authority with sslrootcert=FILE in DATABASE_URL, or take any certificate with sslmode=no-verify.`;
  }
  const limit = limitReached(error);
  if (limit) return `${limit.sentence} ${limit.remedy}`;
  const cure = Object.hasOwn(cures, code) ? cures[code] : undefined;
  if (cure) return cure(error.message, 'syscall' in error ? error.syscall : undefined);
  if (/^(?:trace|debug)$/.test(environment.LOG_LEVEL ?? '')) return error.stack ?? error.message;
  return `${sentence(error.message || error.name)} LOG_LEVEL=debug shows where it happened.`;
}

/** Some messages are sentences already. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function serviceSentence({ message, advice, scope }: Error & { advice: Advice; scope?: string }): string {
  const cure = advice === 'scope' ? `Give the credential the scope ${scope ?? 'that is named'}.` : serviceCures[advice];
  const isToldAlready = cure === undefined || message.includes('auth login');
  const outcome = advice === 'reconcile' ? 'The outcome at the service is unknown' : 'The service did not do it';
  return `${outcome}: ${isToldAlready ? message : `${sentence(message)} ${cure}`}`;
}

/** Host and port of the database, or the folder of its socket, and nothing of what else its address holds. */
function placeOf({ DATABASE_URL: url }: Environment): string {
  if (!url || !URL.canParse(url)) return '';
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' ? '' : ` at ${host}:${searchParams.get('port') || port || 5_432}`;
}
