import { format } from 'node:util';
import { meaningOf, ServiceError } from '../api-client/errors.ts';
import { describeRefusal } from '../db/refusals.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { printable } from '../shared/storable.ts';
import type { Output } from './output.ts';

/** Sentences for error codes of Postgres and the network, each with its remedy. */
const remedies: Readonly<Record<string, (message: string, syscall: unknown) => string>> = {
  '42501': (message) => `Postgres does not allow it (${message}): let the user of DATABASE_URL own the database.`,
  '25006': (message) => `Postgres accepts no writes (${message}): set DATABASE_URL to the primary.`,
  '57014': (message) => `Postgres took too long (${message}): try again, or use a shorter range.`,
  EADDRINUSE: (message) =>
    `${message}: another program listens there. Set PORT (of a worker WORKER_PORT) to a free port, or to 0 for any.`,
  EACCES: (message, syscall) =>
    syscall === 'listen'
      ? `${message}: choose a PORT (of a worker WORKER_PORT) from 1024.`
      : `${message}: set DATA_DIR to a folder that this user may write, or start as its owner.`,
  EROFS: (message) => `${message}: set DATA_DIR to a folder that can be written.`,
  EADDRNOTAVAIL: (message) => `${message}: set HOST to an address of this machine.`,
};

const notMigrated = new Set(['42P01', '42703', '3F000', '42883']);

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Describes a failure in one line: what happened and, if known, the remedy. With LOG_LEVEL debug or trace, unexpected
 * errors also get their stack trace.
 */
export function describeFailure(error: unknown, environment: Environment = {}): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  if (error instanceof UserError) {
    return error.remedy === undefined ? error.message : `${sentence(error.message)} ${error.remedy}`;
  }
  if (error instanceof ServiceError) return serviceSentence(error);
  if (error.name === 'SchemaMigrationRequiredError' || notMigrated.has(code)) {
    return `The database lacks migrations of this release (${error.message}): run ${toType('migrate')}.`;
  }
  const refusal = describeRefusal(error, placeOf(environment));
  if (refusal) return `${refusal.sentence} ${refusal.remedy}`;
  const remedy = Object.hasOwn(remedies, code) ? remedies[code] : undefined;
  if (remedy) return remedy(error.message, 'syscall' in error ? error.syscall : undefined);
  if (/^(?:trace|debug)$/.test(environment.LOG_LEVEL ?? '')) return error.stack ?? error.message;
  return `${sentence(error.message || error.name)} LOG_LEVEL=debug shows where it happened.`;
}

/** Appends a full stop if the message has none. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function serviceSentence(error: ServiceError): string {
  const outcome = error.advice === 'reconcile' ? 'The outcome at the service is unknown' : 'The service did not do it';
  return `${outcome}: ${sentence(error.message)} ${meaningOf(error).remedy}`;
}

/** Host and port of the database, or the folder of its socket. Without the credentials in its URL. */
function placeOf({ DATABASE_URL: url }: Environment): string {
  if (!url || !URL.canParse(url)) return '';
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' ? '' : ` at ${host}:${searchParams.get('port') || port || 5_432}`;
}

/** Exit codes of every command. */
export const exitCodes = { done: 0, failed: 1, wrongUse: 2 } as const;

/** Whether the command has printed to standard output. After a printed result, its failure isn't printed there too. */
let hasPrinted = false;

/**
 * Removes control characters from everything that commands print, because they show text of third parties. Call it
 * once, before any command runs. Deliberate styling is written to the stream itself.
 */
export function makeConsolePrintable(): void {
  hasPrinted = false;
  for (const method of ['log', 'error', 'warn', 'info'] as const) {
    const write = console[method].bind(console);
    console[method] = (...values: unknown[]) => {
      hasPrinted ||= method === 'log';
      write(printable(format(...values)));
    };
  }
}

/** Prints a failure on standard output, for a program that parses `--json`, unless a result was printed already. */
export function printFailureJson(error: unknown): void {
  if (hasPrinted) return;
  const { code = 'failed' } = error instanceof Error ? (error as { code?: unknown }) : {};
  const isOurs = error instanceof UserError;
  const message = isOurs ? error.message : describeFailure(error, process.env);
  console.log(JSON.stringify({ error: { code: String(code), message, remedy: (isOurs && error.remedy) || null } }));
}

/**
 * Runs a command and prints its output. A failure is one message on standard error (with `isJson` also on standard
 * output), and ends the process with its exit code.
 */
export async function runCommand(work: () => Promise<Output> | Promise<void> | void, isJson = false): Promise<void> {
  try {
    const output = await work();
    if (!output) return;
    const { json, text, failed } = output;
    if (isJson) console.log(JSON.stringify(json));
    else if (text !== undefined) console.log(text);
    if (failed instanceof Error) throw failed;
    if (failed) process.exitCode = exitCodes.failed;
  } catch (error) {
    console.error(describeFailure(error, process.env));
    if (isJson) printFailureJson(error);
    // Open connections would keep the process alive.
    process.exit(error instanceof UserError ? error.exitCode : exitCodes.failed);
  }
}
