import { type Database, inTransaction, query, type Transaction } from '../warehouse/database.ts';
import { countCharged, countPlanned, noSends } from './outcomes/sends.ts';
import { addTallies } from './outcomes/tallies.ts';

/*
 * What rules did is counted twice over, since runs are kept for a while only and sends for good:
 *
 *   run, step ─ commit, with its tally ──▶ waiting ─ drain: delete tallies, add them to their day ─ commit ─▶ counted
 *   send, reply ─ commit, with a marker ─▶ waiting ─ drain: delete markers, count their days anew ─ commit ─▶ even
 */

/** One transaction takes so many tallies, and so many markers, at most. */
const mostTaken = 5_000;

/** Works what rules and sends did into the day totals until nothing is left, another process does it, or the signal says stop. */
export async function drainOutcomes(db: Database, signal?: AbortSignal): Promise<void> {
  while ((await inTransaction(db, drain)) > 0 && !signal?.aborted);
}

async function drain(tx: Transaction): Promise<number> {
  const [lock] = await query<{ is_ours: boolean }>(
    tx,
    `select pg_try_advisory_xact_lock(hashtext('reporting.outcomes')) as is_ours`,
    [],
  );
  if (!lock?.is_ours) return 0;
  await followTimeZone(tx);
  const tallies = await addTallies(tx, mostTaken);
  const { markers, planned, charged } = await takeMarkers(tx);
  for (const day of planned) await countPlanned(tx, day);
  for (const day of charged) await countCharged(tx, day);
  const taken = tallies + markers;
  if (taken === 0) await query(tx, 'update ops.outcome_state set drained_at = now()', []);
  return taken;
}

/** Local days are other ones in another time zone; those of runs, which may no longer be held, stay as they were. */
async function followTimeZone(tx: Transaction): Promise<void> {
  const changed = await query(
    tx,
    `update ops.outcome_state s set time_zone = p.time_zone from reporting.params p
     where s.time_zone is distinct from p.time_zone returning 1`,
    [],
  );
  if (changed.length === 0) return;
  await query(tx, 'delete from reporting.sms_cost_rollup', []);
  await query(tx, 'delete from reporting.rule_outcome_rollup where evaluation_count = 0', []);
  await query(tx, `update reporting.rule_outcome_rollup set ${noSends} where planned_count > 0`, []);
  await query(
    tx,
    `insert into ops.send_markers (planned_at, charged_at)
     select ops.quarter_of(planned_at), ops.quarter_of(coalesce(dispatched_at, reserved_at)) from ops.sends group by 1, 2`,
    [],
  );
}

interface MarkedDays {
  readonly markers: number;
  readonly planned: readonly string[];
  readonly charged: readonly string[];
}

async function takeMarkers(tx: Transaction): Promise<MarkedDays> {
  const [row] = await query<MarkedDays>(
    tx,
    `with taken as (
       delete from ops.send_markers where marker_id in (select marker_id from ops.send_markers order by marker_id limit $1) returning *
     )
     select count(*)::integer as markers,
       coalesce(array_agg(distinct reporting.local_day(planned_at)::text) filter (where planned_at is not null), '{}') as planned,
       coalesce(array_agg(distinct reporting.local_day(charged_at)::text) filter (where charged_at is not null), '{}') as charged
     from taken`,
    [mostTaken],
  );
  return row ?? { markers: 0, planned: [], charged: [] };
}
