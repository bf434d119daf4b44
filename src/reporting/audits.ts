import { type Database, query } from '../db/database.ts';
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
 * Counts what is too slow to count for a dashboard. One process at a time, and only if the last count is `minutes` old.
 */
export async function auditQuality(db: Database, minutes = 50): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (!(await tryLock(tx, 'audits'))) return;
    const [due] = await query<{ is_due: boolean }>(
      tx,
      `select not exists (select from rollups.audits where counted_at > now() - make_interval(mins => $1)) as is_due`,
      [minutes],
    );
    if (!due?.is_due) return;
    for (const [name, count] of Object.entries(audits)) {
      await query(
        tx,
        `insert into rollups.audits (check_name, found_count) values ($1, (${count}))
         on conflict (check_name) do update set found_count = excluded.found_count, counted_at = now()`,
        [name],
      );
    }
  });
}
