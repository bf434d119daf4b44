import { hash, randomUUID } from 'node:crypto';
import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import { storableJson } from '../shared/storable.ts';

/** The Postgres types of mirrored columns, and the values that a row has for them. */
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

type PgType = keyof ValueOf;
type Columns = Readonly<Record<string, PgType>>;

/** A row to write. Undefined and null both mean "not reported". */
export type Row<C extends Columns> = { readonly [K in keyof C]?: ValueOf[C[K]] | null | undefined };

/** How columns are merged when a read finds a row that is held. No column of the first two lists moves `changed_at`. */
interface MergePolicy<Column extends string> {
  /** Columns whose first value wins over later ones. */
  readonly firstValueWins?: readonly Column[];
  /** Columns that keep their value when a read reports none, and are no content. */
  readonly untracked?: readonly Column[];
  /**
   * Content columns that keep their value when a read reports none. The columns of a list belong together: either all of them
   * keep their values, or none.
   */
  readonly keptWhenMissing?: readonly (Column | readonly Column[])[];
}

/** A mirrored table, written only by {@link upsert}. */
export interface MirrorTable<Source = never, C extends Columns = Columns> {
  readonly name: string;
  readonly key: readonly string[];
  /** The types of the columns, without those that the database fills in. */
  readonly columns: C;
  /** The columns whose change moves `changed_at`. */
  readonly content: readonly string[];
  readonly statement: string;
  row(source: Source): Row<C>;
}

/** Declares a mirrored table: of each column its type, and its value in what a read found. */
export function mirrorTable<Source>() {
  return <const C extends Columns>(
    name: string,
    key: readonly (keyof C & string)[],
    declared: { readonly [K in keyof C]: readonly [type: C[K], value: (source: Source) => Row<C>[K]] },
    policy: MergePolicy<keyof C & string> = {},
  ): MirrorTable<Source, C> => {
    const entries = Object.entries<readonly [PgType, (source: Source) => unknown]>(declared);
    const columns = Object.fromEntries(entries.map(([column, [type]]) => [column, type])) as C;
    const unwatched: readonly string[] = [...(policy.firstValueWins ?? []), ...(policy.untracked ?? [])];
    const content = Object.keys(columns).filter((column) => !unwatched.includes(column));
    return {
      ...{ name, key, columns, content },
      statement: compile(name, key, columns, content, policy),
      row(source) {
        const row: Record<string, unknown> = {};
        for (const [column, [, value]] of entries) row[column] = value(source);
        return row as Row<C>;
      },
    };
  };
}

/** The read that a row comes from: its number, its start, and the operation. */
export interface Provenance {
  readonly fetchSeq: string;
  readonly fetchedAt: string;
  readonly source: string;
}

/**
 * Picks for each key the element whose read started last. Sorted by key, so that all transactions lock rows in the same order.
 */
export function newestOfEach<T extends { readonly read: Provenance }>(
  all: readonly T[],
  keyOf: (each: T) => string,
): T[] {
  const newest = new Map<string, T>();
  for (const each of all) {
    const key = keyOf(each);
    const known = newest.get(key);
    if (!known || BigInt(known.read.fetchSeq) <= BigInt(each.read.fetchSeq)) newest.set(key, each);
  }
  return [...newest.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** Encrypts a URL and binds it to its row, which table and key identify. */
export type SealLink = (url: string, row: string) => string;

/** Numbers a read before it starts, so that its result never replaces that of a later one. */
export async function beginRead(db: Database, source: string): Promise<Provenance> {
  const [read] = await hotQuery<{ fetch_seq: string; fetched_at: Date }>(
    db,
    `select nextval('ops.fetch_seq') as fetch_seq, clock_timestamp() as fetched_at`,
    [],
  );
  if (!read) throw new Error('a sequence gave no number');
  return { fetchSeq: read.fetch_seq, fetchedAt: read.fetched_at.toISOString(), source };
}

/**
 * Marks the rest of the transaction as history, on which rules do not act. They still act on events of the last minutes, whose
 * webhook may be late or lost.
 */
export async function beginHistory(tx: Transaction): Promise<void> {
  await query(tx, `select set_config('trunkline.is_history', 'on', true)`, []);
}

/** Marks rows deleted that reads did not find, unless a later read wrote them. `key` takes their key columns from `gone`. */
export async function markDeleted<Gone extends { readonly read: Provenance }>(
  tx: Transaction,
  table: string,
  reason: string,
  gone: readonly Gone[],
  key: Readonly<Record<string, readonly ['text' | 'bigint', (each: Gone) => unknown]>>,
): Promise<void> {
  if (gone.length === 0) return;
  const isSame = sql.raw(
    Object.keys(key)
      .map((column) => `t.${column} = g.${column}`)
      .join(' and '),
  );
  await hotQuery(
    tx,
    sql`
      update ${sql.table(table)} t
      set deleted_at = now(), deleted_reason = ${reason}, changed_at = now(), fetch_seq = g.fetch_seq
      from ${relation('g', gone, { ...key, fetch_seq: ['bigint', ({ read }) => read.fetchSeq] })}
      where ${isSame} and t.fetch_seq < g.fetch_seq and t.deleted_at is null`,
  );
}

/** One row to mirror, with the read that found it. */
interface Mirrored<C extends Columns> {
  readonly row: Row<C>;
  readonly read: Provenance;
}

/**
 * Writes rows in one statement; of rows with the same key, only the newest. Never replaces a row that a later read wrote. Moves
 * `changed_at` only if the content differs. Restores deleted rows that are listed again.
 */
export async function upsert<C extends Columns>(
  tx: Transaction,
  { key, columns, content, statement }: MirrorTable<never, C>,
  rows: readonly Mirrored<C>[],
): Promise<void> {
  const newest = newestOfEach(rows, ({ row }) => key.map((name) => row[name]).join(' '));
  if (newest.length === 0) return;
  const lines = newest.map(({ row, read }) => [
    ...textsOf(columns, row),
    contentHash(content, row),
    read.source,
    read.fetchSeq,
    read.fetchedAt,
  ]);
  const isAmbiguous = lines.flat().some((text) => text !== null && anySeparator.test(text));
  const { row, value, absent } = isAmbiguous ? randomSeparators : shortSeparators;
  const text = lines.map((line) => line.map((each) => each ?? absent).join(value)).join(row);
  await hotQuery(tx, statement, [row, value, absent, text]);
}

function textsOf(columns: Columns, row: Row<Columns>): (string | null)[] {
  const texts: (string | null)[] = [];
  for (const name in columns) {
    const value = row[name];
    texts.push(value == null ? null : encoders[columns[name] as PgType](value));
  }
  return texts;
}

/** The text of a value, or null where its column cannot hold it: one invalid value must not reject the whole row. */
type Encode = (value: NonNullable<unknown>) => string | null;

const encoders: Readonly<Record<PgType, Encode>> = {
  text: String,
  bigint: (value) => integerWithin(value, 2n ** 63n),
  integer: (value) => integerWithin(value, 2n ** 31n),
  smallint: (value) => integerWithin(value, 2n ** 15n),
  'double precision': (value) => (typeof value === 'number' && Number.isFinite(value) ? String(value) : null),
  boolean: String,
  timestamptz: String,
  jsonb: storableJson,
  'text[]': (value) => (Array.isArray(value) ? `{${value.map(quoteElement).join(',')}}` : null),
};

function integerWithin(value: NonNullable<unknown>, limit: bigint): string | null {
  const text = String(value);
  if (!/^-?\d{1,20}$/.test(text)) return null;
  const number = BigInt(text);
  return number < limit && number >= -limit ? text : null;
}

/** The separators of rows and of values, and the text for an absent value. */
interface Separators {
  readonly row: string;
  readonly value: string;
  readonly absent: string;
}

// All rows are sent as one text that Postgres splits: quoting array elements would cost more CPU than all other work for a row.
// If a value contains a separator, random ones are used, so that no value can forge a separator.
const shortSeparators: Separators = { row: '\u001d', value: '\u001e', absent: '\u001f' };
const randomSeparators: Separators = {
  row: `${shortSeparators.row}${randomUUID()}`,
  value: `${shortSeparators.value}${randomUUID()}`,
  absent: `${shortSeparators.absent}${randomUUID()}`,
};
const anySeparator = /[\u001d-\u001f]/;

function quoteElement(element: string): string {
  return `"${element.replace(/[\\"]/g, '\\$&')}"`;
}

function contentHash(names: readonly string[], row: Row<Columns>): string {
  return hash('md5', JSON.stringify(names.map((name) => row[name] ?? null)), 'base64url');
}

function compile(
  name: string,
  key: readonly string[],
  columns: Columns,
  content: readonly string[],
  policy: MergePolicy<string>,
): string {
  const all = [
    ...Object.entries(columns),
    ['content_hash', 'text'],
    ['source', 'text'],
    ['fetch_seq', 'bigint'],
    ['fetched_at', 'timestamptz'],
  ] as const;
  const names = all.map(([column]) => column).join(', ');
  // Postgres scans a flat array from its start for each subscript. array_append returns an expanded array with direct access.
  const values = all
    .map(([, type], at) => (type === 'text' ? `line[${at + 1}]` : `line[${at + 1}]::${type}`))
    .join(', ');
  const valueAfter = (column: string) => mergedValue(column, policy);
  const sameHash = 't.content_hash = excluded.content_hash';
  const [before, after] = [content.map((column) => `t.${column}`), content.map(valueAfter)];
  // A missing value that is kept, and one that RETENTION_DAYS removed, change the hash but not the row.
  const isSame = `(${sameHash} or (${before}) is not distinct from (${after}))`;
  const sets = all
    .filter(([column]) => !key.includes(column) && column !== 'content_hash')
    .map(([column]) => `${column} = ${valueAfter(column)}`)
    .join(', ');
  return `
    insert into ${name} as t (${names})
    select ${values} from (
      select array_append(string_to_array(line, $2, $3), null) as line from unnest(string_to_array($4, $1)) as line offset 0
    ) as lines
    on conflict (${key.join(', ')}) do update set ${sets},
      content_hash = case when ${isSame} then t.content_hash else excluded.content_hash end,
      changed_at = case when t.deleted_at is null and ${isSame} then t.changed_at else now() end,
      deleted_at = null, deleted_reason = null
    where t.fetch_seq <= excluded.fetch_seq`;
}

/** The SQL of a column's value after another read of a held row. */
function mergedValue(column: string, policy: MergePolicy<string>): string {
  const { firstValueWins = [], untracked = [], keptWhenMissing = [] } = policy;
  if (firstValueWins.includes(column)) return `coalesce(t.${column}, excluded.${column})`;
  if (untracked.includes(column)) return `coalesce(excluded.${column}, t.${column})`;
  const together = keptWhenMissing.map((each) => [each].flat()).find((each) => each.includes(column));
  if (!together) return `excluded.${column}`;
  const reported = together.map((each) => `excluded.${each}`).join(', ');
  return `case when num_nonnulls(${reported}) > 0 then excluded.${column} else t.${column} end`;
}
