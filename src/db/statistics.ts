import { type Database, query, sql } from './database.ts';

/**
 * Analyzes the tables of some schemas that have grown by a fifth since Postgres last looked at them. Autovacuum comes only minutes
 * after a bulk load, and until then queries are planned for the old table. Blocks no reader and no writer, and skips a table
 * that somebody vacuums or changes meanwhile. Without growth it costs one query of the catalog.
 *
 * It compares sizes: a backend tells the counters of `pg_stat_all_tables` of its changes with a delay.
 */
export async function analyzeGrownTables(db: Database, schemas: readonly string[]): Promise<void> {
  const grown = await query(
    db,
    sql<{ table: string }>`select c.oid::regclass::text as "table"
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any(${schemas}) and c.relkind = 'r' and pg_has_role(c.relowner, 'usage')
        and pg_relation_size(c.oid) / current_setting('block_size')::integer > c.relpages * 1.2 + 10
      order by 1`,
  );
  for (const { table } of grown) await query(db, `analyze (skip_locked) ${table}`, []);
}
