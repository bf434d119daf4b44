import type { Answer, CallOptions, Scope, Service } from '../api-client/client.ts';
import { type Database, query, sql, type Transaction } from '../db/database.ts';
import { takeLock } from '../db/locks.ts';
import { type Answered, extrasOf } from './extra.ts';
import { type Columns, type MirrorTable, type Provenance, upsert } from './upsert.ts';
import type { Follow } from './what-follows.ts';

/** One read of a list, which is always whole. */
export interface ListRead<Row> {
  readonly rows: readonly Row[];
  readonly read: Provenance;
}

/** The declaration of a list of the account. `Row` is one of its entities. */
interface Declared<Row, C extends Columns> {
  /** The display name of the list, in the plural. */
  readonly label: string;
  /** The operation that lists it: for logs and the column `source`. */
  readonly operation: string;
  readonly scope: Scope;
  ask(service: Service, call: CallOptions): Promise<Answer<readonly Row[]>>;
  /** Its table, with a single key column. */
  readonly table: MirrorTable<Row, C>;
  /** Mirrors the parts that have no column. */
  writeParts?(tx: Transaction, follow: Follow, parts: ListParts<Row>): Promise<void>;
}

interface ListParts<Row> {
  readonly rows: readonly Row[];
  /** The keys of the rows that were mirrored before, and of those that are listed now. */
  readonly held: readonly string[];
  readonly all: readonly string[];
}

export interface DirectoryList<Row = unknown> {
  readonly label: string;
  readonly operation: string;
  readonly scope: Scope;
  readonly table: { readonly name: string };
  ask(service: Service, call: CallOptions): Promise<Answer<readonly Row[]>>;
  /** Whether there is any row that isn't deleted. */
  holdsAny(db: Database): Promise<boolean>;
  /** Mirrors a read, and marks rows deleted that it doesn't list. */
  write(tx: Transaction, follow: Follow, read: ListRead<Row>): Promise<void>;
}

/** Declares a list of the account that is always read and mirrored completely. */
export function directoryList<Row extends Answered, C extends Columns>(
  declared: Declared<Row, C>,
): DirectoryList<Row> & Pick<Declared<Row, C>, 'table'> {
  const { label, operation, scope, table, writeParts } = declared;
  const [key = ''] = table.key;

  async function write(tx: Transaction, follow: Follow, given: ListRead<Row>): Promise<void> {
    const { rows, read } = given;
    if (!(await isCurrent(tx, table.name, read.fetchSeq))) return;
    const held = writeParts ? await heldKeys(tx, table.name, key) : [];
    const extras = extrasOf(rows);
    const mirrored = rows.map((row, at) => ({ row: table.row(row), read, extra: extras[at] }));
    await upsert(tx, table, mirrored);
    await deleteUnlisted(tx, table.name, read.fetchSeq);
    await writeParts?.(tx, follow, { rows, held, all: mirrored.map(({ row }) => String(row[key])) });
  }

  return {
    ...{ label, operation, scope, table, ask: declared.ask, write },
    holdsAny: async (db) =>
      (await query(db, sql`select from ${sql.table(table.name)} where deleted_at is null limit 1`)).length > 0,
  };
}

async function heldKeys(tx: Transaction, table: string, key: string): Promise<string[]> {
  const rows = await query(tx, sql<{ key: string }>`select ${sql.ref(key)}::text as key from ${sql.table(table)}`);
  return rows.map((row) => row.key);
}

/** Whether this read of a list is newer than the mirrored one. Takes a lock, so lists are written one by one. */
export async function isCurrent(tx: Transaction, table: string, fetchSeq: string): Promise<boolean> {
  await takeLock(tx, 'directory');
  const [row] = await query(
    tx,
    sql<{ is_current: boolean }>`
     select coalesce(max(fetch_seq) <= ${fetchSeq}, true) as is_current from ${sql.table(table)}`,
  );
  return row?.is_current === true;
}

/** Marks rows deleted that a read didn't list. Listed rows have the number of that read. */
export async function deleteUnlisted(tx: Transaction, table: string, fetchSeq: string): Promise<void> {
  await query(
    tx,
    sql`update ${sql.table(table)} set deleted_at = now(), deleted_reason = 'a complete read does not list it',
       changed_at = now(), fetch_seq = ${fetchSeq}
     where fetch_seq < ${fetchSeq} and deleted_at is null`,
  );
}
