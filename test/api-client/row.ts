import { readAnswer } from '../../src/api-client/answers/envelope.ts';
import { requiredRows } from '../../src/api-client/answers/fields.ts';
import { type Field, pathOf } from '../../src/api-client/answers/values.ts';

export type Json = Record<string, unknown>;
export type Row = { raw: unknown; unknownKeys: readonly string[] };

/** Reads an answer whose data is a list of this one row; tells how it differs from the specification. */
export function readRow(entity: Field<Row>, row: unknown) {
  const differences: string[] = [];
  const [read] = readAnswer(
    JSON.stringify({ data: [row] }),
    (data, report) => requiredRows(data, entity, report, 'rows'),
    (what, parent, key, sample) => differences.push(`${what} ${pathOf(parent, key)}: ${sample}`),
  );
  return { row: read as (Row & Json) | undefined, differences };
}

/** The typed fields alone, without those that were not reported; the same for what is nested. */
export function typed(row: unknown): unknown {
  if (Array.isArray(row)) return row.map(typed);
  if (typeof row !== 'object' || row === null) return row;
  const { raw: _, unknownKeys: __, ...fields } = row as Row & Json;
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, typed(value)]),
  );
}
