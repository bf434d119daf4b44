import { toTheSecond } from '../ops/format.ts';
import type { UserError } from '../shared/errors.ts';

/** The result of a command: as JSON with `--json`, else in words. */
export interface Output {
  readonly json: unknown;
  /** Undefined if the log already says it. */
  readonly text?: string | undefined;
  /** Set if it didn't do everything it was asked to: exit code 1, with this error message. */
  readonly failed?: boolean | UserError | undefined;
}

/** A column of a table: its head, and the cell of a row. A null cell is empty. */
export type Column<Row> = readonly [head: string, cell: (row: Row) => string | number | Date | null | undefined];

/**
 * Rows as JSON and as a table, with times in a zone. `empty` is the sentence for no rows; `remarks` follow the table.
 */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  {
    timeZone = 'UTC',
    empty,
    remarks = [],
  }: { timeZone?: string; empty?: string; remarks?: readonly (string | false)[] },
): Output {
  if (rows.length === 0 && empty !== undefined) return { json: rows, text: empty };
  const cells = rows.map((row) =>
    columns.map(([, cell]) => {
      const value = cell(row) ?? '';
      return value instanceof Date ? toTheSecond(value, timeZone) : value;
    }),
  );
  const table = renderColumns(
    columns.map(([head]) => head),
    cells,
  );
  return { json: rows, text: [table, ...remarks.filter((each) => each !== false)].join('\n') };
}

/** Names and values, one pair per line, without those that have no value. */
export function pairsOf(pairs: Readonly<Record<string, string | number | null | undefined>>, margin = ''): string {
  const given = Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${margin}${name.padEnd(width)}  ${value}`).join('\n');
}

/** The space between two columns. */
const gap = '  ';
/** A longer word, such as an id or a link, is broken. */
const longestWord = 24;

/** The width of the terminal in characters. Undefined (unlimited) if standard output isn't a terminal. */
function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
}

/**
 * A table with a head. Without a width limit, each row is one line. Within a limit, the widest columns are wrapped
 * until it fits. If that would break words, each cell gets its own line.
 */
export function renderColumns(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  width = terminalWidth(),
): string {
  const texts = [head, ...rows].map((row) => row.map(String));
  const cells = width === undefined ? texts.map((row) => row.map((cell) => cell.replaceAll('\n', '; '))) : texts;
  const longest = (lines: readonly string[]) => lines.reduce((most, { length }) => Math.max(most, length), 0);
  const widest = (linesOf: (cell: string) => string[]) =>
    head.map((_, at) => cells.reduce((most, row) => Math.max(most, longest(linesOf(row[at] ?? ''))), 0));
  const natural = widest((cell) => cell.split('\n'));
  const least = widest((cell) => wrapped(cell, longestWord).flatMap(wordsOf));
  const available = (width ?? Number.POSITIVE_INFINITY) - gap.length * (head.length - 1);
  const widths = fitted(natural, least, available);
  if (!widths) return renderRecords(head, cells.slice(1), width);
  return cells.flatMap((row) => alignedLines(row, widths)).join('\n');
}

/** Narrows the widest column repeatedly until all fit. Undefined if they can't. */
function fitted(natural: readonly number[], least: readonly number[], available: number): number[] | undefined {
  const widths = [...natural];
  for (let excess = widths.reduce((sum, each) => sum + each, 0) - available; excess > 0; excess -= 1) {
    const free = widths.map((each, at) => (each > (least[at] ?? 0) ? each : 0));
    const widest = Math.max(...free);
    if (widest === 0) return undefined;
    widths[free.indexOf(widest)] = widest - 1;
  }
  return widths;
}

function alignedLines(row: readonly string[], widths: readonly number[]): string[] {
  const columns = row.map((cell, at) => wrapped(cell, widths[at] ?? 0));
  const height = Math.max(...columns.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map((lines, at) => (lines[line] ?? '').padEnd(widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

function renderRecords(head: readonly string[], rows: readonly (readonly string[])[], width?: number): string {
  const margin = Math.max(...head.map(({ length }) => length));
  const cellOf = (cell: string, at: number) => labelled((head[at] ?? '').padEnd(margin), cell, width);
  return rows.map((row) => row.flatMap((cell, at) => (cell === '' ? [] : cellOf(cell, at))).join('\n')).join('\n\n');
}

/** A text after a label, wrapped within the width, with continuation lines indented. */
export function labelled(label: string, text: string, width = terminalWidth()): string {
  const margin = label.length + gap.length;
  const lines = width === undefined ? text.split('\n') : wrapped(text, Math.max(longestWord, width - margin));
  return `${label}${gap}${lines.join(`\n${' '.repeat(margin)}`)}`.trimEnd();
}

/** A command in backquotes counts as one word, so that it can be copied. */
function wordsOf(line: string): string[] {
  return line.match(/(?:`[^`]*`|[^ ])+/g) ?? [];
}

/** Lines of at most `width` characters. Words are only broken if they are longer. */
function wrapped(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    if (line.length <= width) return [line];
    const lines: string[] = [];
    for (const word of wordsOf(line).flatMap((each) => each.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [])) {
      const longer = `${lines.at(-1)} ${word}`;
      if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  });
}
