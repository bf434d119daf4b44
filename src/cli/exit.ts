import { format } from 'node:util';
import { printable } from '../storable.ts';
import { sentenceOf } from './failures.ts';

/** Exit codes of every command. */
export const exitCodes = { done: 0, failed: 1, wrongUse: 2 } as const;

/** The command was understood but could not do what was asked; the message says where and how to cure it. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code = 'command_failed';
}

/** The command was given something that it cannot mean; the message says what, and what would do. */
export class WrongUse extends Error {
  override readonly name = 'WrongUse';
  readonly code = 'wrong_use';
}

/**
 * Makes all that commands print safe for a terminal: they show what strangers wrote. To be called once, before any command
 * runs; what is styled on purpose is written to the stream itself.
 */
export function makeConsolePrintable(): void {
  for (const method of ['log', 'error', 'warn', 'info'] as const) {
    const write = console[method].bind(console);
    console[method] = (...values: unknown[]) => write(printable(format(...values)));
  }
}

/** Runs a command's work; a failure becomes one message on standard error and the exit code. */
export async function reporting(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(sentenceOf(error, process.env));
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // Whatever the command had opened may still hold the process.
    process.exit(code === 'settings' || code === 'wrong_use' ? exitCodes.wrongUse : exitCodes.failed);
  }
}
