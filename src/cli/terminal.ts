import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { UserError } from '../shared/errors.ts';
import { createLog, type Log } from '../shared/log.ts';
import { printable } from '../shared/storable.ts';
import { WrongUse } from './failures.ts';
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
 * The log of `start`: on a terminal a sentence a line, with its time in `timeZone`. Elsewhere, and with LOG_LEVEL debug or trace, JSON.
 */
export function createStartLog(level: string, timeZone: string, stream: Stream = process.stderr): Log {
  if (!stream.isTTY || level === 'debug' || level === 'trace') return createLog(level);
  return createLog(level, {
    write: (line) => void stream.write(`${printable(sentenceOf(line, timeZone))}\n`),
  });
}

/** One JSON log line as a sentence, with its other fields in parentheses: `14:02:11  The rules are in force (rules 7)`. */
export function sentenceOf(line: string, timeZone: string): string {
  const { level, time, msg: _, err: __, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = new Date(String(time)).toLocaleTimeString('en-GB', { timeZone });
  const mark = Number(level) >= 50 ? 'Problem: ' : Number(level) >= 40 ? 'Warning: ' : '';
  const values = Object.entries(fields).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${clock}  ${mark}${messageOf(line)}${values.length > 0 ? ` (${values.join(', ')})` : ''}`;
}

/** The message of one JSON log line, with that of its error. */
export function messageOf(line: string): string {
  const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return err?.message === undefined ? msg : `${msg} (${err.message})`;
}

/** Progress of a long command: a bar with rate and remaining time on a terminal, else a line every ten seconds. */
export interface Progress {
  /** `share` is the completed fraction, from 0 to 1; `count` is what this run has done. Neither decreases. */
  show(share: number, count: number): void;
  /** Writes a line above the bar. */
  note(text: string): void;
  end(): void;
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

const lineEveryMs = 10_000;
const drawEveryMs = 100;

/** The bar on the terminal, if there is one. All other output must go above it. */
let current: Progress | undefined;

/** Writes a line to standard error, above the bar if there is one. */
export function printNote(text: string): void {
  if (current) current.note(text);
  else console.error(text);
}

/** Writes to standard error, because standard output is for data. */
export function createProgress(unit: string, stream: Stream = process.stderr): Progress {
  const began = performance.now();
  const isBar = stream.isTTY === true && process.env.TERM !== 'dumb';
  const clear = isBar ? '\r\u001b[K' : '';
  let done = { share: 0, count: 0 };
  /** Where this run started: not at 0 if it was resumed. */
  let start: { readonly share: number; readonly at: number } | undefined;
  let shownAt = isBar ? 0 : began;

  function draw(): void {
    shownAt = performance.now();
    const { share, count } = done;
    const rate = Math.round(count / Math.max(0.001, (shownAt - began) / 1_000));
    const words = [`${Math.floor(share * 100)}%`, `${count} ${unit}`, `${rate}/s`, `${left()} left`];
    stream.write(isBar ? `${clear}${barOf(share, words, stream.columns || 80)}` : `${words.join(', ')}\n`);
  }

  function left(): string {
    if (done.share >= 1) return '0 s';
    if (start === undefined || done.share <= start.share) return '?';
    const rest = (1 - done.share) / (done.share - start.share);
    const seconds = Math.round(((shownAt - start.at) / 1_000) * rest);
    if (seconds < 60) return `${seconds} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }

  const progress: Progress = {
    show(share, count) {
      const at = performance.now();
      start ??= { share, at };
      // The total can grow meanwhile, and a read that is retried counts as not done again.
      done = {
        share: Math.max(done.share, Number.isNaN(share) ? 0 : Math.min(1, share)),
        count: Math.max(done.count, count),
      };
      if (at - shownAt >= (isBar ? drawEveryMs : lineEveryMs)) draw();
    },
    note(text) {
      stream.write(`${clear}${printable(text)}\n`);
      if (isBar) draw();
    },
    end() {
      current = undefined;
      if (!isBar) return;
      draw();
      stream.write('\n');
    },
  };
  current = progress;
  if (isBar) draw();
  return progress;
}

const maxBar = 40;
const minBar = 10;

/** The bar and as much text next to it as fits: a line that wraps can't be redrawn. */
function barOf(share: number, [done = '', counted = '', rate = '', left = '']: string[], columns: number): string {
  const percent = done.padStart(4);
  // The last column stays empty, because some terminals wrap after writing it.
  const words = [[percent, counted, rate, left], [percent, counted, left], [percent, left], [percent]]
    .map((each) => each.join('  '))
    .find((each) => each.length + 1 + minBar < columns);
  if (words === undefined) return percent.slice(0, Math.max(0, columns - 1));
  const width = Math.min(maxBar, columns - 2 - words.length);
  const filled = Math.floor(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${words}`;
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

/** Questions go to standard error, because standard output is for data. */
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
    return `command line, ${userInfo().username}`;
  } catch {
    // A container may run as a user without a name.
    return 'command line';
  }
}
