import { createInterface } from 'node:readline/promises';
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
      if (!written.has(message)) printNote(message);
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
  /** `share` of the whole that is done, from 0 to 1; `count` of what was done in this run. Neither goes back. */
  show(share: number, count: number): void;
  /** Writes a line above the bar. */
  note(text: string): void;
  end(): void;
}

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

const lineEveryMs = 10_000;
const drawEveryMs = 100;

/** The bar on the terminal, if there is one: whatever else is written has to go above it. */
let current: Progress | undefined;

/** Writes a line to standard error, above the bar if there is one. */
export function printNote(text: string): void {
  if (current) current.note(text);
  else console.error(text);
}

/** Writes to standard error, so that standard output stays free for data. */
export function createProgress(unit: string, stream: Stream = process.stderr): Progress {
  const began = performance.now();
  const isBar = stream.isTTY === true && process.env.TERM !== 'dumb';
  const clear = isBar ? '\r\u001b[K' : '';
  let done = { share: 0, count: 0 };
  /** Where this run began: not at 0 when it was resumed. */
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
      // The total can grow meanwhile, and a retried read is counted as not done again.
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

/** The bar and as much beside it as fits: a line that wraps cannot be drawn over. */
function barOf(share: number, [done = '', counted = '', rate = '', left = '']: string[], columns: number): string {
  const percent = done.padStart(4);
  // The last column stays empty: some terminals wrap when it is written.
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
  readonly json?: boolean;
}

/** The effect that a command would have. */
export interface Preview {
  /** For people. */
  readonly sentence: string;
  /** For `--json`. */
  readonly data: object;
}

/** Questions are printed to standard error, so that standard output contains only data. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Whether an irreversible command may proceed. With `--yes` it does. On a terminal it shows the preview and asks for the word
 * yes; any other answer throws `UserError`. Without a terminal it throws `WrongUse`. With `--dry-run` it prints the preview
 * and returns false.
 */
export async function confirm(
  { yes = false, dryRun = false, json }: ConsentFlags,
  preview: () => Promise<Preview>,
  terminal: Terminal = { input: process.stdin, output: process.stderr },
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

/** Characters between two columns, and between two that are short of room. */
const gutters = [2, 1] as const;
/** A longer word is broken to fit a column, such as an id or a link. */
const longestWord = 24;

/** The width of the terminal in characters; undefined, so without a bound, when standard output is no terminal. */
function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
}

/**
 * A table with a head. Without a bound each row is one line; within a bound the widest columns are wrapped until it fits.
 * Where that would break words, each cell is printed on a line of its own.
 */
export function renderColumns(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  width = terminalWidth(),
): string {
  const cells = [head, ...rows].map((row) => row.map(String));
  if (width === undefined) {
    const texts = cells.map((row) => row.map((cell) => cell.replaceAll('\n', '; ')));
    return renderTable(texts, widthsOf(texts, widthOf), gutters[0]);
  }
  const natural = widthsOf(cells, widthOf);
  const least = widthsOf(cells, (cell) => Math.min(longestWord, widthOf(wrapped(cell, 1, longestWord))));
  for (const gutter of gutters) {
    const widths = fitted(natural, least, width - gutter * (head.length - 1));
    if (widths) return renderTable(cells, widths, gutter);
  }
  return renderRecords(head, cells.slice(1), width);
}

function widthsOf(cells: readonly (readonly string[])[], measure: (cell: string) => number): number[] {
  return (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => measure(row[at] ?? ''))));
}

function renderTable(cells: readonly (readonly string[])[], widths: readonly number[], gutter: number): string {
  const table = new Table({
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gutter },
    chars: Object.fromEntries(borders.map((name) => [name, ''])),
  });
  for (const row of cells) table.push(row.map((cell, at) => wrapped(cell, widths[at] ?? 0)));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

function renderRecords(head: readonly string[], rows: readonly (readonly string[])[], width?: number): string {
  const margin = Math.max(...head.map(widthOf));
  const cellOf = (row: readonly string[], at: number) =>
    labelled((head[at] ?? '').padEnd(margin), row[at] ?? '', width);
  return rows.map((row) => row.flatMap((cell, at) => (cell === '' ? [] : cellOf(row, at))).join('\n')).join('\n\n');
}

/** A text behind a label, wrapped within the width, and indented where it goes on. */
export function labelled(label: string, text: string, width = terminalWidth()): string {
  const gap = ' '.repeat(gutters[0]);
  const margin = label.length + gap.length;
  const lines = width === undefined ? text : wrapped(text, Math.max(longestWord, width - margin));
  return `${label}${gap}${lines.replaceAll('\n', `\n${' '.repeat(margin)}`)}`.trimEnd();
}

const borders = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
];

/** Narrows the widest column repeatedly until all fit; undefined when they cannot. */
function fitted(natural: readonly number[], least: readonly number[], available: number): number[] | undefined {
  const widths = [...natural];
  for (let excess = widths.reduce((sum, each) => sum + each, 0) - available; excess > 0; excess -= 1) {
    const wide = widths.filter((each, at) => each > (least[at] ?? 0));
    if (wide.length === 0) return undefined;
    const widest = widths.findIndex((each, at) => each === Math.max(...wide) && each > (least[at] ?? 0));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function widthOf(cell: string): number {
  return Math.max(0, ...cell.split('\n').map(({ length }) => length));
}

/** A command in backquotes counts as one word, so that it can be copied. */
const wordsAndCommands = /(?:`[^`]*`|[^ ])+/g;
/** Where a name may be broken; times and numbers may not. */
const withinNames = /(?<=[a-z][-_:/])(?=[a-z])/i;

/** Breaks between words, within names that are wider than the column, and within anything wider than `longest`. */
function wrapped(cell: string, width: number, longest = width): string {
  if (widthOf(cell) <= width) return cell;
  return cell
    .split('\n')
    .flatMap((line) => {
      const lines: string[] = [];
      let last = '';
      for (const word of line.match(wordsAndCommands) ?? []) {
        const parts = word.length <= width ? [word] : word.split(withinNames).flatMap((each) => pieces(each, longest));
        for (const [at, part] of parts.entries()) {
          const joined = last === '' ? part : `${last}${at === 0 ? ' ' : ''}${part}`;
          if (joined.length > width && last !== '') lines.push(last);
          last = joined.length > width ? part : joined;
        }
      }
      return [...lines, last];
    })
    .join('\n');
}

function pieces(word: string, width: number): string[] {
  return word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''];
}
