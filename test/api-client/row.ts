import { readAnswer } from '../../src/api-client/answers/envelope.ts';
import { requiredRows } from '../../src/api-client/answers/fields.ts';
import type { Field } from '../../src/api-client/answers/values.ts';

export type Json = Record<string, unknown>;
export type Row = { raw: unknown; unknownKeys: readonly string[] };

/** Reads an answer whose data is a list of this one row. */
export function readRow(entity: Field<Row>, row: unknown) {
  const answer = readAnswer(JSON.stringify({ data: [row] }), (data, report) =>
    requiredRows(data, entity, report, 'rows'),
  );
  return { ...answer, row: answer.data[0] as (Row & Json) | undefined };
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
