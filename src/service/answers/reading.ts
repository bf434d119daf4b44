/** One way in which answers differed from the specification, and how often in this answer. */
export interface Drift {
  /** Where, such as `calls[].status`; a key that could be data rather than a name reads `*`. */
  path: string;
  /** A sibling key stands beside the data, and may mean that there is more of it. */
  what: 'unknown_key' | 'unknown_value' | 'null' | 'wrong_type' | 'missing_key' | 'sibling_key';
  /** The JSON type, or the new word of an enumeration: never content. */
  sample: string;
  count: number;
}

/** The data of one answer cannot be read at all; the message says what came, without quoting it. */
export class UnreadableData extends Error {
  override readonly name = 'UnreadableData';
  /** A page of HTML or XML came, as from something in between. */
  readonly isPage: boolean;

  constructor(message: string, { isPage = false }: { readonly isPage?: boolean } = {}) {
    super(message);
    this.isPage = isPage;
  }
}

/** What is learnt beside the data while one answer is read. */
export interface Reading {
  /** Counts a drift at `parent.key`. */
  note(what: Drift['what'], parent: string, key: string, sample: string): void;
  /** Counts a row that was left out because nothing identifies it. */
  omit(): void;
  /** Keeps where a value could not be had that the specification always gives. */
  lack(parent: string, key: string): void;
  readonly drift: readonly Drift[];
  readonly omitted: number;
  /** Places, as in {@link Drift.path}. */
  readonly lacking: readonly string[];
}

// An answer whose keys are data must not become as many drifts.
const mostDrifts = 200;

export function createReading(): Reading {
  const found = new Map<string, Drift>();
  const lacking = new Set<string>();
  let omitted = 0;
  return {
    note(what, parent, key, sample) {
      const path = pathOf(parent, key);
      const same = `${what} ${path} ${sample}`;
      const known = found.get(same);
      if (known) known.count += 1;
      else if (found.size < mostDrifts) found.set(same, { path, what, sample, count: 1 });
    },
    omit() {
      omitted += 1;
    },
    lack(parent, key) {
      lacking.add(pathOf(parent, key));
    },
    get drift() {
      return [...found.values()];
    },
    get omitted() {
      return omitted;
    },
    get lacking() {
      return [...lacking];
    },
  };
}

function pathOf(parent: string, key: string): string {
  return parent === '' ? key : key === '' ? parent : `${parent}.${key}`;
}

/** The JSON type of a value, for drift and error messages. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return 'text';
  return value === undefined ? 'nothing' : typeof value;
}

/** A word as it may be shown: what could be a name, a number or a sentence rather than a word is only called text. */
export function shownWord(value: string): string {
  if (value === '') return 'empty';
  return /^[a-z][a-z_-]{0,31}$/i.test(value) ? value : 'text';
}

/** A key as it may be shown: what looks like data is shown as `*`. */
export function shownKey(key: string): string {
  return /^[a-z_$][\w$-]{0,63}$/i.test(key) && !/\d{5}/.test(key) ? key : '*';
}
