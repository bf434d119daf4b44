import { isInstant } from '../answers/values.ts';

/** Seconds between the start and the end of a call search (section 8). */
const longestSearch = 366 * 86_400;

/** A moment: a `Date`, or RFC 3339 text with any offset. */
export type Moment = Date | string;

/** The RFC 3339 text of a moment; what is none stays as it is, for `momentFault` to name. */
export function momentText(moment: Moment | undefined): string | undefined {
  return moment instanceof Date ? (Number.isNaN(moment.getTime()) ? '' : moment.toISOString()) : moment;
}

/** Why `moment` is no RFC 3339 moment (section 4.3). */
export function momentFault(field: string, moment: Moment | undefined): string | undefined {
  const text = momentText(moment);
  if (text === undefined || isInstant(text)) return undefined;
  return `\`${field}\` should be a valid Date or RFC 3339 text, such as 2026-04-21T18:47:50Z (section 4.3)`;
}

/** Why the service must refuse this part of a list. The range of a thread's `limit` is not specified (section 8). */
export function pageFault({
  limit,
  offset,
}: {
  limit?: number | undefined;
  offset?: number | undefined;
}): string | undefined {
  return naturalFault('limit', limit) ?? naturalFault('offset', offset);
}

/** Why the service must refuse a search of these calls (section 4.6); times are Unix seconds. */
export function searchFault(search: {
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
  return pageFault(search);
}

function naturalFault(field: string, value: number | undefined): string | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return undefined;
  return `\`${field}\` should be an integer and not below 0 (section 4)`;
}
