import { parseJson, plainKey } from '../../shared/json.ts';
import {
  createReadReport,
  type Drift,
  isObject,
  jsonType,
  loggableKey,
  type ReadReport,
  UnreadableData,
} from './values.ts';

/** What an operation answered. */
export interface Answer<T> {
  /** The status, always 2xx: of a send, 201 is sent and charged, 200 is skipped and free (section 7). */
  status: number;
  data: T;
  /** The keys beside `data` that say there may be more: paging may have arrived (section 8). */
  siblings: readonly string[];
  drift: readonly Drift[];
  /** Number of rows left out because nothing identified them. */
  omitted: number;
  /** Whether absence from this answer proves anything: no row was left out, and no sibling key says there is more. */
  isComplete: boolean;
}

/** Turns the `data` of an answer into an operation's result; throws `UnreadableData` when it cannot. */
export type Read<T> = (data: unknown, report: ReadReport) => T;

/** For operations whose success is 204 without a body. What another success holds is ignored. */
export const nothing: Read<void> = () => undefined;

/** The error of the envelope (section 7). */
export interface Refusal {
  type: string;
  message: string;
  scope: string | undefined;
  /** Whether both type and message came: the service always writes both. */
  isWhole: boolean;
}

/**
 * Reads `{ "data": … }`. Throws `UnreadableData` when the text is not JSON, has no `data`, or `read` cannot use it.
 * With `nothing`, an empty body or an envelope without `data` is accepted, but not a proxy's page.
 */
export function readAnswer<T>(body: string, read: Read<T>): Omit<Answer<T>, 'status'> {
  const isDataOptional = read === nothing;
  const envelope = isDataOptional && body.trim() === '' ? {} : parse(body);
  if (!isObject(envelope)) throw new UnreadableData(`the body is JSON, but ${jsonType(envelope)} instead of { data }`);
  const { data: value, ...rest } = envelope;
  if (!isDataOptional && !Object.hasOwn(envelope, 'data')) throw new UnreadableData('the JSON has no `data`');
  const rows = rowCount(value);
  const siblings: string[] = [];
  const report = createReadReport();
  for (const [key, sibling] of Object.entries(rest)) {
    const isMore = mayMeanMore(key, sibling, rows);
    if (isMore) siblings.push(loggableKey(key));
    report.addDrift(isMore ? 'sibling_key' : 'unknown_key', '', loggableKey(key), jsonType(sibling));
  }
  const data = read(value, report);
  const { drift, omitted } = report;
  return { data, siblings, drift, omitted, isComplete: omitted === 0 && siblings.length === 0 };
}

/** The error envelope (section 7), or `undefined` for anything else, such as a proxy's page. */
export function readRefusal(body: string): Refusal | undefined {
  let envelope: unknown;
  try {
    envelope = parse(body);
  } catch {
    return undefined;
  }
  const error = isObject(envelope) ? envelope.error : undefined;
  if (!isObject(envelope) || !isObject(error) || typeof error.type !== 'string') return undefined;
  const scope = [error.scope, envelope.scope].find(isFilled);
  const isWhole = typeof error.message === 'string';
  return { type: error.type, message: isWhole ? String(error.message) : '', scope, isWhole };
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The number of rows of data that is a list, or an object with exactly one list. */
function rowCount(data: unknown): number | undefined {
  const lists = [data, ...(isObject(data) ? Object.values(data) : [])].filter((each) => Array.isArray(each));
  return lists.length === 1 ? lists[0]?.length : undefined;
}

function parse(text: string): unknown {
  if (text.trim() === '') throw new UnreadableData('the body is empty');
  try {
    return parseJson(text);
  } catch {
    // Not kept as the cause: the parser's error quotes the body.
    throw new UnreadableData(`the body is ${describe(text)} (${text.length} characters)`, { isPage: isPage(text) });
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

/*
 * No list of the service is paged today. When one is, its paging state arrives as sibling keys of `data` (section 8), whose
 * names are not specified. The usual names for "there is more" make an answer incomplete; other keys are only drift.
 */

const moreKey = /next|cursor|hasmore|^more$|truncated|partial|incomplete/;
const pagesKey = /^(?:pages|totalpages|pagecount)$/;
const totalKey = /^(?:count|total(?:count|items|results|elements|records|rows)?)$/;
const maxDepth = 4;

/** Whether a key beside `data` says that there is more than its `rows`, itself or by a key inside it. */
function mayMeanMore(key: string, value: unknown, rows: number | undefined, isWithinMore = false, depth = 0): boolean {
  const name = plainKey(key);
  if (name.startsWith('prev')) return false;
  const isMore = isWithinMore || moreKey.test(name);
  if (typeof value === 'object' && value !== null) {
    if (depth === maxDepth) return isMore;
    return Object.entries(value).some(([inner, each]) => mayMeanMore(inner, each, rows, isMore, depth + 1));
  }
  if (typeof value === 'number' && pagesKey.test(name)) return value > 1;
  if (typeof value === 'number' && totalKey.test(name)) return rows !== undefined && value > rows;
  return isMore && Boolean(value);
}
