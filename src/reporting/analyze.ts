import { type Database, query, sql } from '../db/database.ts';

/**
 * Analyzes the tables that have grown by a fifth since they were last analyzed, so that reports and prepared statements
 * are planned for their current size where autovacuum is late or off. Blocks no reader or writer, and skips a table
 * that somebody is vacuuming or changing. Compares sizes, because the counters in `pg_stat_all_tables` are updated with
 * a delay.
 */
export async function analyzeGrownTables(db: Database): Promise<void> {
  const grown = await query(
    db,
    sql<{ table: string }>`select c.oid::regclass::text as "table"
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ops', 'warehouse', 'rollups') and c.relkind = 'r' and pg_has_role(c.relowner, 'usage')
        and pg_relation_size(c.oid) / current_setting('block_size')::integer > c.relpages * 1.2 + 10
      order by 1`,
  );
  for (const { table } of grown) await query(db, `analyze (skip_locked) ${table}`, []);
}
