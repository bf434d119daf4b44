import { type Database, inTransaction, isLockTimeout, limitLockWait, query, type Transaction } from '../db/database.ts';
import { takeLock, tryLock } from '../db/locks.ts';
import { analyzeGrownTables } from '../db/statistics.ts';
import { limitWait, recordFailure } from './drain-failures.ts';
import { areCallersStale, rebuildCallers } from './rollups/calls.ts';
import { type Changes, workIn } from './rollups/changes.ts';
import { NotRolledUp, settleTroubles } from './rollups/set-aside.ts';

/*
 * A fact and its marker are committed together, so whatever marker a drain sees, it sees the fact as well:
 *
 *   facts + markers ─ commit ─▶ waiting ─ drain: delete markers, rebuild their quarters, days and turns ─ commit ─▶ even
 *                                                         │
 *                                                         └─ a fact makes it impossible ─▶ set aside ─ a minute and more ─▶ waiting
 *
 * A marker that is committed meanwhile stays for the next drain, even when the rebuild happened to see its fact.
 */

/** What one drain did. `busy`: another process is at it. */
type Drained =
  | { readonly state: 'busy' | 'even' }
  /** With what was set aside and nobody was told of yet. */
  | { readonly state: 'drained'; readonly troubles: readonly string[] };

/** One transaction takes so many markers at most: a back-fill leaves very many. */
const maxMarkers = 2_000;

/** The changes that one drain is about: those marked so far. */
interface Horizon {
  /** The newest marker; absent when there was none. */
  readonly markerId: string | null;
  readonly at: Date;
}

/**
 * Works the changes that wait now into the rollups, until none of them is left, another process does it, or the signal
 * says stop. What is marked meanwhile waits for the next drain: while calls pour in, their day is rebuilt once a drain, and
 * not once for every few of them. Throws {@link NotRolledUp} at the end when some had to be set aside. Any other failure is
 * recorded too.
 */
export async function drainRollups(db: Database, signal?: AbortSignal): Promise<void> {
  await recordFailure(db, 'ops.rollup_state', async () => {
    const horizon = await horizonNow(db);
    const troubles: string[] = [];
    let drained = await drainOnce(db, horizon);
    const isBusy = drained.state === 'busy';
    while (drained.state === 'drained') {
      troubles.push(...drained.troubles);
      if (signal?.aborted) break;
      drained = await drainOnce(db, horizon);
    }
    if (drained.state === 'even') await widenKpiPivot(db);
    if (troubles.length > 0) throw new NotRolledUp(troubles);
    return isBusy ? 'busy' : 'done';
  });
  // After a back-fill or a rebuild, so that reports are planned for the tables as they are now.
  if (!signal?.aborted) await analyzeGrownTables(db, ['warehouse', 'rollups']);
}

/** Everything that is marked by now. */
export async function horizonNow(db: Database): Promise<Horizon> {
  const [horizon] = await query<{ marker_id: string | null; at: Date }>(
    db,
    'select max(marker_id) as marker_id, now() as at from ops.rollup_markers',
    [],
  );
  if (!horizon) throw new Error('an aggregate gave no row');
  return { markerId: horizon.marker_id, at: horizon.at };
}

/** Holds all drains off for the rest of the transaction, which is planned as one of theirs. */
export async function holdDrains(tx: Transaction): Promise<void> {
  await takeLock(tx, 'rollups');
  await query(tx, lookUp, []);
}

/** A day is looked up in its indexes, which by default Postgres counts as dear as on a turning disk, and is sorted in memory. */
const lookUp = `select set_config('random_page_cost', '1.1', true), set_config('work_mem', '32MB', true)`;

/** One transaction of {@link drainRollups}. */
export function drainOnce(db: Database, horizon: Horizon, most = maxMarkers): Promise<Drained> {
  return inTransaction(db, (tx) => drain(tx, horizon, most));
}

async function drain(tx: Transaction, horizon: Horizon, most: number): Promise<Drained> {
  if (!(await tryLock(tx, 'rollups'))) return { state: 'busy' };
  await query(tx, lookUp, []);
  await query(tx, limitWait, []);
  const changes = await takeDue(tx, horizon, most);
  if (changes.calls.length + changes.texts.length + changes.threads.length === 0) {
    if (await areCallersStale(tx, [])) await rebuildCallers(tx);
    await query(tx, 'update ops.rollup_state set drained_at = greatest(drained_at, $1)', [horizon.at]);
    return { state: 'even' };
  }
  const aside = await settleTroubles(tx, changes, await workIn(tx, changes));
  return { state: 'drained', troubles: aside.filter((each) => each.is_told).map(({ what }) => what) };
}

/** What changed up to the horizon, what the migrations of this release ask for, and what was set aside and is due again. */
async function takeDue(tx: Transaction, { markerId }: Horizon, most: number): Promise<Changes> {
  const [due] = await query<Changes>(
    tx,
    `with taken as (
       delete from ops.rollup_markers
       where marker_id in (select marker_id from ops.rollup_markers where marker_id <= $2 order by marker_id limit $1)
       returning kind, bucket_at, conversation_id
     ), recounts as (
       delete from ops.rollup_recounts where ctid = any(array(select ctid from ops.rollup_recounts limit $1))
       returning kind, bucket_at, null::bigint
     ), due as (
       select kind, bucket_at, conversation_id from ops.rollup_troubles where retry_at <= now() order by retry_at limit 200
     )
     select coalesce(array_agg(distinct bucket_at) filter (where kind = 'calls'), '{}') as calls,
       coalesce(array_agg(distinct bucket_at) filter (where kind = 'texts'), '{}') as texts,
       coalesce(array_agg(distinct conversation_id::text) filter (where kind = 'thread'), '{}') as threads
     from (select * from taken union all select * from recounts union all select * from due) waiting`,
    [most, markerId],
  );
  return due ?? { calls: [], texts: [], threads: [] };
}

/** Gives `reporting.kpi_pivot` the columns of measures that are new; while somebody reads it, the next drain is to. */
async function widenKpiPivot(db: Database): Promise<void> {
  const widened = db.transaction().execute(async (tx) => {
    await limitLockWait(tx);
    const [behind] = await query<{ is_behind: boolean }>(
      tx,
      `select least(500, (select count(*) from rollups.kpi_names)) > (
         select count(*) from pg_attribute
         where attrelid = to_regclass('reporting.kpi_pivot') and attnum > 0 and attname like 'kpi\\_%') as is_behind`,
      [],
    );
    if (!behind?.is_behind) return;
    await takeLock(tx, 'views');
    await query(tx, 'select ops.widen_kpi_pivot()', []);
  });
  await widened.catch((error: unknown) => {
    if (!isLockTimeout(error)) throw error;
  });
}
