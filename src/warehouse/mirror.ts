import { hash, randomUUID } from 'node:crypto';
import { storableJson } from '../storable.ts';
import { type Columns, type MirrorTable, newestOfEach, type PgType, type Provenance, type Row } from './columns.ts';
import { hotQuery, type Transaction } from './database.ts';

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
  const newest = newestOfEach(rows, ({ row }) => table.key.map((name) => row[name]).join(' '));
  if (newest.length === 0) return;
  const { statement, content } = writingOf(table);
  const lines = newest.map(({ row, read }) => [
    ...textsOf(table.columns, row),
    contentHash(content, row),
    read.source,
    read.fetchSeq,
    read.fetchedAt,
  ]);
  const marks = lines.some((line) => line.some(hasMark)) ? unforeseeable : brief;
  await hotQuery(tx, statement, [marks.row, marks.value, marks.absent, joined(lines, marks)]);
}

function textsOf(columns: Columns, row: Row<Columns>): (string | null)[] {
  const texts: (string | null)[] = [];
  for (const name in columns) {
    const value = row[name];
    texts.push(value == null ? null : encoders[columns[name] as PgType](value));
  }
  return texts;
}

/** The text of a value, or null where its column cannot hold it: one odd value must not keep the row out. */
type Encode = (value: NonNullable<unknown>) => string | null;

const encoders: Readonly<Record<PgType, Encode>> = {
  text: String,
  bigint: (value) => integerWithin(value, 2 ** 63),
  integer: (value) => integerWithin(value, 2 ** 31),
  smallint: (value) => integerWithin(value, 2 ** 15),
  'double precision': (value) => (typeof value === 'number' && Number.isFinite(value) ? String(value) : null),
  boolean: String,
  timestamptz: String,
  jsonb: storableJson,
  'text[]': (value) => (Array.isArray(value) ? `{${value.map(quoteElement).join(',')}}` : null),
};

function integerWithin(value: NonNullable<unknown>, limit: number): string | null {
  const text = String(value);
  return /^-?\d+$/.test(text) && Math.abs(Number(text)) < limit ? text : null;
}

/** What stands between rows, between the values of a row, and for a value that is absent. */
interface Marks {
  readonly row: string;
  readonly value: string;
  readonly absent: string;
}

// All rows travel as one text that Postgres splits: arrays would quote each value, which costs this process more than all
// else that it does for a row. Values that hold the marks themselves get others that none can foresee.
const brief: Marks = { row: '\u001d', value: '\u001e', absent: '\u001f' };
const unforeseeable: Marks = {
  row: `${brief.row}${randomUUID()}`,
  value: `${brief.value}${randomUUID()}`,
  absent: `${brief.absent}${randomUUID()}`,
};
const anyMark = /[\u001d-\u001f]/;

function hasMark(value: string | null): boolean {
  return value !== null && anyMark.test(value);
}

function joined(lines: readonly (readonly (string | null)[])[], { row, value, absent }: Marks): string {
  return lines.map((line) => line.map((text) => text ?? absent).join(value)).join(row);
}

function quoteElement(element: string): string {
  return `"${element.replace(/[\\"]/g, '\\$&')}"`;
}

function contentHash(names: readonly string[], row: Row<Columns>): string {
  return hash('md5', JSON.stringify(names.map((name) => row[name] ?? null)), 'base64url');
}

/** What a statement is made of, whatever the rows' type. */
interface Described {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: Columns;
  readonly settled: readonly string[];
  readonly lasting: readonly string[];
  readonly kept: readonly (string | readonly string[])[];
}

/** How rows of a table are written, and the columns that are their content. */
interface Writing {
  readonly statement: string;
  readonly content: readonly string[];
}

const writings = new WeakMap<Columns, Writing>();

function writingOf(table: Described): Writing {
  const { columns, settled, lasting } = table;
  const known = writings.get(columns);
  if (known) return known;
  const content = Object.keys(columns).filter((name) => !settled.includes(name) && !lasting.includes(name));
  const writing = { statement: compile(table, content), content };
  writings.set(columns, writing);
  return writing;
}

function compile(table: Described, content: readonly string[]): string {
  const { name, key, columns, kept } = table;
  const all = [
    ...Object.entries(columns),
    ['content_hash', 'text'],
    ['source', 'text'],
    ['fetch_seq', 'bigint'],
    ['fetched_at', 'timestamptz'],
  ] as const;
  const names = all.map(([column]) => column).join(', ');
  // Postgres walks a flat array from its begin for each value; one that was appended to it keeps unfolded.
  const values = all
    .map(([, type], at) => (type === 'text' ? `line[${at + 1}]` : `line[${at + 1}]::${type}`))
    .join(', ');
  const valueAfter = valuesAfter(table);
  const sameHash = 't.content_hash = excluded.content_hash';
  const [before, after] = [content.map((column) => `t.${column}`), content.map(valueAfter)];
  // What a read lacks shows in its hash, and is no change where it is kept.
  const isSame = kept.length === 0 ? sameHash : `(${sameHash} or (${before}) is not distinct from (${after}))`;
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

/** The value that a column of a row that is held has after another read of it. */
function valuesAfter({ settled, lasting, kept }: Described): (column: string) => string {
  const together = new Map(
    kept.map((each) => [each].flat()).flatMap((group) => group.map((column) => [column, group])),
  );
  return (column) => {
    if (settled.includes(column)) return `coalesce(t.${column}, excluded.${column})`;
    if (lasting.includes(column)) return `coalesce(excluded.${column}, t.${column})`;
    const others = together.get(column);
    if (!others) return `excluded.${column}`;
    const said = others.map((each) => `excluded.${each}`).join(', ');
    return `case when num_nonnulls(${said}) > 0 then excluded.${column} else t.${column} end`;
  };
}
