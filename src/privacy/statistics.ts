import { type Database, inTransaction, query } from '../db/database.ts';

interface Described {
  readonly schema: string;
  /** The table, or one of its indexes. */
  readonly relation: string;
  readonly column: string;
  /** Of all partitions together. */
  readonly inherited: boolean;
}

/**
 * Removes erased values from the planner's statistics, which contain the most common values of each column. Analyzes all tables
 * unless some are given, so that a repeated erasure completes an interrupted one. ANALYZE keeps the statistics of an empty table, so these are cleared.
 * Resolves to the tables where that failed.
 */
export async function refreshStatistics(db: Database, only?: readonly string[]): Promise<string[]> {
  const tables = await query<{ table: string; isPartition: boolean }>(
    db,
    `select c.oid::regclass::text as "table", c.relispartition as "isPartition" from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('warehouse', 'secrets', 'ops', 'rollups', 'reporting', 'bullmq') and c.relkind in ('r', 'p')
       and pg_has_role(c.relowner, 'usage') and ($1::text[] is null or coalesce((select inhparent from pg_inherits where inhrelid = c.oid), c.oid)::regclass::text = any($1)) order by 1`,
    [only ?? null],
  );
  // Of a partitioned table, this analyzes the partitions too.
  for (const { table, isPartition } of tables) if (!isPartition) await query(db, `analyze ${table}`, []);
  const kept: string[] = [];
  for (const [table, described] of await describedWhileEmpty(db, tables)) {
    if (!(await clear(db, table, described))) kept.push(table);
  }
  return kept;
}

/** What the statistics describe of tables without rows, by table. */
async function describedWhileEmpty(
  db: Database,
  tables: readonly { readonly table: string }[],
): Promise<Map<string, Described[]>> {
  if (tables.length === 0) return new Map();
  const emptyTables = tables.map(
    ({ table }) => `select '${table}'::regclass as oid where not exists (select from ${table})`,
  );
  const rows = await query<Described & { table: string }>(
    db,
    `with empty as materialized (${emptyTables.join(' union all ')})
     select e.oid::regclass::text as "table", s.schemaname as schema, s.tablename as relation, s.attname as column, s.inherited
     from empty e
       join pg_class c on c.oid = e.oid or c.oid in (select indexrelid from pg_index where indrelid = e.oid)
       join pg_namespace n on n.oid = c.relnamespace
       join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname
     order by 1`,
    [],
  );
  return Map.groupBy(rows, ({ table }) => table);
}

async function clear(db: Database, table: string, described: readonly Described[]): Promise<boolean> {
  const [able] = await query<{ has_function: boolean; is_superuser: boolean }>(
    db,
    `select exists (select from pg_proc where proname = 'pg_clear_attribute_stats') as has_function,
       rolsuper as is_superuser from pg_roles where rolname = current_user`,
    [],
  );
  if (able?.has_function) {
    for (const { schema, relation, column, inherited } of described) {
      await query(db, 'select pg_clear_attribute_stats($1, $2, $3, $4)', [schema, relation, column, inherited]);
    }
    return true;
  }
  if (!able?.is_superuser) return replace(db, table);
  await query(
    db,
    `delete from pg_statistic where starelid = $1::regclass
       or starelid in (select indexrelid from pg_index where indrelid = $1::regclass)`,
    [table],
  );
  return true;
}

/** An empty value for a NOT NULL column, by category of its type. */
const blanks = `case when a.atttypid = 'uuid'::regtype then 'gen_random_uuid()' when a.atttypid = 'jsonb'::regtype then $s$'{}'$s$
  else (array['0', 'false', 'now()', $s$'{}'$s$, $s$'0'$s$])[array_position(array['N', 'B', 'D', 'A', 'T'], t.typcategory::text)] end`;

/**
 * Replaces the statistics of an empty table, which its owner cannot clear before Postgres 18: analyzes it with one blank,
 * uncommitted row. False if a constraint rejects that row, or the table cannot be locked.
 */
async function replace(db: Database, table: string): Promise<boolean> {
  const columns = await query<{ name: string; value: string }>(
    db,
    `select quote_ident(a.attname) as name, coalesce(${blanks}, $s$''$s$) as value
     from pg_attribute a join pg_type t on t.oid = a.atttypid
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attnotnull and not a.atthasdef
       and a.attidentity = ''`,
    [table],
  );
  const into =
    columns.length === 0
      ? 'default values'
      : `(${columns.map(({ name }) => name).join(', ')}) values (${columns.map(({ value }) => value).join(', ')})`;
  try {
    await inTransaction(db, async (tx) => {
      await query(tx, `set local lock_timeout = '5s'`, []);
      await query(tx, `alter table ${table} disable trigger user`, []);
      const [row] = await query<{ at: string; place: string }>(
        tx,
        `insert into ${table} ${into} returning ctid::text as at, tableoid as place`,
        [],
      );
      await query(tx, `analyze ${table}`, []);
      await query(tx, `delete from ${table} where ctid = $1::tid and tableoid = $2`, [row?.at, row?.place]);
      await query(tx, `alter table ${table} enable trigger user`, []);
    });
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // Constraint violation (class 23), invalid value (22), lock timeout, no privilege, deadlock.
    if (/^(?:22|23)/.test(code) || code === '55P03' || code === '42501' || code === '40P01') return false;
    throw error;
  }
}
