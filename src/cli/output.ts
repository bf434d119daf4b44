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
export type Column<Row> = readonly [head: string, cell: (row: Row) => string | number | null | undefined];

/** Rows as JSON and as a table, which remarks follow. */
export function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[], ...remarks: string[]): Output {
  const head = columns.map(([name]) => name);
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row) ?? ''));
  return { json: rows, text: [renderColumns(head, cells), ...remarks].join('\n') };
}

/** The space between two columns. */
const gap = '  ';
/** A table with a head: padded columns, one row a line. */
export function renderColumns(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => String(cell).replaceAll('\n', '; ')));
  const widths = head.map((_, at) => cells.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), 0));
  const lineOf = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(gap);
  return cells.map((row) => lineOf(row).trimEnd()).join('\n');
}

/** A text after a label, with further lines indented. */
export function labelled(label: string, text: string): string {
  const margin = ' '.repeat(label.length + gap.length);
  return `${label}${gap}${text.replaceAll('\n', `\n${margin}`)}`.trimEnd();
}
