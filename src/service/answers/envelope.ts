import { parseJson } from '../../json.ts';
import { createReading, type Drift, jsonType, type Reading, shownKey, UnreadableData } from './reading.ts';
import { mayMeanMore } from './siblings.ts';

/** What the body of an answer holds, and what is remarkable about it. */
export interface Content<T> {
  data: T;
  /** Those of the keys beside `data` that may mean that there is more: paging may have arrived (section 8). */
  siblings: readonly string[];
  drift: readonly Drift[];
  /** Rows left out because nothing identified them. */
  omitted: number;
  /** Where a value could not be had that the specification always gives. */
  lacking: readonly string[];
  /** Whether absence from this answer means anything: no row was left out and nothing hints at more pages. */
  isComplete: boolean;
}

/** What an operation answered. */
export interface Answer<T> extends Content<T> {
  /** The status, always 2xx: of a send, 201 is sent and charged, 200 is skipped and free (section 7). */
  status: number;
}

/** Makes an operation's result of the `data` that came; throws `UnreadableData` when it cannot. */
export type Read<T> = (data: unknown, reading: Reading) => T;

/** Reads the answer of an operation whose success is 204 without a body: whatever else a success holds is ignored. */
export const nothing: Read<void> = () => undefined;

/** The error of the envelope (section 7). */
export interface Refusal {
  type: string;
  message: string;
  scope?: string;
  /** Type and message both came, as the service always writes them. */
  isWhole: boolean;
}

/**
 * Reads `{ "data": … }`. Throws `UnreadableData` when the text is no JSON, has no `data`, or `read` cannot use it. With
 * `nothing`, an empty body and an envelope without `data` will do too; a proxy's page still will not.
 */
export function readAnswer<T>(body: string, read: Read<T>): Content<T> {
  const isDataOptional = read === nothing;
  const envelope = isDataOptional && body.trim() === '' ? {} : parse(body);
  if (!isRecord(envelope)) throw new UnreadableData(`JSON came, but ${jsonType(envelope)} instead of { data }`);
  if (!isDataOptional && !Object.hasOwn(envelope, 'data'))
    throw new UnreadableData('JSON came, but without its `data`');
  const beside = { rows: rowCount(envelope.data), isList: Array.isArray(envelope.data) };
  const siblings: string[] = [];
  const reading = createReading();
  for (const [key, value] of Object.entries(envelope)) {
    if (key === 'data') continue;
    const isDoubt = mayMeanMore(key, value, beside);
    if (isDoubt) siblings.push(shownKey(key));
    reading.note(isDoubt ? 'sibling_key' : 'unknown_key', '', shownKey(key), jsonType(value));
  }
  const data = read(envelope.data, reading);
  const { drift, omitted, lacking } = reading;
  const isComplete = omitted === 0 && siblings.length === 0;
  return { data, siblings, drift, omitted, lacking, isComplete };
}

/** The error envelope, or `undefined` for anything else: a proxy's page proves nothing about the service. */
export function readRefusal(body: string): Refusal | undefined {
  let envelope: unknown;
  try {
    envelope = parse(body);
  } catch {
    return undefined;
  }
  const error = isRecord(envelope) ? envelope.error : undefined;
  if (!isRecord(envelope) || !isRecord(error) || typeof error.type !== 'string') return undefined;
  const message = typeof error.message === 'string' ? error.message : '';
  const scope = [error.scope, envelope.scope].find((value) => typeof value === 'string' && value !== '');
  const isWhole = typeof error.message === 'string';
  return { type: error.type, message, isWhole, ...(typeof scope === 'string' && { scope }) };
}

/** How many rows data holds that is a list, or an object with one. */
function rowCount(data: unknown): number | undefined {
  const lists = [data, ...(isRecord(data) ? Object.values(data) : [])].filter((each) => Array.isArray(each));
  return lists.length === 1 ? lists[0]?.length : undefined;
}

function parse(text: string): unknown {
  if (text.trim() === '') throw new UnreadableData('an empty body came');
  try {
    return parseJson(text);
  } catch {
    // The parser's own error quotes the body, so it is not kept as the cause.
    throw new UnreadableData(`${describe(text)} came (${text.length} characters)`, { isPage: isPage(text) });
  }
}

function describe(text: string): string {
  if (isPage(text)) return 'a page of HTML or XML';
  const start = text.trimStart()[0];
  return start === '{' || start === '[' ? 'JSON that is broken or cut off' : 'something that is not JSON';
}

function isPage(text: string): boolean {
  return text.trimStart().startsWith('<');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
