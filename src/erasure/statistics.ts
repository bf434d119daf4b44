import { type Database, query } from '../warehouse/database.ts';

interface Described {
  readonly schema: string;
  /** The table, or one of its indexes. */
  readonly relation: string;
  readonly column: string;
}

/**
 * Has the planner forget what was erased: its statistics hold the most common values of each column. All tables are
 * analysed, so that an erasure that was cut off after its purge is completed by its repetition. Returns the tables whose
 * statistics stay: those of an empty table are not replaced, and before Postgres 18 its owner cannot clear them.
 */
export async function refreshStatistics(db: Database): Promise<string[]> {
  const tables = await query<{ table: string }>(
    db,
    `select c.oid::regclass::text as "table" from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('warehouse', 'secrets', 'ops', 'reporting', 'bullmq') and c.relkind = 'r'
       and pg_has_role(c.relowner, 'usage') order by 1`,
    [],
  );
  const kept: string[] = [];
  for (const { table } of tables) {
    await query(db, `analyze ${table}`, []);
    const described = await query<Described>(
      db,
      `select s.schemaname as schema, s.tablename as relation, s.attname as column
       from pg_stats s join pg_namespace n on n.nspname = s.schemaname join pg_class c on c.relnamespace = n.oid and c.relname = s.tablename
       where (c.oid = $1::regclass or exists (select from pg_index i where i.indexrelid = c.oid and i.indrelid = $1::regclass))
         and not exists (select from ${table})`,
      [table],
    );
    if (described.length > 0 && !(await clear(db, table, described))) kept.push(table);
  }
  return kept;
}

async function clear(db: Database, table: string, described: readonly Described[]): Promise<boolean> {
  const [able] = await query<{ has_function: boolean; is_superuser: boolean }>(
    db,
    `select exists (select from pg_proc where proname = 'pg_clear_attribute_stats') as has_function,
       rolsuper as is_superuser from pg_roles where rolname = current_user`,
    [],
  );
  if (able?.has_function) {
    for (const { schema, relation, column } of described) {
      await query(db, 'select pg_clear_attribute_stats($1, $2, $3, false)', [schema, relation, column]);
    }
    return true;
  }
  if (!able?.is_superuser) return false;
  await query(
    db,
    `delete from pg_statistic where starelid = $1::regclass
       or starelid in (select indexrelid from pg_index where indrelid = $1::regclass)`,
    [table],
  );
  return true;
}
