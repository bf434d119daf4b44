import type { RawBuilder } from 'kysely';
import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import type { DueFloor } from './due-floor.ts';
import { parkedKinds } from './parking.ts';
import {
  type DirtyTarget,
  type DueTarget,
  type DueTargetRow,
  dueTargetsOf,
  earliestRead,
  enqueuedAt,
  markDirty,
  type Priority,
  priorities,
  type Rank,
  type Target,
  type TargetKind,
  unconfirmed,
} from './targets.ts';

/*
 * The life of a sync target (ops.sync_targets):
 *
 *   mark dirty: dirty + 1, due ──▶ claim: claimed = v ──▶ read ──▶ finish: clean = v ──▶ clean, or due at a recheck
 *                 ▲            │   leased, so that ├────▶ fail: still dirty, due later
 *                 │            │   one reads it    └────▶ the process died: still dirty; see `isPutOff`
 *                 └── a reference during the read leaves dirty > v: finish makes it due again
 */

/** A target being read. A read that finishes makes `version` clean. */
export interface Claim extends Target {
  readonly version: string;
  /** The number of the read: a later read has a higher one. */
  readonly fetchSeq: string;
  readonly claimedAt: Date;
  /** Failed reads in a row before this one. */
  readonly attempts: number;
  /** Reads in a row that didn't find it. */
  readonly misses: number;
  /** How long the service has refused its reads; undefined if it accepted the last one. */
  readonly refusedSeconds?: number | undefined;
  /** No read of it has finished yet. */
  readonly isNew: boolean;
  readonly priority: Priority;
  /** Only deliveries name it, and no read has found it, so it may not exist. */
  readonly isUnconfirmed: boolean;
  /** It is unconfirmed, and read after all others (`unconfirmed` in targets.ts). */
  readonly isDeferred: boolean;
  /** How long after it was due the read began. */
  readonly lateMs: number;
  /** Its kind was parked, and this read tests whether the kind can resume. */
  readonly isProbe: boolean;
  /** The delivery that made it pending; undefined if something else did. */
  readonly deliveryId?: string | undefined;
}

/** How a read ended for good: `active` if it was mirrored, else why it can't be. */
export type TargetState = 'active' | 'gone' | 'forbidden' | 'refused';

export interface FinishedTarget extends Claim {
  readonly state: TargetState;
  readonly error: string | undefined;
  /** Schedules a recheck so many seconds from now. */
  readonly recheckSeconds?: number | undefined;
  /**
   * Whether the read found the target. Default: its state is active. An unconfirmed target that wasn't found is
   * deferred.
   */
  readonly isFound?: boolean;
}

/** Timers can fire slightly before the database's clock reaches the due time. */
const clockTolerance = sql`interval '50 ms'`;

/** How long a claim lasts unless it is renewed. */
const leaseMs = 5_000;
const leaseEnd = sql.raw(`now() + interval '${leaseMs} ms'`);

/**
 * The last claim of target `t` lapsed: its process died, or Postgres was away. It's read again at once, but only once.
 */
const isPutOff = sql`(t.claimed_until > '-infinity' and t.attempts > 0)`;

type ClaimRow = Claim & { readonly refusedSeconds: number | null; readonly deliveryId: string | null };

/**
 * Claims the targets of a relation `due`, whose rows are locked and joined by `isDue`. Targets with `due.is_put_off`
 * are only postponed, by up to an hour and ever longer. Their waits are random: a target that crashes its process is
 * then read alone.
 */
const beginReads = (isDue = sql`t.kind = due.kind and t.key = due.key`) => sql<ClaimRow>`, put_off as (
    update ops.sync_targets t set claimed_until = '-infinity', attempts = t.attempts + 1,
      last_error = 'The process that read it ended before the read did.',
      due_at = now() + least(3600, 10 * 2 ^ least(t.attempts, 10)) * random() * interval '1 second'
    from due where ${isDue} and is_put_off
  )
  update ops.sync_targets t set read_at = clock_timestamp(), claimed_version = t.dirty_version, claimed_until = ${leaseEnd},
    attempts = t.attempts + case when t.claimed_until > '-infinity' then 1 else 0 end from due
  where ${isDue} and not is_put_off
  returning t.kind, t.key, t.dirty_version as version, nextval('ops.fetch_seq') as "fetchSeq", t.read_at as "claimedAt", t.attempts, t.misses,
    extract(epoch from t.read_at - t.refused_at)::float8 as "refusedSeconds", t.clean_version = 0 as "isNew",
    case t.priority when ${sql.lit(priorities.history)} then ${sql.lit(priorities.history)} else ${sql.lit(priorities.live)} end as priority,
    t.is_unconfirmed as "isUnconfirmed", t.priority >= ${sql.lit(unconfirmed.single)} as "isDeferred",
    extract(epoch from t.read_at - t.due_at)::float8 * 1000 as "lateMs",
    exists (select from ops.parked_kinds s where s.kind = t.kind) as "isProbe", t.delivery_id as "deliveryId"`;

function claimOf({ refusedSeconds, deliveryId, ...row }: ClaimRow): Claim {
  return { ...row, refusedSeconds: refusedSeconds ?? undefined, deliveryId: deliveryId ?? undefined };
}

/**
 * Claims the given targets that are dirty, due, not parked and not claimed. Takes the version before the read: a
 * reference that arrives during the read causes another read.
 */
export async function claimTargets(db: Database, targets: readonly Target[]): Promise<Claim[]> {
  return (await hotQuery(db, claimingTargets(targets))).map(claimOf);
}

/** The statement of {@link claimTargets}. */
export const claimingTargets = (targets: readonly Target[]) => sql<ClaimRow>`with due as (
     select t.kind, t.key, ${isPutOff} as is_put_off
     from (select distinct * from ${relation('b', targets, { kind: 'text', key: 'text' })}) b
     join ops.sync_targets t using (kind, key)
     where t.dirty_version > t.clean_version and t.due_at <= now() + ${clockTolerance} and t.claimed_until <= now()
       and t.kind <> all(${parkedKinds})
     order by t.kind, t.key for update of t
   ) ${beginReads()}`;

/**
 * Claims up to `max` live targets of some kinds that are due and not claimed, oldest first. Skips parked kinds, even
 * when their parking has ended: only their jobs claim them, one by one, so that few reads probe whether the kind can
 * resume.
 */
export async function claimDue(
  db: Database,
  kinds: readonly TargetKind[],
  max: number,
  floor?: DueFloor,
): Promise<Claim[]> {
  return (await hotQuery(db, claimingDue(kinds, max, floor))).map(claimOf);
}

/** The statement of {@link claimDue}. */
export function claimingDue(kinds: readonly TargetKind[], max: number, floor?: DueFloor) {
  return claimingRanked(
    kinds,
    max,
    priorities.live,
    sql`due_at >= ${floor?.of(priorities.live) ?? '-infinity'}`,
    'asc',
  );
}

/**
 * Whether live reads have been due for a second without a handler, so that other work should wait. Reads that have been
 * due for more than a minute don't count: something else holds them up.
 */
export async function areReadsWaiting(db: Database): Promise<boolean> {
  const rows = await hotQuery(
    db,
    sql`select from ops.sync_targets
     where dirty_version > clean_version and priority = ${sql.lit(priorities.live)} and claimed_until <= now()
       and due_at between now() - interval '1 minute' and now() - interval '1 second' and kind <> all(${parkedKinds}) limit 1`,
  );
  return rows.length > 0;
}

/**
 * Claims up to `max` deferred targets: rank `single` before `bulk`, and newest first in each, so that real targets
 * don't wait for forged ones.
 */
export async function claimUnconfirmed(db: Database, kinds: readonly TargetKind[], max: number): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const rank of [unconfirmed.single, unconfirmed.bulk]) {
    if (claims.length === max) break;
    const rows = await hotQuery(db, claimingRanked(kinds, max - claims.length, rank, sql`true`, 'desc'));
    claims.push(...rows.map(claimOf));
  }
  return claims;
}

/**
 * Joins the locked rows by their physical place: a search by key would visit all row versions while a snapshot is held.
 * A row that changes between search and lock is left to the next claim.
 */
const claimingRanked = (
  kinds: readonly TargetKind[],
  max: number,
  rank: Rank,
  condition: RawBuilder<unknown>,
  order: 'asc' | 'desc',
) => sql<ClaimRow>`with due as (
     select ctid as place, ${isPutOff} as is_put_off from ops.sync_targets t
     where dirty_version > clean_version and priority = ${sql.lit(rank)} and due_at <= now() and ${condition} and kind = any(${kinds})
       and claimed_until <= now() and kind <> all(array(select s.kind from ops.parked_kinds s))
     order by due_at ${sql.raw(order)} limit ${max} for update skip locked
   ) ${beginReads(sql`t.ctid = due.place`)}`;

/** The rank of a deferred target `t`: the lowest if a read didn't find it. */
const deferredRank = sql`case when t.misses > 0 then ${sql.lit(unconfirmed.bulk)} else ${sql.lit(unconfirmed.single)} end`;

/** Releases claims that weren't read. With `defer`, their targets get one of the ranks of unconfirmed ones. */
export async function releaseClaims(
  db: Database,
  claims: readonly Claim[],
  { defer = false }: { readonly defer?: boolean } = {},
): Promise<void> {
  await hotQuery(
    db,
    sql`with given as (
       select t.kind, t.key from ${versionsOf(claims)} join ops.sync_targets t using (kind, key)
       where t.claimed_version = c.version and t.clean_version < c.version order by t.kind, t.key for update of t
     )
     update ops.sync_targets t set claimed_until = '-infinity', enqueued_at = '-infinity',
       priority = case when ${defer} then greatest(t.priority, ${deferredRank}) else t.priority end
     from given where t.kind = given.kind and t.key = given.key`,
  );
}

/** Extends the leases of claims that are still being read. */
export async function renewClaims(db: Database, claims: readonly Claim[]): Promise<void> {
  await hotQuery(
    db,
    sql`with held as (
       select t.kind, t.key from ${versionsOf(claims)} join ops.sync_targets t using (kind, key)
       where t.claimed_version = c.version and t.clean_version < c.version and t.claimed_until > '-infinity'
       for update of t skip locked
     )
     update ops.sync_targets t set claimed_until = ${leaseEnd} from held where t.kind = held.kind and t.key = held.key`,
  );
}

const versionsOf = (claims: readonly Claim[]) =>
  relation('c', claims, { kind: 'text', key: 'text', version: 'bigint' });

/**
 * Finishes reads in the transaction that mirrored their results, and marks their follow-up targets dirty. Resolves to
 * the targets to enqueue. A delivery can lock the follow-ups in another order: both transactions retry after a
 * deadlock.
 */
export async function finishTargets(
  tx: Transaction,
  finished: readonly FinishedTarget[],
  followUps: readonly DirtyTarget[],
): Promise<DueTarget[]> {
  const again = `case when t.dirty_version > s.version then greatest(now(), ${earliestRead('s.state')})
    when s.recheck_seconds is not null then now() + s.recheck_seconds * interval '1 second' else t.due_at end`;
  const rank = `case when s.is_found and t.priority >= ${unconfirmed.single} then ${priorities.live}
    when s.is_found or not t.is_unconfirmed then t.priority else greatest(t.priority, ${unconfirmed.single}) end`;
  const given = relation('s', finished, {
    kind: 'text',
    key: 'text',
    version: 'bigint',
    state: 'text',
    error: 'text',
    recheck_seconds: ['double precision', (each) => each.recheckSeconds],
    is_found: ['boolean', ({ isFound, state }) => isFound ?? state === 'active'],
  });
  const rows = await hotQuery(
    tx,
    sql<DueTargetRow>`with s as (select * from ${given}), locked as (
       select kind, key from ops.sync_targets t join s using (kind, key) order by kind, key for update of t
     ), finished as (
       update ops.sync_targets t set
         clean_version = greatest(t.clean_version, s.version),
         dirty_version = t.dirty_version + case when t.dirty_version = s.version and s.recheck_seconds is not null then 1 else 0 end,
         due_at = ${sql.raw(again)}, priority = ${sql.raw(rank)},
         enqueued_at = case when t.dirty_version > s.version or s.recheck_seconds is not null then ${sql.raw(enqueuedAt(again, rank))} else t.enqueued_at end,
         is_unconfirmed = t.is_unconfirmed and not s.is_found,
         attempts = 0, misses = 0, state = s.state, last_error = s.error, claimed_until = '-infinity',
         refused_at = case when s.state in ('forbidden', 'refused') then coalesce(t.refused_at, now()) end
       from s join locked using (kind, key)
       where t.kind = s.kind and t.key = s.key and t.clean_version < s.version and t.claimed_version >= s.version
       returning t.kind, t.key, t.due_at, t.enqueued_at, t.dirty_version > t.clean_version as is_dirty
     )
     select kind, key, greatest(0, extract(epoch from due_at - now()) * 1000)::integer as after_ms
     from finished where is_dirty and enqueued_at >= now()`,
  );
  return [...dueTargetsOf(rows), ...(await markDirty(tx, followUps))];
}

/** Records a read that will be retried. `countsAsAttempt` is false if the target itself wasn't requested. */
export async function failTarget(
  db: Database,
  claim: Claim,
  failure: { error: string; afterMs: number; countsAsAttempt: boolean; isMiss?: boolean },
): Promise<void> {
  const { error, afterMs } = failure;
  const misses = failure.isMiss ? 1 : 0;
  await hotQuery(
    db,
    sql`update ops.sync_targets t set attempts = attempts + ${failure.countsAsAttempt ? 1 : 0}, misses = misses + ${misses}::int,
       last_error = ${error},
       due_at = now() + ${afterMs} * interval '1 ms', enqueued_at = '-infinity', claimed_until = '-infinity',
       priority = case when ${misses}::int > 0 and priority >= ${sql.lit(unconfirmed.single)} then ${sql.lit(unconfirmed.bulk)} else priority end
     where kind = ${claim.kind} and key = ${claim.key} and clean_version < ${claim.version}`,
  );
}

/**
 * Deletes unconfirmed targets: an hour after their last read if no read found them; after a week if the service refuses
 * them, or forbids a thread whose line isn't the account's. Returns their number.
 */
export async function forgetUnconfirmed(db: Database): Promise<number> {
  const rows = await query(
    db,
    `delete from ops.sync_targets t
     where t.priority >= ${unconfirmed.single} and t.clean_version > 0 and t.claimed_until <= now() and case
       when t.dirty_version = t.clean_version then t.read_at < now() - interval '1 hour'
       else t.due_at > now() and t.refused_at < now() - interval '7 days' and (t.state = 'refused' or (
         t.state = 'forbidden' and t.kind = 'thread' and exists (select from warehouse.sms_lines)
         and split_part(t.key, '/', 1) not in (select line from warehouse.sms_lines)))
       end
     returning 1`,
    [],
  );
  return rows.length;
}

/** A claim of this age is renewed; claims are checked as often. Well below the lease. */
const renewEveryMs = 1_500;

/** Renews the claims of one process while it reads them. */
export interface Leases {
  hold(claim: Claim): void;
  release(claim: Claim): void;
  /** Releases a claim whose result couldn't be recorded, once Postgres answers. */
  giveBack(claim: Claim): void;
}

export function createLeases(db: Database): Leases {
  const held = new Map<Claim, number>();
  let returned: Claim[] = [];
  let timer: NodeJS.Timeout | undefined;

  async function renew(): Promise<void> {
    const owed = returned;
    returned = [];
    if (owed.length > 0) await releaseClaims(db, owed).catch(() => returned.push(...owed));
    const aged = [...held].filter(([, since]) => performance.now() - since >= renewEveryMs).map(([claim]) => claim);
    // A claim that can't be renewed lapses: its target may be read twice, which is harmless.
    if (aged.length > 0) await renewClaims(db, aged).catch(() => undefined);
    timer = held.size + returned.length > 0 ? setTimeout(renew, renewEveryMs) : undefined;
  }

  return {
    hold(claim) {
      held.set(claim, performance.now());
      if (timer === undefined) timer = setTimeout(renew, renewEveryMs);
    },
    release: (claim) => void held.delete(claim),
    giveBack(claim) {
      held.delete(claim);
      returned.push(claim);
      timer ??= setTimeout(renew, renewEveryMs);
    },
  };
}
