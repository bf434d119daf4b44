import { typedNumber } from './phone-numbers.ts';

/** Our line and their number. */
export interface Pair {
  readonly line: string;
  readonly number: string;
}

/** A conversation. It has no id at the service (section 2.5): its line, number and group participants identify it. */
export interface Thread extends Pair {
  /** The other parties of a group, sorted. Empty if there are only two parties. */
  readonly participants: readonly string[];
}

/** The key of a thread as a sync target: `line/number`, and `line/number/a,b,c` for a group. */
export function threadKey({ line, number, participants }: Thread): string {
  return participants.length > 0 ? `${line}/${number}/${participants.join(',')}` : `${line}/${number}`;
}

/** Parses a thread key. */
export function threadOf(key: string): Thread {
  const [line = '', number = '', participants = ''] = key.split('/');
  return { line, number, participants: participants === '' ? [] : participants.split(',') };
}

/**
 * Converts a thread key that a person typed: `line/number`, or `line/a,b` (also `line/a/a,b`) for a group, with country
 * codes, or as lists show it. Undefined if the text isn't one.
 */
export function typedThreadKey(text: string): string | undefined {
  const [lineText = '', numbers = '', more = '', ...rest] = text.split('/');
  const line = partyOf(lineText);
  const participants = [numbers, more].flatMap((each) => each.split(',')).filter((each) => each !== '');
  const parties = new Set(participants.map(partyOf));
  if (line === undefined || parties.size === 0 || parties.has(undefined) || rest.length > 0) return undefined;
  const others = [...parties].filter((number) => number !== undefined && number !== line).sort() as string[];
  const [number = line] = others;
  return threadKey({ line, number, participants: others.length > 1 ? others : [] });
}

/**
 * The number of a party. The service sends some that nobody can have, such as `5556001`: these are taken as they are
 * listed.
 */
function partyOf(text: string): string | undefined {
  if (/^\d{3,15}$/.test(text) && text.length !== 10) return text;
  const typed = typedNumber(text);
  return 'number' in typed ? typed.number : undefined;
}
