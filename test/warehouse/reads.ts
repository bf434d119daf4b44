import { readAnswer } from '../../src/api-client/answers/envelope.ts';
import { requiredRows } from '../../src/api-client/answers/fields.ts';
import type { CallSummary, Field } from '../../src/api-client/client.ts';
import { call, recording, transcript } from '../../src/api-client/entities/call-schemas.ts';
import { message } from '../../src/api-client/entities/text-schemas.ts';
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

export const ourLine = '15550000001';
export const theirNumber = '15550000002';

/** Reads of calls. */
export function callReads(fetchSeq: number, ...rows: readonly object[]) {
  return asRead<CallSummary>(call, rows).map((each) => ({ call: each, read: readNumber(fetchSeq) }));
}

/** A read of the texts with a number. */
export function textsRead(fetchSeq: number, rows: readonly object[], number = theirNumber, isComplete = true) {
  const thread = { line: ourLine, number, participants: [] };
  return { thread, messages: asRead(message, rows), isComplete, read: readNumber(fetchSeq) };
}

const ofCall = (fetchSeq: number, callId: string) =>
  ({ callId, isComplete: true, state: 'complete', read: readNumber(fetchSeq) }) as const;

/** A complete read of the recordings of a call. */
export function recordingsRead(fetchSeq: number, callId: string, rows: readonly object[]) {
  return { ...ofCall(fetchSeq, callId), recordings: asRead(recording, rows) };
}

/** A complete read of the transcripts of a call. */
export function transcriptsRead(fetchSeq: number, callId: string, rows: readonly object[]) {
  return { ...ofCall(fetchSeq, callId), transcripts: asRead(transcript, rows) };
}
