import { hash } from 'node:crypto';
import { storableJson } from '../storable.ts';
import { type Columns, isNewer, type MirrorTable, type PgType, type Provenance, type Row } from './columns.ts';
import { query, type Transaction } from './database.ts';

/** One row to mirror, with the read that found it. */
export interface Mirrored<C extends Columns> {
  readonly row: Row<C>;
  readonly read: Provenance;
}

/**
 * Writes rows in one statement: newer wins. A row is replaced only by a read that did not begin earlier than the one
 * that wrote it; `changed_at` moves only when the content differs; a row that is listed again is no longer deleted.
 * Two rows of one key in a batch count as the newer one.
 */
export async function upsert<C extends Columns>(
  tx: Transaction,
  table: MirrorTable<C>,
  rows: readonly Mirrored<C>[],
): Promise<void> {
  const newest = newestOfEachKey(table, rows);
  if (newest.length === 0) return;
  const names = Object.keys(table.columns);
  const parameters = names.map((name) => {
    const encode = encoders[table.columns[name] ?? 'text'];
    return newest.map(({ row }) => encode(row[name]));
  });
  parameters.push(
    newest.map(({ row }) => contentHash(names, row)),
    newest.map(({ read }) => read.source),
    newest.map(({ read }) => read.fetchSeq),
    newest.map(({ read }) => read.fetchedAt),
  );
  await query(tx, statementOf(table), parameters);
}

// A value that its column cannot hold reads as not reported: one odd value must not keep the row out. Arrays of arrays
// must be rectangular in Postgres, and jsonb wants text: these travel as text and are cast.
const encoders: Readonly<Record<PgType, (value: unknown) => unknown>> = {
  text: (value) => (value == null ? null : String(value)),
  bigint: (value) => integerWithin(value, 2 ** 63),
  integer: (value) => integerWithin(value, 2 ** 31),
  smallint: (value) => integerWithin(value, 2 ** 15),
  'double precision': (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null),
  boolean: (value) => value ?? null,
  timestamptz: (value) => value ?? null,
  jsonb: (value) => (value == null ? null : storableJson(value)),
  'text[]': (value) => (Array.isArray(value) ? `{${value.map(quoteElement).join(',')}}` : null),
};

function integerWithin(value: unknown, limit: number): unknown {
  const size = value == null || value === '' ? Number.NaN : Math.abs(Number(value));
  return Number.isInteger(size) && size < limit ? value : null;
}

function quoteElement(element: string): string {
  return `"${element.replace(/[\\"]/g, '\\$&')}"`;
}

// Rows are sorted by key, so that transactions that write the same rows take their locks in the same order.
function newestOfEachKey<C extends Columns>(table: MirrorTable<C>, rows: readonly Mirrored<C>[]): Mirrored<C>[] {
  const newest = new Map<string, Mirrored<C>>();
  for (const each of rows) {
    const key = table.key.map((name) => each.row[name]).join(' ');
    if (!isNewer(newest.get(key)?.read, each.read)) newest.set(key, each);
  }
  return [...newest.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function contentHash(names: readonly string[], row: Row<Columns>): string {
  return hash('md5', JSON.stringify(names.map((name) => row[name] ?? null)), 'base64url');
}

/** What a statement is made of, whatever the rows' type. */
interface Described {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: Columns;
}

const statements = new WeakMap<Columns, string>();

function statementOf(table: Described): string {
  const statement = statements.get(table.columns) ?? compile(table);
  statements.set(table.columns, statement);
  return statement;
}

function compile({ name, key, columns }: Described): string {
  const own = Object.entries(columns);
  const all = [
    ...own,
    ['content_hash', 'text'],
    ['source', 'text'],
    ['fetch_seq', 'bigint'],
    ['fetched_at', 'timestamptz'],
  ];
  const names = all.map(([column]) => column).join(', ');
  const arrays = all.map(([, type], at) => `$${at + 1}::${isCast(type) ? 'text' : type}[]`).join(', ');
  const values = all.map(([column, type]) => (isCast(type) ? `i.${column}::${type}` : `i.${column}`)).join(', ');
  const sets = all
    .filter(([column]) => column !== undefined && !key.includes(column))
    .map(([column]) => `${column} = excluded.${column}`)
    .join(', ');
  return `
    insert into ${name} as t (${names})
    select ${values} from unnest(${arrays}) as i (${names})
    on conflict (${key.join(', ')}) do update set ${sets},
      changed_at = case when t.content_hash = excluded.content_hash and t.deleted_at is null then t.changed_at else now() end,
      deleted_at = null, deleted_reason = null
    where t.fetch_seq <= excluded.fetch_seq`;
}

function isCast(type: string | undefined): boolean {
  return type === 'text[]' || type === 'jsonb';
}
