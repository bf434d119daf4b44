import type { Random } from '../random.ts';
import type { InjectedFault } from './faults.ts';
import type { AnswerFault, AnswerFaultOf } from './spec.ts';

type Row = Record<string, unknown>;

/** Additions that a new version of the service might make. */
const newValue = 'holographic';
const newKeys = { hologram: true, holograms: [{ id: 1 }] };
const pagingState = { paging: { next: 'eyJwIjoyfQ', hasMore: true } };

/** Enumerated fields (section 2). */
const enumerated = new Set(['direction', 'status', 'type', 'callerType', 'calledType', 'reason', 'contentType']);

/** Applies the faults that change the content of an answer. A body without `data` stays as it is. */
export function changeBody(body: Buffer, drawn: readonly InjectedFault<AnswerFault>[]): Buffer {
  const envelope = parse(body.toString());
  if (envelope === undefined) return body;
  // Call ids are unquoted last, on the text: parsed again as numbers they would lose digits.
  for (const each of drawn) change(envelope, each);
  const text = JSON.stringify(envelope);
  const isUnquoted = drawn.some((fault) => fault.kind === 'unquotedCallIds');
  return Buffer.from(isUnquoted ? unquoteCallIds(text) : text);
}

function change(envelope: Row, fault: InjectedFault<AnswerFault>): void {
  switch (fault.kind) {
    case 'noData':
      delete envelope.data;
      return;
    case 'siblings':
      Object.assign(envelope, pagingState);
      return;
    case 'noRows':
      envelope.data = withoutRows(envelope.data);
      return;
    case 'newKeys':
      for (const row of rowsOf(envelope.data)) Object.assign(row, newKeys);
      return;
    case 'newValues':
      for (const row of objectsIn(envelope.data)) {
        for (const [key, value] of Object.entries(row)) {
          if (enumerated.has(key) && typeof value === 'string') row[key] = newValue;
        }
      }
      return;
    case 'fields':
      changeFields(envelope.data, fault, fault.random);
      return;
  }
}

function changeFields(data: unknown, { change, field }: AnswerFaultOf<'fields'>, random: Random): void {
  for (const row of field === undefined ? rowsOf(data) : objectsIn(data)) {
    const keys =
      field === undefined ? [random.pick(Object.keys(row))] : [field].filter((key) => Object.hasOwn(row, key));
    for (const key of keys) {
      if (change === 'drop') delete row[key];
      else row[key] = change === 'null' ? null : retyped(row[key]);
    }
  }
}

/** A value of another type. */
function retyped(value: unknown): unknown {
  if (typeof value === 'string') return { text: value };
  if (typeof value === 'number') return 'seven';
  if (typeof value === 'boolean') return 'perhaps';
  return Array.isArray(value) ? {} : [];
}

/** The objects in the lists of an answer, or `data` itself when it has no lists. */
function rowsOf(data: unknown): Row[] {
  if (Array.isArray(data)) return data.filter(isRow);
  if (!isRow(data)) return [];
  const listed = Object.values(data)
    .filter((value) => Array.isArray(value))
    .flat()
    .filter(isRow);
  const rows = listed.length > 0 ? listed : [data];
  return rows.filter((row) => Object.keys(row).length > 0);
}

function objectsIn(value: unknown): Row[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isRow(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

function withoutRows(data: unknown): unknown {
  if (Array.isArray(data)) return [];
  if (!isRow(data)) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Array.isArray(value) ? [] : value]));
}

function parse(body: string): Row | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isRow(value) && Object.hasOwn(value, 'data') ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const quoted = /("(?:id|callId|UniqueId|uniqueId|calledBack|bridgedFromCallId)":)"(\d{9,11}\.\d{1,12})"/g;

/** Writes call ids as bare numbers: a client that parses them as JSON numbers loses digits. */
export function unquoteCallIds(json: string): string {
  return json.replace(quoted, '$1$2');
}
