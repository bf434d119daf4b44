import type { AnswerFault, AnswerFaultOf } from '../../faults/answers.ts';
import { unquoteCallIds } from '../../faults/call-ids.ts';
import type { Struck } from '../../faults/lots.ts';
import type { Random } from '../../random.ts';

type Row = Record<string, unknown>;

/** What a new version of the service might say. */
const newValue = 'holographic';
const newKeys = { hologram: true, holograms: [{ id: 1 }] };
const pagingState = { paging: { next: 'eyJwIjoyfQ', hasMore: true } };

/** Fields that enumerate (section 2). */
const enumerating = new Set(['direction', 'status', 'type', 'callerType', 'calledType', 'reason', 'contentType']);

const changing = new Set<AnswerFault['kind']>([
  'noData',
  'noRows',
  'siblings',
  'fields',
  'newKeys',
  'newValues',
  'unquotedCallIds',
  'oldestFirst',
]);

/** Changes what the body of an answer says; a body without `data` has nothing to change. */
export function distort(body: Buffer, all: readonly Struck<AnswerFault>[]): Buffer {
  const struck = all.filter(({ fault }) => changing.has(fault.kind));
  const envelope = struck.length === 0 ? undefined : parse(body.toString());
  if (envelope === undefined) return body;
  // Whoever loses digits loses them last, or the other changes would read numbers.
  for (const each of struck) change(envelope, each);
  const text = JSON.stringify(envelope);
  const isUnquoted = struck.some(({ fault }) => fault.kind === 'unquotedCallIds');
  return Buffer.from(isUnquoted ? unquoteCallIds(text) : text);
}

function change(envelope: Row, { fault, random }: Struck<AnswerFault>): void {
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
          if (enumerating.has(key) && typeof value === 'string') row[key] = newValue;
        }
      }
      return;
    case 'fields':
      changeFields(envelope.data, fault, random);
      return;
    case 'oldestFirst':
      if (isRow(envelope.data) && Array.isArray(envelope.data.messages)) envelope.data.messages.reverse();
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

/** A value of another type, which no reader should take for the right one. */
function retyped(value: unknown): unknown {
  if (typeof value === 'string') return { text: value };
  if (typeof value === 'number') return 'seven';
  if (typeof value === 'boolean') return 'perhaps';
  return Array.isArray(value) ? {} : [];
}

/** The objects in the lists of an answer; where it has none, what it says as a whole. */
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
