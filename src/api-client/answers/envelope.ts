import { parseJson } from '../../shared/json.ts';
import { isObject, jsonType, type Report, UnreadableData } from './values.ts';

/** What an operation answered. */
export interface Answer<T> {
  /** The status, always 2xx: of a send, 201 is sent and charged, 200 is skipped and free (section 7). */
  status: number;
  data: T;
}

/** Turns the `data` of an answer into an operation's result; throws `UnreadableData` when it can't. */
export type Read<T> = (data: unknown, report: Report) => T;

/** For operations whose success is 204 without a body. Ignores the body of another success. */
export const nothing: Read<void> = () => undefined;

/** The error of the envelope (section 7). */
export interface Refusal {
  type: string;
  message: string;
  scope: string | undefined;
  /** Whether it has both type and message: the service always writes both. */
  isWhole: boolean;
}

/**
 * Reads `{ "data": … }`; keys beside `data` are ignored (section 9). Throws `UnreadableData` when the text isn't JSON,
 * has no `data`, or `read` can't use it. With `nothing`, an empty body or an envelope without `data` is accepted, but
 * not a proxy's page.
 */
export function readAnswer<T>(body: string, read: Read<T>, report: Report): T {
  const isDataOptional = read === nothing;
  const envelope = isDataOptional && body.trim() === '' ? {} : parse(body);
  if (!isObject(envelope)) throw new UnreadableData(`the body is JSON, but ${jsonType(envelope)} instead of { data }`);
  if (!isDataOptional && !Object.hasOwn(envelope, 'data')) throw new UnreadableData('the JSON has no `data`');
  return read(envelope.data, report);
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

function parse(text: string): unknown {
  if (text.trim() === '') throw new UnreadableData('the body is empty');
  try {
    return parseJson(text);
  } catch {
    // Not kept as the cause: the parser's error quotes the body.
    throw new UnreadableData(`the body is ${describe(text)} (${text.length} characters)`);
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
