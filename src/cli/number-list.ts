import { readFile } from 'node:fs/promises';
import { WrongUse } from '../shared/errors.ts';
import { typedNumber } from '../warehouse/phone-numbers.ts';

/** An entry in a list of numbers: a number, and the line of ours to probe it with. Undefined means every line. */
export interface ListedNumber {
  readonly number: string;
  readonly line: string | undefined;
  /** The line number in the file, from 1. */
  readonly row: number;
}

/** Reads a file with a number and, optionally, a line of ours in each row. Throws `WrongUse` with the invalid rows. */
export async function readNumberList(file: string): Promise<ListedNumber[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new WrongUse(`${file} cannot be read (${error.code}): name a file with one number a row.`);
  });
  return parseNumberList(text, file);
}

/** The rows of a list, without empty ones and comments (`#`). */
export function parseNumberList(text: string, file: string): ListedNumber[] {
  const bad: number[] = [];
  const listed = text.split(/\r?\n/).flatMap((written, at) => {
    const row = written.replace(/^\ufeff/, '').trim();
    if (row === '' || row.startsWith('#')) return [];
    const [given = '', ours = '', ...others] = row.split(/[,;\t]/);
    const [number, line] = [typedNumber(given), ours.trim() === '' ? undefined : typedNumber(ours)];
    const isRead = 'number' in number && (line === undefined || 'number' in line) && others.join('').trim() === '';
    if (isRead) return [{ number: number.number, line: line?.number, row: at + 1 }];
    bad.push(at + 1);
    return [];
  });
  refuseRows(file, bad, 'write a phone number with its country code and, after a comma, a line of the account');
  return listed;
}

/** Throws `WrongUse` for rows with a line that the account doesn't have. */
export function refuseUnknownLines(file: string, listed: readonly ListedNumber[], ours: readonly string[]): void {
  const unknown = listed.filter(({ line }) => line !== undefined && !ours.includes(line));
  const rows = unknown.map(({ row }) => row);
  refuseRows(
    file,
    rows,
    `the account has no such line: ${[...new Set(unknown.map(({ line }) => line))].slice(0, 5).join(', ')}`,
  );
}

const maxRows = 5;

function refuseRows(file: string, rows: readonly number[], problem: string): void {
  if (rows.length === 0) return;
  const more = rows.length > maxRows ? ` and ${rows.length - maxRows} more` : '';
  throw new WrongUse(
    `${file}, ${rows.length === 1 ? 'line' : 'lines'} ${rows.slice(0, maxRows).join(', ')}${more}: ${problem}.`,
  );
}
