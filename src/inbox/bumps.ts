import { type Database, hotQuery, type Transaction } from '../warehouse/database.ts';
import { priorities, type Rank, type Ring, type Target, type TargetKind, unconfirmed } from './target.ts';

/** A reason to read a target, at once or some seconds from now. */
export interface Bump extends Target {
  readonly afterSeconds?: number;
  /** Default: live. Of what only a delivery names: `rankAmong`. */
  readonly priority?: Rank;
}

/** The shortest time between two reads of one target: bursts coalesce, and a target that settled refused costs little. */
export interface Pauses {
  readonly activeMs: number;
  readonly refusedMs: number;
}

export const defaultPauses: Pauses = { activeMs: 200, refusedMs: 60_000 };

/** What is due later than this is left to the sweep; nearer bells are kept in the memory of the process. */
const nearMs = 2_000;

/**
 * When a bell for something due at `due` counts as rung. Far ones never do, nor those of history, so that the sweep rings
 * them when they are due and there is room.
 */
export function rungFor(due: string, priority: string): string {
  return `case when ${priority} = ${priorities.live} and ${due} < now() + interval '${nearMs} ms' then greatest(${due}, now()) else '-infinity' end`;
}

/** The moment before which a target is not read again. */
export function earliestRead(pauses: Pauses, state = 't.state'): string {
  return `t.read_at + case ${state} when 'active' then interval '${pauses.activeMs} ms' else interval '${pauses.refusedMs} ms' end`;
}

/**
 * Bumps the targets of a relation `hinted(kind, key, after_seconds, priority)` and answers with the bells to ring. A dirty target
 * has been rung already, so only the step from clean to dirty rings, or a due time that moves forward; a target that
 * fails keeps its back-off.
 *
 * A target that is owed a read which is due and has not begun is left alone: that read will see what the hint is about.
 * So a burst on one target neither writes its row again and again nor waits for the row's lock. The other rows are taken
 * in the order of their keys, so that concurrent batches cannot deadlock.
 *
 * What a delivery names is live when it is known, and also when it is new and came almost alone: the first read of such a
 * target is due at once.
 */
export function bumpStatement(pauses: Pauses): string {
  const isClean = 't.dirty_version = t.clean_version';
  const wanted = `greatest(excluded.due_at, ${earliestRead(pauses)})`;
  const asked = `now() + min(after_seconds) * interval '1 second'`;
  const isSoon = `t.due_at <= now() + interval '${pauses.activeMs} ms'`;
  const isUnconfirmed = `h.priority >= ${unconfirmed.alone} and coalesce(t.is_unconfirmed, true)`;
  const isAtOnce = `not (${isUnconfirmed}) or (t.kind is null and h.priority = ${unconfirmed.alone})`;
  const rank = `case when h.priority >= ${unconfirmed.alone} and (${isAtOnce}) then ${priorities.live} else h.priority end`;
  return `
    unanswered as (
      select h.kind, h.key, h.after_seconds, r.priority, r.is_unconfirmed
      from hinted h left join ops.sync_targets t using (kind, key)
      cross join lateral (select ${rank} as priority, ${isUnconfirmed} as is_unconfirmed) r
      where t.kind is null or t.dirty_version = t.claimed_version or not (t.attempts > 0 or ${isSoon}) or r.priority < t.priority
        or (t.is_unconfirmed and not r.is_unconfirmed)
    ),
    bumped as (
      insert into ops.sync_targets as t (kind, key, due_at, rung_at, priority, is_unconfirmed)
      select kind, key, ${asked}, ${rungFor(asked, 'min(priority)')}, min(priority), bool_and(is_unconfirmed) from unanswered group by kind, key order by kind, key
      on conflict (kind, key) do update set
        dirty_version = t.dirty_version + 1,
        due_at = case when ${isClean} then ${wanted} when t.attempts > 0 then t.due_at else least(t.due_at, ${wanted}) end,
        rung_at = case when ${isClean} or excluded.priority < t.priority or (t.attempts = 0 and t.due_at > ${wanted})
          then ${rungFor(wanted, 'excluded.priority')} else t.rung_at end,
        priority = case when ${isClean} then excluded.priority else least(t.priority, excluded.priority) end,
        is_unconfirmed = t.is_unconfirmed and excluded.is_unconfirmed
      returning kind, key, due_at, rung_at
    )
    select kind, key, greatest(0, extract(epoch from due_at - now()) * 1000)::integer as after_ms
    from bumped where rung_at >= now()`;
}

export interface RingRow {
  kind: TargetKind;
  key: string;
  after_ms: number;
}

export function ringsOf(rows: readonly RingRow[]): Ring[] {
  return rows.map((row) => ({ kind: row.kind, key: row.key, afterMs: row.after_ms }));
}

/** Bumps targets, but for threads of somebody who was erased; answers with the bells to ring. */
export async function bumpTargets(db: Database | Transaction, bumps: readonly Bump[], pauses: Pauses): Promise<Ring[]> {
  if (bumps.length === 0) return [];
  const rows = await hotQuery<RingRow>(
    db,
    `with hinted as (
       select * from unnest($1::text[], $2::text[], $3::float8[], $4::smallint[]) as h (kind, key, after_seconds, priority)
       where case when kind = 'thread' then not ops.is_erased_thread(key) else true end
     ),
     ${bumpStatement(pauses)}`,
    [
      bumps.map((bump) => bump.kind),
      bumps.map((bump) => bump.key),
      bumps.map((bump) => bump.afterSeconds ?? 0),
      bumps.map((bump) => bump.priority ?? priorities.live),
    ],
  );
  return ringsOf(rows);
}
