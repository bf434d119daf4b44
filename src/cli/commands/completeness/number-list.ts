import { readFile } from 'node:fs/promises';
import { normalizeNumber } from '../../../numbers.ts';
import { WrongUse } from '../../exit.ts';

/** A row of a list of numbers: whom to ask for, and with which line of ours; undefined means with each. */
export interface ListedNumber {
  readonly number: string;
  readonly line: string | undefined;
  /** Where it stands in the file, counted from 1. */
  readonly row: number;
}

const mostTold = 5;

/** Reads a file with one number a row and, after a comma, the line of ours. Throws `WrongUse` that names the bad rows. */
export async function readNumberList(file: string): Promise<ListedNumber[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new WrongUse(`${file} cannot be read (${error.code}): name a file with one number a line.`);
  });
  return parseNumberList(text, file);
}

/** The rows of a list; empty ones and those that begin with `#` are left out. */
export function parseNumberList(text: string, file: string): ListedNumber[] {
  const problems: string[] = [];
  const listed = text.split(/\r?\n/).flatMap((written, at) => {
    const row = written.replace(/^\ufeff/, '').trim();
    if (row === '' || row.startsWith('#')) return [];
    const [number = '', line = '', ...rest] = row.split(/[,;\t]/).map((each) => each.trim());
    const problem = problemOf(number, line, rest);
    if (problem !== undefined) problems.push(`${file}, line ${at + 1}: ${problem}`);
    return [{ number: normalizeNumber(number), line: line === '' ? undefined : normalizeNumber(line), row: at + 1 }];
  });
  if (problems.length > 0) throw new WrongUse(told(problems));
  return listed;
}

/** Throws `WrongUse` for rows that name a line which the account does not have. */
export function refuseStrangeLines(file: string, listed: readonly ListedNumber[], ours: readonly string[]): void {
  const strange = listed.filter(({ line }) => line !== undefined && !ours.includes(line));
  if (strange.length === 0) return;
  throw new WrongUse(told(strange.map(({ line, row }) => `${file}, line ${row}: ${line} is no line of the account`)));
}

function problemOf(number: string, line: string, rest: readonly string[]): string | undefined {
  if (!isNumber(number)) return `"${number}" is no phone number; write it with its country code`;
  if (line !== '' && !isNumber(line)) return `"${line}" is no line: after the comma stands a number of the account`;
  return rest.some((each) => each !== '') ? 'there is more than a number and a line' : undefined;
}

function isNumber(text: string): boolean {
  const digits = normalizeNumber(text);
  return /^[\d\s().+-]+$/.test(text) && digits.length >= 7 && digits.length <= 15;
}

function told(problems: readonly string[]): string {
  const more = problems.length - mostTold;
  return [...problems.slice(0, mostTold), ...(more > 0 ? [`and ${more} lines more`] : [])].join('\n');
}
