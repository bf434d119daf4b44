import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { UserError, WrongUse } from '../shared/errors.ts';
import { exactly } from '../shared/format.ts';
import { createLog, type Log } from '../shared/log.ts';
import { printable } from '../shared/storable.ts';
import type { Output } from './output.ts';

/**
 * The log of a command. Writes each message once, as a sentence on standard error. With LOG_LEVEL debug or trace, logs
 * everything as JSON, like the long-running processes.
 */
export function createCommandLog(level: 'warn' | 'error' = 'warn', asked = process.env.LOG_LEVEL): Log {
  if (asked === 'debug' || asked === 'trace') return createLog(asked);
  const written = new Set<string>();
  return createLog(level, {
    write(line) {
      const message = messageOf(line);
      if (!written.has(message)) printNote(message);
      written.add(message);
    },
  });
}

/**
 * The log of a long-running process: on a terminal a sentence a line, with its time in `timeZone`. Elsewhere, and with
 * LOG_LEVEL debug or trace, JSON.
 */
export function createProcessLog(level: string, timeZone: string, stream: Stream = process.stderr): Log {
  if (!stream.isTTY || level === 'debug' || level === 'trace') return createLog(level);
  return createLog(level, {
    write: (line) => void stream.write(`${printable(sentenceOf(line, timeZone))}\n`),
  });
}

/**
 * One JSON log line as a sentence: `14:02:11 The rules are in force (rules 7)`. Of the other fields, only words,
 * numbers and times are shown.
 */
function sentenceOf(line: string, timeZone: string): string {
  const { level, time, msg: _, err: __, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = new Date(String(time)).toLocaleTimeString('en-GB', { timeZone });
  const mark = Number(level) >= 50 ? 'Problem: ' : Number(level) >= 40 ? 'Warning: ' : '';
  const values = Object.entries(fields)
    .filter(([, value]) => typeof value !== 'object')
    .map(
      ([name, value]) => `${name} ${isoTime.test(String(value)) ? exactly(new Date(String(value)), timeZone) : value}`,
    );
  return `${clock}  ${mark}${messageOf(line)}${values.length > 0 ? ` (${values.join(', ')})` : ''}`;
}

const isoTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** The message of one JSON log line, with that of its error. */
export function messageOf(line: string): string {
  const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return err?.message === undefined ? msg : `${msg} (${err.message})`;
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean };

/** Writes a line to standard error, because standard output is for data. */
export function printNote(text: string, stream: Stream = process.stderr): void {
  stream.write(`${printable(text)}\n`);
}

const lineEveryMs = 5_000;

/**
 * Prints the progress of a long command, a line every five seconds. `share` is the completed fraction, from 0 to 1;
 * `count` is what this run has done.
 */
export function createProgress(unit: string, stream?: Stream): (share: number, count: number) => void {
  let toldAt = performance.now();
  return (share, count) => {
    if (performance.now() - toldAt < lineEveryMs) return;
    toldAt = performance.now();
    printNote(`${Math.floor((share || 0) * 100)}%, ${count} ${unit}`, stream);
  };
}

export interface ConsentFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** The effect that a command would have. */
export interface Preview {
  /** For people. */
  readonly sentence: string;
  /** For `--json`. */
  readonly data: object;
}

/** Where a question is asked and answered. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Asks before an irreversible command. Returns undefined if it may proceed, or its preview as output with `--dry-run`.
 * `--yes` skips the question. On a terminal, shows the preview and asks for the word yes; any other answer throws
 * `UserError`. Without a terminal, throws `WrongUse`.
 */
export async function confirm(
  { yes = false, dryRun = false }: ConsentFlags,
  preview: () => Promise<Preview>,
  terminal: Terminal = { input: process.stdin, output: process.stderr },
): Promise<Output | undefined> {
  if (yes) return undefined;
  if (!dryRun && !terminal.input.isTTY) {
    throw new WrongUse(
      'Nothing was done, since there is no terminal to ask on: --yes confirms, --dry-run shows what it would do.',
    );
  }
  const { sentence, data } = await preview();
  if (dryRun) return { json: { ...data, isDone: false }, text: sentence };
  const answer = await ask(printable(`${sentence}\nType yes to do it: `), terminal);
  if (answer.trim().toLowerCase() !== 'yes') throw new UserError('Nothing was done.');
  return undefined;
}

/** The typed line. Empty at the end of the input, or after Ctrl-C. */
async function ask(question: string, { input, output }: Terminal): Promise<string> {
  const lines = createInterface({ input, output });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('close', () => resolve(''));
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}

/** Who runs the command, as far as the machine knows. */
export function operatorName(): string {
  try {
    return `${userInfo().username}, on the command line`;
  } catch {
    // A container may run as a user without a name.
    return 'somebody on the command line';
  }
}
