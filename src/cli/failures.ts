import { format } from 'node:util';
import { meaningOf, ServiceError } from '../api-client/errors.ts';
import { describeRefusal } from '../db/refusals.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { printable } from '../shared/storable.ts';
import type { Output } from './output.ts';

const toMigrate = `The database lacks migrations of this release: run ${toType('migrate')}.`;

/** Remedies by the code or name of an error of Postgres or the system; a system call may stand before the code. */
const remedies: Readonly<Record<string, string>> = {
  '42501': 'Let the user of DATABASE_URL own the database.',
  '25006': 'Postgres accepts no writes: set DATABASE_URL to the primary.',
  ...{ '42P01': toMigrate, '42703': toMigrate, '3F000': toMigrate, '42883': toMigrate },
  SchemaMigrationRequiredError: toMigrate,
  EADDRINUSE: 'Another program listens there. Set PORT (of a worker WORKER_PORT) to a free port, or to 0 for any.',
  'listen EACCES': 'Choose a PORT (of a worker WORKER_PORT) from 1024.',
  EACCES: 'Set DATA_DIR to a folder that this user may write, or start as its owner.',
  ENOTDIR: 'Set DATA_DIR to a folder; something of its path is a file.',
  ENOSPC: 'Free space on the disk of DATA_DIR.',
  EROFS: 'Set DATA_DIR to a folder that can be written.',
  'open ENOENT': 'Correct the setting that names this file, such as sslrootcert in DATABASE_URL or REDIS_URL.',
  EADDRNOTAVAIL: 'Set HOST to an address of this machine.',
};

type Environment = Readonly<Record<string, string | undefined>>;

/** What happened, and what to do about it. */
function failureOf(error: unknown, environment: Environment): { sentence: string; remedy: string | undefined } {
  if (!(error instanceof Error)) return { sentence: String(error), remedy: undefined };
  if (error instanceof UserError) return { sentence: error.message, remedy: error.remedy };
  if (error instanceof ServiceError) {
    const outcome =
      error.advice === 'reconcile' ? 'The outcome at the service is unknown' : 'The service did not do it';
    return { sentence: `${outcome}: ${error.message}`, remedy: meaningOf(error).remedy };
  }
  const refusal = describeRefusal(error, placeOf(environment));
  if (refusal) return refusal;
  const { code = error.name, syscall } = error as NodeJS.ErrnoException;
  const found = [`${syscall} ${code}`, code, error.name].find((key) => Object.hasOwn(remedies, key));
  if (found !== undefined) return { sentence: error.message, remedy: remedies[found] };
  if (/^(?:trace|debug)$/.test(environment.LOG_LEVEL ?? '')) {
    return { sentence: error.stack ?? error.message, remedy: undefined };
  }
  return { sentence: error.message || error.name, remedy: 'LOG_LEVEL=debug shows where it happened.' };
}

/**
 * Describes a failure in one line: what happened and, if known, the remedy. With LOG_LEVEL debug or trace, unexpected
 * errors get their stack trace.
 */
export function describeFailure(error: unknown, environment: Environment = {}): string {
  const { sentence, remedy } = failureOf(error, environment);
  return remedy === undefined ? sentence : `${sentence.replace(/[^.!?]$/, '$&.')} ${remedy}`;
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
  const { sentence: message, remedy = null } = failureOf(error, process.env);
  const code = String((error as { code?: unknown } | undefined)?.code ?? 'failed');
  console.log(JSON.stringify({ error: { code, message, remedy } }));
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
