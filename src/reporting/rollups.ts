import { type Database, query, retryDeadlock, type Transaction } from '../warehouse/database.ts';
import { rebuildCallDay } from './rollups/call-days.ts';
import { daysOf } from './rollups/day.ts';
import { rebuildIntervals } from './rollups/intervals.ts';
import { rebuildQualityDay } from './rollups/quality.ts';
import { rebuildReturns } from './rollups/returns.ts';
import { rebuildResponseDay, rebuildTextDay } from './rollups/text-days.ts';
import { rebuildTurns } from './rollups/turns.ts';

/*
 * A fact and its marker are committed together, so whatever marker a drain sees, it sees the fact as well:
 *
 *   facts + markers ─ commit ─▶ waiting ─ drain: delete markers, rebuild their quarters, days and turns ─ commit ─▶ even
 *
 * A marker that is committed meanwhile stays for the next drain, even when the rebuild happened to see its fact.
 */

/** What one drain did. `busy`: another process is at it. */
export type Drained =
  | { readonly state: 'busy' }
  | { readonly state: 'even' }
  | { readonly state: 'drained'; readonly markers: number };

/** One transaction takes so many markers at most: a back-fill leaves very many. */
const mostMarkers = 2_000;

/** Works waiting changes into the rollups until none is left, another process does it, or the signal says stop. */
export async function drainRollups(db: Database, signal?: AbortSignal): Promise<void> {
  let drained = await drainOnce(db);
  while (drained.state === 'drained' && !signal?.aborted) drained = await drainOnce(db);
  if (drained.state === 'even') await widenKpiPivot(db);
}

/** One transaction of {@link drainRollups}. */
export function drainOnce(db: Database, most = mostMarkers): Promise<Drained> {
  return retryDeadlock(() => db.transaction().execute((tx) => drain(tx, most)));
}

/** Holds all drains off for the rest of the transaction. */
export async function holdDrains(tx: Transaction): Promise<void> {
  await query(tx, `select pg_advisory_xact_lock(hashtext('reporting.rollups'))`, []);
}

async function drain(tx: Transaction, most: number): Promise<Drained> {
  const [lock] = await query<{ is_ours: boolean }>(
    tx,
    `select pg_try_advisory_xact_lock(hashtext('reporting.rollups')) as is_ours`,
    [],
  );
  if (!lock?.is_ours) return { state: 'busy' };
  const markers = await takeMarkers(tx, most);
  if (markers.length === 0) {
    await query(tx, 'update ops.rollup_state set drained_at = now()', []);
    return { state: 'even' };
  }
  const quarters = (kind: Marker['kind']) =>
    markers.flatMap(({ kind: each, bucket_at }) => (each === kind && bucket_at ? [bucket_at] : []));
  const calls = quarters('calls');
  const texts = quarters('texts');
  await rebuildIntervals(tx, calls);
  for (const day of await daysOf(tx, calls)) {
    await rebuildCallDay(tx, day);
    await rebuildQualityDay(tx, day);
  }
  await rebuildReturns(tx, { calls, texts });
  for (const day of await daysOf(tx, texts)) await rebuildTextDay(tx, day);
  const began = await rebuildTurns(
    tx,
    markers.flatMap(({ conversation_id }) => (conversation_id === null ? [] : [conversation_id])),
  );
  for (const day of await daysOf(tx, began)) await rebuildResponseDay(tx, day);
  return { state: 'drained', markers: markers.reduce((sum, { count }) => sum + count, 0) };
}

interface Marker {
  readonly kind: 'calls' | 'texts' | 'thread';
  readonly bucket_at: Date | null;
  readonly conversation_id: string | null;
  readonly count: number;
}

async function takeMarkers(tx: Transaction, most: number): Promise<Marker[]> {
  return query<Marker>(
    tx,
    `with taken as (
       delete from ops.rollup_markers
       where marker_id in (select marker_id from ops.rollup_markers order by marker_id limit $1)
       returning kind, bucket_at, conversation_id
     )
     select kind, bucket_at, conversation_id, count(*)::integer as count from taken group by 1, 2, 3 order by 1, 2, 3`,
    [most],
  );
}

/** Gives `reporting.kpi_pivot` the columns of measures that are new. */
async function widenKpiPivot(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const [behind] = await query<{ is_behind: boolean }>(
      tx,
      `select least(500, (select count(*) from reporting.kpi_names)) > (
         select count(*) from pg_attribute
         where attrelid = to_regclass('reporting.kpi_pivot') and attnum > 0 and attname like 'kpi\\_%') as is_behind`,
      [],
    );
    if (!behind?.is_behind) return;
    await query(tx, `select pg_advisory_xact_lock(hashtext('ops.views'))`, []);
    await query(tx, 'select ops.widen_kpi_pivot()', []);
  });
}
