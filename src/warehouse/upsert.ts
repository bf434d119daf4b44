import * as crypto from 'node:crypto';
import type { RawBuilder } from 'kysely';
import { type Database, hotQuery, relation, relationOf, sql, type Transaction, unseen } from '../db/database.ts';
import { storableJson } from '../shared/storable.ts';

/** The Postgres types of mirrored columns, and the JavaScript types of their values. */
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
export type Columns = Readonly<Record<string, PgType>>;

/** A row to write. Undefined and null both mean "not reported". */
export type Row<C extends Columns> = { readonly [K in keyof C]?: ValueOf[C[K]] | null | undefined };

/**
 * How columns are merged when a read finds an existing row. Content columns are those in neither of the first two
 * lists.
 */
interface MergePolicy<Column extends string> {
  /** Columns that keep their value if a read reports none. */
  readonly untracked?: readonly Column[];
  /** Columns that are computed from the others. */
  readonly computed?: readonly Column[];
  /**
   * Content columns that keep their value if a read reports none. The columns of a list belong together: they keep
   * their values only as a group.
   */
  readonly keptWhenMissing?: readonly (Column | readonly Column[])[];
  /** Rows with unchanged content aren't written, because very many are listed again and again. */
  readonly skipsSame?: true;
}

/** A mirrored table. Only {@link upsert} and {@link insertInto} write it. */
export interface MirrorTable<Source = never, C extends Columns = Columns> {
  readonly name: string;
  readonly key: readonly (keyof C & string)[];
  /** The types of the columns, except those that the database fills in. */
  readonly columns: C;
  /** The columns whose change updates `changed_at`. */
  readonly content: readonly string[];
  /** The columns that `content_hash` covers. */
  readonly hashed: readonly string[];
  readonly policy: MergePolicy<keyof C & string>;
  row(source: Source): Row<C>;
}

/** Declares a mirrored table: for each column its type, and its value in what a read found. */
export function mirrorTable<Source>() {
  return <const C extends Columns>(
    name: string,
    key: readonly (keyof C & string)[],
    declared: { readonly [K in keyof C]: readonly [type: C[K], value: (source: Source) => Row<C>[K]] },
    policy: MergePolicy<keyof C & string> = {},
  ): MirrorTable<Source, C> => {
    const entries = Object.entries<readonly [PgType, (source: Source) => unknown]>(declared);
    const columns = Object.fromEntries(entries.map(([column, [type]]) => [column, type])) as C;
    const unwatched: readonly string[] = [...(policy.untracked ?? []), ...(policy.computed ?? [])];
    const content = Object.keys(columns).filter((column) => !unwatched.includes(column));
    return {
      ...{ name, key, columns, content, policy },
      hashed: policy.skipsSame ? Object.keys(columns) : content,
      row(source) {
        const row: Record<string, unknown> = {};
        for (const [column, [, value]] of entries) row[column] = value(source);
        return row as Row<C>;
      },
    };
  };
}

/** Declares columns that no read fills. They are computed when the others are merged. */
export function computedColumns<const C extends Columns>(types: C) {
  const columns = Object.entries(types).map(([name, type]) => [name, [type, () => undefined]]);
  return Object.fromEntries(columns) as { readonly [K in keyof C]: readonly [type: C[K], value: () => undefined] };
}

/** The read that a row comes from: its number, its start, and the operation. */
export interface Provenance {
  readonly fetchSeq: string;
  readonly fetchedAt: string;
  readonly source: string;
}

/** Keeps, for each key, the element whose read started last. Sorted by key: all transactions lock rows in one order. */
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

/** Numbers a read before it starts, so its result never replaces that of a later one. */
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
 * Marks the rows of calls deleted that reads didn't find, unless a later read wrote them. Resolves to a column of these
 * rows.
 */
export async function markDeleted<Column extends 'call_id' | 'started_at'>(
  tx: Transaction,
  table: string,
  column: Column,
  reason: string,
  gone: readonly { readonly callId: string; readonly read: Provenance }[],
): Promise<Record<Column, unknown>[]> {
  if (gone.length === 0) return [];
  return hotQuery<Record<Column, unknown>>(
    tx,
    sql`
      update ${sql.table(table)} t
      set deleted_at = now(), deleted_reason = ${reason}, changed_at = now(), fetch_seq = g.fetch_seq
      from ${relation('g', gone, { call_id: ['text', ({ callId }) => callId], fetch_seq: ['bigint', ({ read }) => read.fetchSeq] })}
      where t.call_id = any(${unseen(gone.map(({ callId }) => callId))}) and t.call_id = g.call_id and t.fetch_seq < g.fetch_seq
        and t.deleted_at is null
      returning t.${sql.ref(column)}`,
  );
}

/** One row to mirror, with the read that found it. */
export interface Mirrored<C extends Columns> {
  readonly row: Row<C>;
  readonly read: Provenance;
  /** The unknown keys of the answer. */
  readonly extra?: Extra | undefined;
  /** The result of {@link contentHash}, if it is known already. */
  readonly hash?: string;
}

export type Extra = Readonly<Record<string, unknown>>;

/** Values of a row before and after a write. `before` is undefined for a new row. */
export interface Change<V> {
  readonly before: V | undefined;
  readonly after: V;
}

/**
 * Writes rows in one statement; if several have the same key, only the newest. Never replaces a row that a later read
 * wrote. Restores deleted rows that are listed again. Resolves to the new and changed rows, with the values of some
 * columns before and after. The caller has locked what the rows belong to: their thread, call or directory.
 */
export async function upsert<C extends Columns>(
  tx: Transaction,
  table: MirrorTable<never, C>,
  rows: readonly Mirrored<C>[],
  watched: readonly ((keyof C & string) | 'deleted_at')[] = [],
): Promise<Change<Readonly<Record<string, unknown>>>[]> {
  if (rows.length === 0) return [];
  const using = sql.raw(`(${table.key.join(', ')})`);
  const values = (alias: string) =>
    sql.raw(
      `jsonb_build_object(${watched.map((column) => `'${column}', ${textOf(alias, column, table.columns[column])}`).join(', ')})`,
    );
  const isSame = sql`h.content_hash = g.content_hash and h.deleted_at is null`;
  const toWrite = table.policy.skipsSame
    ? sql`(select * from given g where not exists (select from held h where ${areEqual(table.key, 'h', 'g')} and ${isSame})) g`
    : sql`given g`;
  const changes = await hotQuery<{ after: Record<string, unknown>; before: Record<string, unknown> | null }>(
    tx,
    sql`
      with given as materialized (select * from ${rowsOf(table, rows)}),
      held as materialized (select t.* from given join ${sql.table(table.name)} t using ${using}),
      written as (${insertInto(table, toWrite)} returning t.*)
      select ${values('w')} as after, case when h.fetch_seq is not null then ${values('h')} end as before
      from written w left join held h using ${using}
      where h.fetch_seq is null or h.content_hash <> w.content_hash or h.deleted_at is not null`,
  );
  return changes.map(({ before, after }) => ({ before: before ?? undefined, after }));
}

/** A bigint as a string, because JSON.parse would round it. */
function textOf(alias: string, column: string, type: PgType | undefined): string {
  return type === 'bigint' ? `${alias}.${column}::text` : `${alias}.${column}`;
}

function areEqual(columns: readonly string[], left: string, right: string): RawBuilder<unknown> {
  return sql.raw(columns.map((name) => `${left}.${name} = ${right}.${name}`).join(' and '));
}

const provenance = {
  extra: 'jsonb',
  content_hash: 'text',
  source: 'text',
  fetch_seq: 'bigint',
  fetched_at: 'timestamptz',
} as const;

/** Rows as a relation `r` for {@link insertInto}. If several have the same key, the newest. */
export function rowsOf<C extends Columns>(
  { key, columns, hashed }: MirrorTable<never, C>,
  rows: readonly Mirrored<C>[],
): RawBuilder<unknown> {
  const newest = newestOfEach(rows, ({ row }) => key.map((name) => row[name]).join(' '));
  const records = newest.map(({ row, read, extra, hash }) => ({
    ...storable(columns, row),
    extra,
    content_hash: hash ?? contentHash(hashed, row, extra),
    source: read.source,
    fetch_seq: read.fetchSeq,
    fetched_at: read.fetchedAt,
  }));
  return relationOf(sql`${storableJson(records)}`, 'r', { ...columns, ...provenance });
}

/** The values of a row that its columns can hold: one invalid value must not reject the whole row. */
function storable(columns: Columns, row: Row<Columns>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name in columns) {
    const value = row[name];
    if (value != null && fits(columns[name] as PgType, value)) values[name] = value;
  }
  return values;
}

/**
 * The groups of columns that keep their mirrored values together if a read reports none of them. Empty if a read
 * replaces everything, reported or not. {@link mergedWith} and {@link insertInto} use this to merge.
 */
function keptTogether(
  column: string,
  { untracked = [], keptWhenMissing = [] }: MergePolicy<string>,
): readonly string[] {
  return [...untracked, ...keptWhenMissing].map((each) => [each].flat()).find((each) => each.includes(column)) ?? [];
}

/** The row that {@link insertInto} leaves. `held`: the columns of the existing row; undefined for a new row. */
export function mergedWith<C extends Columns>(
  { columns, policy }: MirrorTable<never, C>,
  row: Row<C>,
  held: Readonly<Record<string, unknown>> | undefined,
): Record<keyof C & string, unknown> {
  const given = storable(columns, row);
  const merged = Object.keys(columns).map((name) => {
    const kept = held ? keptTogether(name, policy) : [];
    const isKept = kept.length > 0 && kept.every((each) => given[each] === undefined);
    return [name, (isKept ? held?.[name] : given[name]) ?? null];
  });
  return Object.fromEntries(merged) as Record<keyof C & string, unknown>;
}

/** Whether two values of a column are equal: times can be written in several ways. */
export function sameValue(columns: Columns, column: string, one: unknown, other: unknown): boolean {
  if (one == null || other == null) return (one ?? null) === (other ?? null);
  if (columns[column] === 'timestamptz') return Date.parse(String(one)) === Date.parse(String(other));
  return String(one) === String(other);
}

const integerLimits: Partial<Record<PgType, bigint>> = { bigint: 2n ** 63n, integer: 2n ** 31n, smallint: 2n ** 15n };

function fits(type: PgType, value: unknown): boolean {
  if (type === 'double precision') return typeof value === 'number' && Number.isFinite(value);
  if (type === 'text[]') return Array.isArray(value);
  const limit = integerLimits[type];
  if (limit === undefined) return true;
  const text = String(value);
  if (!/^-?\d{1,20}$/.test(text)) return false;
  const number = BigInt(text);
  return number < limit && number >= -limit;
}

/** Identifies the content of a row, and the unknown keys of its answer. */
export function contentHash(names: readonly string[], row: Row<Columns>, extra: Extra | undefined): string {
  return crypto.hash('md5', JSON.stringify([names.map((name) => row[name] ?? null), extra ?? null]), 'base64url');
}

/**
 * The statement that writes the rows of a relation with the columns of {@link rowsOf}. The table has the alias `t` for
 * a `returning`. Newer wins. `changed_at` only changes with the content: if a missing value is kept, the hash changes
 * but the row doesn't.
 */
export function insertInto<C extends Columns>(
  table: MirrorTable<never, C>,
  rows: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { name, key, columns, policy } = table;
  const all = [...Object.keys(columns), ...Object.keys(provenance)];
  const names = all.join(', ');
  const sets = all
    .filter((column) => !(key as readonly string[]).includes(column))
    .map((column) => `${column} = ${mergedValue(column, policy)}`)
    .join(', ');
  return sql`
    insert into ${sql.table(name)} as t (${sql.raw(names)})
    select ${sql.raw(names)} from ${rows}
    on conflict (${sql.raw(key.join(', '))}) do update set ${sql.raw(sets)},
      changed_at = case when t.deleted_at is null and ${hasContent(table)} then t.changed_at else now() end,
      deleted_at = null, deleted_reason = null
    where t.fetch_seq <= excluded.fetch_seq`;
}

/** SQL: whether the mirrored row `t` already has the content that {@link insertInto} would give it from `excluded`. */
export function hasContent<C extends Columns>({ content, policy }: MirrorTable<never, C>): RawBuilder<unknown> {
  const [before, after] = [content.map((column) => `t.${column}`), content.map((each) => mergedValue(each, policy))];
  return sql.raw(`(t.content_hash = excluded.content_hash or (${before}) is not distinct from (${after}))`);
}

/** The SQL of a column's value after another read of an existing row. */
function mergedValue(column: string, policy: MergePolicy<string>): string {
  const reported = keptTogether(column, policy).map((each) => `excluded.${each}`);
  if (reported.length === 0) return `excluded.${column}`;
  return `case when num_nonnulls(${reported.join(', ')}) > 0 then excluded.${column} else t.${column} end`;
}
