import { type Database, query, sql } from '../db/database.ts';
import { tryLock } from '../db/locks.ts';

const orphans = (table: string) =>
  `select count(*) from warehouse.${table} x where deleted_at is null
     and not exists (select from warehouse.calls c where c.call_id = x.call_id)`;

/** Counts that `reporting.data_quality` shows and explains, by name. */
const audits: Readonly<Record<string, string>> = {
  'outcomes not reported': 'select coalesce(sum(unknown_count), 0) from rollups.call_rollup',
  'calls without a start': 'select count(*) from warehouse.calls where started_at is null and deleted_at is null',
  'talk longer than the call':
    'select count(*) from warehouse.calls where talk_seconds > duration_seconds and deleted_at is null',
  'transcripts not paired':
    'select count(*) from warehouse.transcripts where leg_unique_id is null and deleted_at is null',
  'extensions credited to nobody': `select count(*) from warehouse.call_attributions where user_id is null and kind = 'extension'`,
  'transcripts without their call': orphans('transcripts'),
  'recordings without their call': orphans('recordings'),
  'legs without their call': orphans('call_legs'),
};

/**
 * Analyzes the tables that have grown by a fifth since they were last analyzed, so that reports are planned for their current
 * size where autovacuum is late or off. Blocks no reader or writer, and skips a table that somebody is vacuuming or changing. Compares
 * sizes, because the counters in `pg_stat_all_tables` are updated with a delay.
 */
export async function analyzeGrownTables(db: Database): Promise<void> {
  const grown = await query(
    db,
    sql<{ table: string }>`select c.oid::regclass::text as "table"
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('warehouse', 'rollups') and c.relkind = 'r' and pg_has_role(c.relowner, 'usage')
        and pg_relation_size(c.oid) / current_setting('block_size')::integer > c.relpages * 1.2 + 10
      order by 1`,
  );
  for (const { table } of grown) await query(db, `analyze (skip_locked) ${table}`, []);
}

/**
 * Counts what is too slow to count for a dashboard, and analyzes the tables that have grown. One process at a time, and only if
 * the last count is `minutes` old.
 */
export async function auditQuality(db: Database, minutes = 50): Promise<void> {
  const isCounted = await db.transaction().execute(async (tx) => {
    if (!(await tryLock(tx, 'audits'))) return false;
    const [due] = await query<{ is_due: boolean }>(
      tx,
      `select not exists (select from rollups.audits where counted_at > now() - make_interval(mins => $1)) as is_due`,
      [minutes],
    );
    if (!due?.is_due) return false;
    for (const [name, count] of Object.entries(audits)) {
      await query(
        tx,
        `insert into rollups.audits (check_name, found_count) values ($1, (${count}))
         on conflict (check_name) do update set found_count = excluded.found_count, counted_at = now()`,
        [name],
      );
    }
    return true;
  });
  if (isCounted) await analyzeGrownTables(db);
}
