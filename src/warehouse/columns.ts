import type { ColumnType } from 'kysely';

/** The Postgres types that mirrored columns have, and the value that a row hands over for each. */
interface ValueOf {
  text: string;
  bigint: string | number;
  integer: number;
  smallint: number;
  'double precision': number;
  boolean: boolean;
  timestamptz: string;
  jsonb: unknown;
  'text[]': readonly string[];
}

export type PgType = keyof ValueOf;
export type Columns = Readonly<Record<string, PgType>>;

/** A row as it is written. Undefined and null are both "not reported". */
export type Row<C extends Columns> = { readonly [K in keyof C]?: ValueOf[C[K]] | null | undefined };

/** A row as it is read back: 64-bit integers come as text, instants as Date. */
type ReadOf<T extends PgType> = T extends 'bigint' ? string : T extends 'timestamptz' ? Date : ValueOf[T];
export type Stored<C extends Columns> = {
  [K in keyof C]: ColumnType<ReadOf<C[K]> | null, ValueOf[C[K]] | null | undefined, ValueOf[C[K]] | null>;
};

/** A table of the mirror, written by {@link upsert} alone. `columns` leaves out what the database fills in itself. */
export interface MirrorTable<C extends Columns = Columns> {
  readonly name: `${string}.${string}`;
  readonly key: readonly (keyof C & string)[];
  readonly columns: C;
  /** Columns that keep the value they have, whatever a later read says. They are no content: `changed_at` stays. */
  readonly settled: readonly (keyof C & string)[];
  /** Columns that keep the value they have while a read does not say another. They are no content either. */
  readonly lasting: readonly (keyof C & string)[];
  /**
   * Content that a read can lack and not take away: each keeps the value it has while a read does not say another. Those
   * of a list are said together or not at all.
   */
  readonly kept: readonly ((keyof C & string) | readonly (keyof C & string)[])[];
}

type Habits<C extends Columns> = Pick<MirrorTable<C>, 'settled' | 'lasting' | 'kept'>;

export function mirrorTable<const C extends Columns>(
  name: MirrorTable['name'],
  key: readonly (keyof C & string)[],
  columns: C,
  { settled = [], lasting = [], kept = [] }: Partial<Habits<C>> = {},
): MirrorTable<C> {
  return { name, key, columns, settled, lasting, kept };
}

/** Where a row comes from: the read's number, when it began, and the operation. */
export interface Provenance {
  readonly fetchSeq: string;
  readonly fetchedAt: string;
  readonly source: string;
}

/**
 * Of those with the same key, the one whose read began last. Sorted by key, so that transactions that write the same rows
 * take their locks in the same order.
 */
export function newestOfEach<T extends { readonly read: Provenance }>(
  all: readonly T[],
  keyOf: (each: T) => string,
): T[] {
  const newest = new Map<string, T>();
  for (const each of all) {
    const key = keyOf(each);
    if (!isNewer(newest.get(key)?.read, each.read)) newest.set(key, each);
  }
  return [...newest.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** Whether a read, if there is one, began later than another. */
function isNewer(read: Provenance | undefined, other: Provenance): boolean {
  return read !== undefined && BigInt(read.fetchSeq) > BigInt(other.fetchSeq);
}

/** The columns of `warehouse.add_provenance`, as they are read back. */
export interface StoredProvenance {
  content_hash: string;
  source: string;
  fetch_seq: string;
  fetched_at: Date;
  first_seen_at: Date;
  changed_at: Date;
  deleted_at: Date | null;
  deleted_reason: string | null;
}

/** Seals a bearer address for its row, named by its table and key. */
export type SealLink = (url: string, row: string) => string;
