import { maskKey } from '../masking.ts';
import { type Database, query, type Transaction } from '../warehouse/database.ts';

/*
 * A target's life (ops.sync_targets):
 *
 *   bump: dirty + 1, due ──▶ claim: claimed = v ──▶ read ──▶ settle: clean = v ──▶ clean, or owed a later look
 *                 ▲                                └────▶ fail:   due later, still dirty
 *                 └── a hint during the read leaves dirty > v: settle makes it due again
 */

/** The kinds of thing that are read, one stream each. */
export const targetKinds = ['thread', 'call', 'recordings', 'transcripts', 'users', 'lines'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** A thing to read. */
export interface Target {
  readonly kind: TargetKind;
  readonly key: string;
}

/** A target as logs and pages may show it: of phone numbers only the last four digits. */
export function shownTarget({ kind, key }: Target): string {
  return `${kind} ${maskKey(kind, key)}`;
}

/** A reason to read a target, at once or some seconds from now. */
export interface Bump extends Target {
  readonly afterSeconds?: number;
}

/** A target whose bell is to be rung `afterMs` from now. */
export interface Ring extends Target {
  readonly afterMs: number;
}

/** A target being read: the version that a settled read makes clean, and the read's number and begin. */
export interface Claim extends Target {
  readonly version: string;
  readonly fetchSeq: string;
  readonly claimedAt: Date;
  /** Reads that failed in a row before this one. */
  readonly attempts: number;
  /** Reads that did not find it, since one last did. */
  readonly misses: number;
  /** Its stream was parked, and this read tries whether it may go on. */
  readonly isProbe: boolean;
}

/** How a read ended for good: `active` when it was mirrored, else why nothing can be. */
export type TargetState = 'active' | 'gone' | 'forbidden' | 'refused';

export interface Settlement extends Claim {
  readonly state: TargetState;
  readonly error: string | undefined;
  /** Owes the target another look so many seconds from now. */
  readonly lookAgainSeconds?: number | undefined;
}

/** The shortest time between two reads of one target: bursts coalesce, and a target that settled refused costs little. */
export interface Pauses {
  readonly activeMs: number;
  readonly refusedMs: number;
}

export const defaultPauses: Pauses = { activeMs: 200, refusedMs: 60_000 };

/** What is due later than this is left to the sweep; nearer bells are kept in the memory of the process. */
const nearMs = 2_000;

/** When a bell for something due at `due` counts as rung. Far ones never do, so that the sweep rings them when due. */
function rungFor(due: string): string {
  return `case when ${due} < now() + interval '${nearMs} ms' then greatest(${due}, now()) else '-infinity' end`;
}

function earliestRead(pauses: Pauses, state = 't.state'): string {
  return `t.read_at + case ${state} when 'active' then interval '${pauses.activeMs} ms' else interval '${pauses.refusedMs} ms' end`;
}

/**
 * Bumps the targets of a relation `hinted(kind, key, after_seconds)` and answers with the bells to ring. A dirty target
 * has been rung already, so only the step from clean to dirty rings, or a due time that moves forward; a target that
 * fails keeps its back-off.
 *
 * A target that is owed a read which is due and has not begun is left alone: that read will see what the hint is about.
 * So a burst on one target neither writes its row again and again nor waits for the row's lock. The other rows are taken
 * in the order of their keys, so that concurrent batches cannot deadlock.
 */
export function bumpStatement(pauses: Pauses): string {
  const isClean = 't.dirty_version = t.clean_version';
  const wanted = `greatest(excluded.due_at, ${earliestRead(pauses)})`;
  const asked = `now() + min(after_seconds) * interval '1 second'`;
  const isSoon = `t.due_at <= now() + interval '${pauses.activeMs} ms'`;
  return `
    unanswered as (
      select h.kind, h.key, h.after_seconds from hinted h left join ops.sync_targets t using (kind, key)
      where t.kind is null or t.dirty_version = t.claimed_version or not (t.attempts > 0 or ${isSoon})
    ),
    bumped as (
      insert into ops.sync_targets as t (kind, key, due_at, rung_at)
      select kind, key, ${asked}, ${rungFor(asked)} from unanswered group by kind, key order by kind, key
      on conflict (kind, key) do update set
        dirty_version = t.dirty_version + 1,
        due_at = case when ${isClean} then ${wanted} when t.attempts > 0 then t.due_at else least(t.due_at, ${wanted}) end,
        rung_at = case when ${isClean} or (t.attempts = 0 and t.due_at > ${wanted}) then ${rungFor(wanted)} else t.rung_at end
      returning kind, key, due_at, rung_at
    )
    select kind, key, greatest(0, extract(epoch from due_at - now()) * 1000)::integer as after_ms
    from bumped where rung_at >= now()`;
}

interface RingRow {
  kind: TargetKind;
  key: string;
  after_ms: number;
}

export function ringsOf(rows: readonly RingRow[]): Ring[] {
  return rows.map((row) => ({ kind: row.kind, key: row.key, afterMs: row.after_ms }));
}

export async function bumpTargets(db: Database | Transaction, bumps: readonly Bump[], pauses: Pauses): Promise<Ring[]> {
  if (bumps.length === 0) return [];
  const rows = await query<RingRow>(
    db,
    `with hinted as (select * from unnest($1::text[], $2::text[], $3::float8[]) as h (kind, key, after_seconds)),
     ${bumpStatement(pauses)}`,
    [bumps.map((bump) => bump.kind), bumps.map((bump) => bump.key), bumps.map((bump) => bump.afterSeconds ?? 0)],
  );
  return ringsOf(rows);
}

/** Timers fire a little early against the database's clock. */
const earlyMs = 50;

/**
 * Begins the read of every target that is dirty, due and not parked; the others are left out of the answer. Taking the
 * version before the read is what makes a hint that arrives during it cause another.
 */
export async function claimTargets(db: Database, targets: readonly Target[]): Promise<Claim[]> {
  const rows = await query<{
    kind: TargetKind;
    key: string;
    version: string;
    fetch_seq: string;
    read_at: Date;
    attempts: number;
    misses: number;
    is_probe: boolean;
  }>(
    db,
    `with due as (
       select t.kind, t.key
       from (select distinct * from unnest($1::text[], $2::text[]) as b (kind, key)) b
       join ops.sync_targets t using (kind, key)
       where t.dirty_version > t.clean_version and t.due_at <= now() + interval '${earlyMs} ms'
         and not exists (select from ops.streams s where s.kind = t.kind and s.parked_until > now())
       order by t.kind, t.key for update of t
     )
     update ops.sync_targets t set read_at = clock_timestamp(), claimed_version = t.dirty_version from due
     where t.kind = due.kind and t.key = due.key
     returning t.kind, t.key, t.dirty_version as version, nextval('ops.fetch_seq') as fetch_seq, t.read_at, t.attempts, t.misses,
       exists (select from ops.streams s where s.kind = t.kind) as is_probe`,
    [targets.map((target) => target.kind), targets.map((target) => target.key)],
  );
  return rows.map((row) => ({
    kind: row.kind,
    key: row.key,
    version: row.version,
    fetchSeq: row.fetch_seq,
    claimedAt: row.read_at,
    attempts: row.attempts,
    misses: row.misses,
    isProbe: row.is_probe,
  }));
}

/**
 * Records reads that ended for good, in the transaction that mirrored what they found, and bumps what they point at.
 * Answers with the bells of targets that are dirty again. Follow-ups are locked after the settled ones, so a delivery can
 * meet it in the other order: both run again when Postgres ends one of them.
 */
export async function settleTargets(
  tx: Transaction,
  settlements: readonly Settlement[],
  followUps: readonly Bump[],
  pauses: Pauses,
): Promise<Ring[]> {
  const again = `case when t.dirty_version > s.version then greatest(now(), ${earliestRead(pauses, 's.state')})
    when s.look_seconds is not null then now() + s.look_seconds * interval '1 second' else t.due_at end`;
  const rows = await query<RingRow>(
    tx,
    `with s as (
       select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::float8[])
         as s (kind, key, version, state, error, look_seconds)
     ), locked as (
       select kind, key from ops.sync_targets t join s using (kind, key) order by kind, key for update of t
     ), settled as (
       update ops.sync_targets t set
         clean_version = greatest(t.clean_version, s.version),
         dirty_version = t.dirty_version + case when t.dirty_version = s.version and s.look_seconds is not null then 1 else 0 end,
         due_at = ${again}, rung_at = ${rungFor(again)},
         attempts = 0, misses = 0, state = s.state, last_error = s.error
       from s join locked using (kind, key)
       where t.kind = s.kind and t.key = s.key and t.clean_version < s.version
       returning t.kind, t.key, t.due_at, t.rung_at, t.dirty_version > t.clean_version as is_dirty
     )
     select kind, key, greatest(0, extract(epoch from due_at - now()) * 1000)::integer as after_ms
     from settled where is_dirty and rung_at >= now()`,
    [
      settlements.map((each) => each.kind),
      settlements.map((each) => each.key),
      settlements.map((each) => each.version),
      settlements.map((each) => each.state),
      settlements.map((each) => each.error ?? null),
      settlements.map((each) => each.lookAgainSeconds ?? null),
    ],
  );
  return [...ringsOf(rows), ...(await bumpTargets(tx, followUps, pauses))];
}

/** Records a read that is to be tried again. `countsAsAttempt` is false when the target itself was never asked for. */
export async function failTarget(
  db: Database,
  claim: Claim,
  failure: { error: string; afterMs: number; countsAsAttempt: boolean; isMiss?: boolean },
): Promise<void> {
  await query(
    db,
    `update ops.sync_targets set attempts = attempts + $3, misses = misses + $7, last_error = $4,
       due_at = now() + $5 * interval '1 ms', rung_at = '-infinity'
     where kind = $1 and key = $2 and clean_version < $6`,
    [
      claim.kind,
      claim.key,
      failure.countsAsAttempt ? 1 : 0,
      failure.error,
      failure.afterMs,
      claim.version,
      failure.isMiss ? 1 : 0,
    ],
  );
}

/** Takes up to `most` dirty targets that are due and that the queue has lost or was never told of, oldest due first. */
export async function overdueTargets(
  db: Database,
  kinds: readonly TargetKind[],
  most: number,
  lostAfterMs: number,
): Promise<Target[]> {
  return query<Target>(
    db,
    `with overdue as (
       select kind, key from ops.sync_targets t
       where dirty_version > clean_version and due_at <= now() and kind = any($1)
         and (rung_at < due_at or rung_at < now() - $3 * interval '1 ms')
         and not exists (select from ops.streams s where s.kind = t.kind and s.parked_until > now())
       order by due_at limit $2 for update skip locked
     )
     update ops.sync_targets t set rung_at = now() from overdue
     where t.kind = overdue.kind and t.key = overdue.key
     returning t.kind, t.key`,
    [kinds, most, lostAfterMs],
  );
}
