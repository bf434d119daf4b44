import { isInstant } from '../answers/values.ts';

/*
 * A problem is why the service must refuse a request: the field, the limit, the remedy and the section. It never quotes
 * phone numbers, texts or addresses. The functions return `undefined` for a valid value, and for anything that the
 * specification leaves open.
 */

/** The problem of the first invalid item. */
export function firstProblem<T>(
  items: readonly T[],
  problemOf: (item: T, index: number) => string | undefined,
): string | undefined {
  return items.map(problemOf).find((problem) => problem !== undefined);
}

/** Characters of a draft's key (section 8). */
const longestDraftId = 128;

/** Message ids that one request may mark (section 8). */
const maxMessageIds = 50;

/** An id as the service gave it: an integer, or its digits as text beyond what a double holds exactly. */
export type ObjectId = number | string;

/** An id in the form that answers have, from its digits. */
export function objectId(digits: string): ObjectId {
  const read = Number(digits);
  return Number.isSafeInteger(read) ? read : digits;
}

/** An id is an integer (sections 4.2 to 4.4). */
export function idProblem(field: string, value: ObjectId): string | undefined {
  const isInteger = typeof value === 'string' ? /^-?\d{1,19}$/.test(value) : Number.isSafeInteger(value);
  return isInteger ? undefined : `\`${field}\` should be an integer, or its digits as text (section 4)`;
}

// Not yet in TypeScript's library.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** An id for a JSON body: always a number, with all its digits. */
export function idInJson(value: ObjectId): unknown {
  return typeof value === 'string' && /^-?\d+$/.test(value) ? rawJSON(String(BigInt(value))) : value;
}

/** A call id is text (sections 2.9 and 4.6): as a number it has lost digits. */
export function callIdProblem(value: string): string | undefined {
  if (typeof value !== 'string') return 'the call id should be text: as a number it loses digits (section 2.9)';
  if (/^\d+\.\d+$/.test(value)) return undefined;
  return 'the call id should be a Unix time, a dot and a sequence number, such as 1783385492.057900 (section 2.9)';
}

/** The key of a draft has 1 to 128 characters. */
export function draftIdProblem(value: string): string | undefined {
  if (value === '') return '`draftId` is empty: choose 1 to 128 characters (section 4.4)';
  const { length } = [...value];
  if (length <= longestDraftId) return undefined;
  return `\`draftId\` has ${length} characters and ${longestDraftId} is the most: choose a shorter one (section 8)`;
}

/** One request marks 1 to 50 messages. */
export function messageIdsProblem(ids: readonly ObjectId[]): string | undefined {
  if (ids.length === 0) return '`messageIds` is empty: name at least one message (section 4.2)';
  if (ids.length <= maxMessageIds) return firstProblem(ids, (id, i) => idProblem(`messageIds[${i}]`, id));
  return `\`messageIds\` has ${ids.length} ids and ${maxMessageIds} is the most: mark the others apart (section 8)`;
}

// Allowed between the digits: spaces, brackets, dots, slashes, hyphens, dashes and a plus.
const formatted = /^[\s()+./\-\u2010-\u2015\u2212]*(?:\d[\s()+./\-\u2010-\u2015\u2212]*){3,15}$/;

/** Whether a text is a phone number, from a short code's three digits to E.164's fifteen, formatted or not. */
export function isPhoneNumber(text: string): boolean {
  return formatted.test(text);
}

/** Phone numbers (section 7) are never quoted in problems. */
export function numberProblem(field: string, value: string): string | undefined {
  if (isPhoneNumber(value)) return undefined;
  return `\`${field}\` is no phone number: give 3 to 15 digits, with or without formatting (section 2.4)`;
}

/** Each line is a number. The service would take an empty list for all lines. */
export function linesProblem(lines: readonly string[] | undefined): string | undefined {
  if (lines?.length === 0) return '`lines` is empty: name at least one, or leave it out for all of them (section 4.3)';
  return firstProblem(lines ?? [], (line, i) => numberProblem(`lines[${i}]`, line));
}

/** Characters of a subscription's address (section 8). */
const longestUrl = 1_024;

/** An internal note is not empty (section 4.2). */
export function commentProblem(comment: string | undefined): string | undefined {
  return comment === '' ? '`comment` is empty: write something, or leave it out (section 4.2)' : undefined;
}

/** A subscription's address (section 2.12) is never quoted: it may hold a token. */
export function urlProblem(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const { length } = [...url];
  if (length > longestUrl) {
    return `\`url\` has ${length} characters and ${longestUrl} is the most: choose a shorter one (section 8)`;
  }
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  return isHttp ? undefined : '`url` should be a whole address that begins with http:// or https:// (section 2.12)';
}

/** Seconds between the start and the end of a call search (section 8). */
const longestSearch = 366 * 86_400;

/** A moment: a `Date`, or RFC 3339 text with any offset. */
export type Moment = Date | string;

/** The RFC 3339 text of a moment; invalid text is returned unchanged, for `momentProblem`. */
export function momentText(moment: Moment | undefined): string | undefined {
  return moment instanceof Date ? (Number.isNaN(moment.getTime()) ? '' : moment.toISOString()) : moment;
}

/** A moment is RFC 3339 (section 4.3). */
export function momentProblem(field: string, moment: Moment | undefined): string | undefined {
  const text = momentText(moment);
  if (text === undefined || isInstant(text)) return undefined;
  return `\`${field}\` should be a valid Date or RFC 3339 text, such as 2026-04-21T18:47:50Z (section 4.3)`;
}

/** `limit` and `offset` are not negative. The range of a thread's `limit` is not specified (section 8). */
export function pageProblem({
  limit,
  offset,
}: {
  limit?: number | undefined;
  offset?: number | undefined;
}): string | undefined {
  return naturalProblem('limit', limit) ?? naturalProblem('offset', offset);
}

/** A call search spans at most 366 days (section 4.6); times are Unix seconds. */
export function searchProblem(search: {
  start: number;
  end: number;
  limit?: number | undefined;
  offset?: number | undefined;
}): string | undefined {
  const { start, end } = search;
  if (!Number.isSafeInteger(start)) return '`start` should be whole Unix seconds (section 4.6)';
  if (!Number.isSafeInteger(end)) return '`end` should be whole Unix seconds (section 4.6)';
  if (end <= start) return '`end` should be after `start` (section 4.6)';
  if (end - start > longestSearch) return '`end` is more than 366 days after `start`: search in parts (section 8)';
  return pageProblem(search);
}

function naturalProblem(field: string, value: number | undefined): string | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return undefined;
  return `\`${field}\` should be an integer and not below 0 (section 4)`;
}
