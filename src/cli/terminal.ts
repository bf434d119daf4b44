import { createInterface } from 'node:readline/promises';
import { type Bar, Presets, SingleBar } from 'cli-progress';
import Table from 'cli-table3';
import { UserError } from '../shared/errors.ts';
import { createLog, type Log } from '../shared/log.ts';
import { printable } from '../shared/storable.ts';
import { WrongUse } from './failures.ts';

/**
 * The log of a command: writes each message once, as a sentence on standard error instead of JSON. With LOG_LEVEL debug or
 * trace it logs everything as JSON, like the long-running processes.
 */
export function createCommandLog(level: 'warn' | 'error' = 'warn', asked = process.env.LOG_LEVEL): Log {
  if (asked === 'debug' || asked === 'trace') return createLog(asked);
  const written = new Set<string>();
  return createLog(level, {
    write(line) {
      const message = messageOf(line);
      if (!written.has(message)) console.error(message);
      written.add(message);
    },
  });
}

/** The message of one JSON log line, with that of its error. */
export function messageOf(line: string): string {
  const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return err?.message === undefined ? msg : `${msg} (${err.message})`;
}

/** Progress of a long command: on a terminal a bar with rate and remaining time, elsewhere a line every ten seconds. */
export interface Progress {
  /** `share` of the whole that is done, from 0 to 1; `count` of what was done in this run. */
  show(share: number, count: number): void;
  end(): void;
}

/** The share at which this run started: not 0 when it was resumed. */
interface Start {
  readonly share: number;
  readonly at: number;
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean };

const lineEveryMs = 10_000;
/** The units of the bar. */
const steps = 10_000;

/** Writes to standard error, so that standard output stays free for data. */
export function createProgress(unit: string, stream: Stream = process.stderr): Progress {
  const began = performance.now();
  const progress = stream.isTTY ? barProgress(unit, began, stream) : lineProgress(unit, began, stream);
  let furthest = 0;
  return {
    show(share, count) {
      // The total can grow meanwhile, but the bar never goes back.
      furthest = Math.max(furthest, Math.min(1, share));
      progress.show(furthest, count);
    },
    end: progress.end,
  };
}

function barProgress(unit: string, began: number, stream: Stream): Progress {
  const bar: Bar = new SingleBar(
    {
      format: `{bar} {percentage}%  {count} ${unit}  {rate}/s  {left} left`,
      stream,
      hideCursor: true,
      etaBuffer: 50,
    },
    Presets.shades_classic,
  );
  let start: Start | undefined;
  const words = (share: number, count: number) => ({ count, rate: rateOf(count, began), left: leftOf(share, start) });
  bar.start(steps, 0, words(0, 0));
  return {
    show(share, count) {
      start ??= { share, at: performance.now() };
      bar.update(Math.floor(share * steps), words(share, count));
    },
    end: () => bar.stop(),
  };
}

function lineProgress(unit: string, began: number, stream: Stream): Progress {
  let writtenAt = began;
  let start: Start | undefined;
  return {
    show(share, count) {
      start ??= { share, at: performance.now() };
      if (performance.now() - writtenAt < lineEveryMs) return;
      writtenAt = performance.now();
      const percent = Math.floor(share * 100);
      stream.write(`${percent}%, ${count} ${unit}, ${rateOf(count, began)}/s, ${leftOf(share, start)} left\n`);
    },
    end: () => undefined,
  };
}

function rateOf(count: number, began: number): number {
  return Math.round(count / Math.max(0.001, (performance.now() - began) / 1_000));
}

function leftOf(share: number, start: Start | undefined): string {
  if (share >= 1) return '0 s';
  if (start === undefined || share <= start.share) return '?';
  const seconds = Math.round(((performance.now() - start.at) / 1_000) * ((1 - share) / (share - start.share)));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export interface ConsentFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** The effect that a command would have. */
export interface Preview {
  /** For people. */
  readonly sentence: string;
  /** For `--json`. */
  readonly data: object;
}

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/** Questions are printed to standard error, so that standard output contains only data. */
const standardStreams: Terminal = { input: process.stdin, output: process.stderr };

/**
 * Whether an irreversible command may proceed. With `--yes` it does. On a terminal it shows the preview and asks for the word
 * yes; any other answer throws `UserError`. Without a terminal it throws `WrongUse`. With `--dry-run` it prints the preview
 * and returns false.
 */
export async function confirm(
  { yes = false, dryRun = false, json }: ConsentFlags,
  preview: () => Promise<Preview>,
  terminal: Terminal = standardStreams,
): Promise<boolean> {
  if (yes) return true;
  if (!dryRun && !terminal.input.isTTY) {
    throw new WrongUse(
      'Nothing was done, since there is no terminal to ask on: --yes confirms, --dry-run shows what it would do.',
    );
  }
  const { sentence, data: facts } = await preview();
  if (dryRun) {
    console.log(json ? JSON.stringify({ ...facts, isDone: false }) : sentence);
    return false;
  }
  const answer = await ask(printable(`${sentence}\nType yes to do it: `), terminal);
  if (answer.trim().toLowerCase() !== 'yes') throw new UserError('Nothing was done.');
  return true;
}

/** The typed line; empty when the input ends, or after Ctrl-C. */
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

/** Characters between two columns. */
const gutter = 2;
/** Minimum width of a column. */
const narrowest = 6;

/** The width of the terminal in characters; undefined, so without a bound, when standard output is no terminal. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
}

/** A table with a head. Without a bound each row is one line; within a bound the widest columns are wrapped until it fits. */
export function renderColumns(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  width = terminalWidth(),
): string {
  const cells = [head, ...rows].map((row) => row.map(String));
  const texts = width === undefined ? cells.map((row) => row.map((cell) => cell.replaceAll('\n', '; '))) : cells;
  const natural = head.map((_, at) => Math.max(...texts.map((row) => widthOf(row[at] ?? ''))));
  const widths = width === undefined ? natural : fitted(natural, width - gutter * (head.length - 1));
  const table = new Table({
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gutter },
    chars: Object.fromEntries(borders.map((name) => [name, ''])),
  });
  for (const row of texts) table.push(row.map((cell, at) => wrapped(cell, widths[at] ?? 0)));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const borders = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
];

/** Narrows the widest column repeatedly until all fit. */
function fitted(natural: readonly number[], available: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, each) => sum + each, 0);
  while (total() > available && Math.max(...widths) > narrowest) {
    widths[widths.indexOf(Math.max(...widths))] = Math.max(...widths) - 1;
  }
  return widths;
}

function widthOf(cell: string): number {
  return Math.max(0, ...cell.split('\n').map(({ length }) => length));
}

/** Breaks between words, and within a word that is wider than its column. */
function wrapped(cell: string, width: number): string {
  if (widthOf(cell) <= width) return cell;
  return cell
    .split('\n')
    .flatMap((line) => {
      const lines = [''];
      for (const word of line.split(' ').flatMap((each) => pieces(each, width))) {
        const last = lines.at(-1) ?? '';
        if (last === '') lines[lines.length - 1] = word;
        else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
        else lines.push(word);
      }
      return lines;
    })
    .join('\n');
}

function pieces(word: string, width: number): string[] {
  return word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''];
}
