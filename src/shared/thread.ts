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
