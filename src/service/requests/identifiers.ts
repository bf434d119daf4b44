import { firstFault } from './faults.ts';

/** Characters of a draft's key (section 8). */
const longestDraftId = 128;

/** Message ids that one request may mark (section 8). */
const mostMessageIds = 50;

/** An id as the service gave it: an integer, or its digits as text beyond what a double holds exactly. */
export type ObjectId = number | string;

/** Why `value` is no integer that a path or a field can carry (sections 4.2 to 4.4). */
export function idFault(field: string, value: ObjectId): string | undefined {
  const isInteger = typeof value === 'string' ? /^-?\d{1,19}$/.test(value) : Number.isSafeInteger(value);
  return isInteger ? undefined : `\`${field}\` should be an integer, or its digits as text (section 4)`;
}

// TypeScript's library does not know it yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** An id as a JSON body carries it: always a number, with all its digits. */
export function idInJson(value: ObjectId): unknown {
  return typeof value === 'string' && /^-?\d+$/.test(value) ? rawJSON(String(BigInt(value))) : value;
}

/** Why `value` is no call id (sections 2.9 and 4.6). A number is none: it has already lost digits. */
export function callIdFault(value: string): string | undefined {
  if (typeof value !== 'string') return 'the call id should be text: as a number it loses digits (section 2.9)';
  if (/^\d+\.\d+$/.test(value)) return undefined;
  return 'the call id should be a Unix time, a dot and a sequence number, such as 1783385492.057900 (section 2.9)';
}

/** Why `value` cannot be the key of a draft. */
export function draftIdFault(value: string): string | undefined {
  if (value === '') return '`draftId` is empty: choose 1 to 128 characters (section 4.4)';
  const { length } = [...value];
  if (length <= longestDraftId) return undefined;
  return `\`draftId\` has ${length} characters and ${longestDraftId} is the most: choose a shorter one (section 8)`;
}

/** Why these messages cannot be marked with one request. */
export function messageIdsFault(ids: readonly ObjectId[]): string | undefined {
  if (ids.length === 0) return '`messageIds` is empty: name at least one message (section 4.2)';
  if (ids.length <= mostMessageIds) return firstFault(ids, (id, i) => idFault(`messageIds[${i}]`, id));
  return `\`messageIds\` has ${ids.length} ids and ${mostMessageIds} is the most: mark the others apart (section 8)`;
}
