import { readAnswer } from '../../src/api-client/answers/envelope.ts';
import { requiredRows } from '../../src/api-client/answers/fields.ts';
import type { Field } from '../../src/api-client/client.ts';
import { parseJson } from '../../src/shared/json.ts';
import type { Provenance } from '../../src/warehouse/upsert.ts';
import type { Follow } from '../../src/warehouse/what-follows.ts';

/** The provenance of a read by its number; reads began a minute apart. */
export function readNumber(fetchSeq: number, source = 'test'): Provenance {
  const fetchedAt = new Date(Date.UTC(2026, 3, 21) + fetchSeq * 60_000).toISOString();
  return { fetchSeq: String(fetchSeq), fetchedAt, source };
}

/** Entities as the client reads them out of an answer. */
export function asRead<T>(entity: Field<T>, rows: readonly object[]): readonly T[] {
  const body = JSON.stringify({ data: parseJson(JSON.stringify(rows)) });
  return readAnswer(
    body,
    (data, reading) => requiredRows(data, entity, reading, 'rows'),
    () => undefined,
  );
}

/** For tests of what is mirrored alone: nothing follows from it. */
export const ignored: Follow = () => undefined;
