import { isDeepStrictEqual } from 'node:util';
import type { Resource } from '../deployment/service.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Which column holds which field of the API. */
export type Columns = Readonly<Record<string, string>>;

/** What the mirror must hold for a resource of the API, column by column; absent fields are NULL. */
export function expectedRow(resource: Resource, columns: Columns): Row {
  return Object.fromEntries(Object.entries(columns).map(([column, field]) => [column, comparable(resource[field])]));
}

/** Values as they compare on both sides: instants as milliseconds, 64-bit integers as text. */
export function comparable(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return Date.parse(value);
  return Array.isArray(value) ? value.map(comparable) : value;
}

/** Says of each row whose values are not those that the API shows where it differs; values themselves stay unsaid. */
export function differences(what: string, expected: readonly Row[], found: readonly Row[]): string[] {
  if (expected.length !== found.length) return [`${what}: ${found.length} rows for ${expected.length} at the service`];
  return expected.flatMap((row, at) => {
    const held = found[at] ?? {};
    const columns = Object.keys(row).filter((column) => !isDeepStrictEqual(row[column], comparable(held[column])));
    return columns.map((column) => `${what} ${at + 1}: ${column} is ${show(held[column])}, not ${show(row[column])}`);
  });
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}
