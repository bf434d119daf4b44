import { type Database, hotQuery, query, type Transaction } from '../warehouse/database.ts';
import { type Bump, bumpTargets, earliestRead, type Pauses, type RingRow, ringsOf, rungFor } from './bumps.ts';
import {
  type Priority,
  priorities,
  type Rank,
  type Ring,
  type Target,
  type TargetKind,
  unconfirmed,
} from './target.ts';

/*
 * A target's life (ops.sync_targets):
 *
 *   bump: dirty + 1, due ──▶ claim: claimed = v ──▶ read ──▶ settle: clean = v ──▶ clean, or owed a later look
 *                 ▲            │   leased, so that ├────▶ fail:   due later, still dirty
 *                 │            │   one reads it    └────▶ nothing, the reader died: the lease ends, still due
 *                 └── a hint during the read leaves dirty > v: settle makes it due again
 */

/** A target being read: the version that a settled read makes clean, and the read's number and begin. */
export interface Claim extends Target {
  readonly version: string;
  readonly fetchSeq: string;
  readonly claimedAt: Date;
  /** Reads that failed in a row before this one. */
  readonly attempts: number;
  /** Reads that did not find it, since one last did. */
  readonly misses: number;
  /** For how long its reads have been refused; undefined when the last one was not. */
  readonly refusedSeconds?: number | undefined;
  /** No read of it was settled yet. */
  readonly isNew: boolean;
  readonly priority: Priority;
  /** Nothing but deliveries named it, and no read has found it: it may not exist. */
  readonly isUnconfirmed: boolean;
  /** The same, and it ranks behind all others. */
  readonly isBehind: boolean;
  /** How long after it was due the read began. */
  readonly lateMs: number;
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
  /**
   * Whether the read showed that the target exists; by default when its state is active. An unconfirmed one that was not
   * found ranks behind all others from now on.
   */
  readonly isFound?: boolean;
}

/** Timers fire a little early against the database's clock. */
const earlyMs = 50;

/** Whoever claims a target has it for itself for so long, and longer while it renews that. */
const leaseMs = 5_000;
const leased = `now() + interval '${leaseMs} ms'`;

/** Kinds that nothing is read of now. */
const parkedKinds = `array(select s.kind from ops.streams s where s.parked_until > now())`;

interface ClaimRow {
  kind: TargetKind;
  key: string;
  version: string;
  fetch_seq: string;
  read_at: Date;
  attempts: number;
  misses: number;
  refused_seconds: number | null;
  is_new: boolean;
  priority: Rank;
  is_unconfirmed: boolean;
  late_ms: number;
  is_probe: boolean;
}

/** Begins the reads of the targets of a relation `due(kind, key)`, whose rows are locked. */
const beginReads = `
  update ops.sync_targets t set read_at = clock_timestamp(), claimed_version = t.dirty_version, claimed_until = ${leased} from due
  where t.kind = due.kind and t.key = due.key
  returning t.kind, t.key, t.dirty_version as version, nextval('ops.fetch_seq') as fetch_seq, t.read_at, t.attempts, t.misses,
    extract(epoch from t.read_at - t.refused_at)::float8 as refused_seconds, t.clean_version = 0 as is_new, t.priority, t.is_unconfirmed,
    extract(epoch from t.read_at - t.due_at)::float8 * 1000 as late_ms, exists (select from ops.streams s where s.kind = t.kind) as is_probe`;

/**
 * Begins the read of every target that is dirty, due, not parked and not being read; the others are left out of the
 * answer. Taking the version before the read is what makes a hint that arrives during it cause another.
 */
export async function claimTargets(db: Database, targets: readonly Target[]): Promise<Claim[]> {
  const rows = await hotQuery<ClaimRow>(
    db,
    `with due as (
       select t.kind, t.key
       from (select distinct * from unnest($1::text[], $2::text[]) as b (kind, key)) b
       join ops.sync_targets t using (kind, key)
       where t.dirty_version > t.clean_version and t.due_at <= now() + interval '${earlyMs} ms' and t.claimed_until <= now()
         and t.kind <> all(${parkedKinds})
       order by t.kind, t.key for update of t
     ) ${beginReads}`,
    [targets.map((target) => target.kind), targets.map((target) => target.key)],
  );
  return rows.map(claimOf);
}

/**
 * Begins the reads of up to `most` targets of some kinds that are live, due and not being read, oldest due first. Kinds
 * that were parked are left to their bells, so that few try whether they may go on.
 */
export function claimDue(db: Database, kinds: readonly TargetKind[], most: number): Promise<Claim[]> {
  return claimRanked(db, { kinds, most, rank: priorities.live, order: 'asc' });
}

/**
 * The same for unconfirmed targets: those that came almost alone before those of crowds, and of each the newest first, so
 * that what is real does not wait for what was forged before it.
 */
export async function claimUnconfirmed(db: Database, kinds: readonly TargetKind[], most: number): Promise<Claim[]> {
  const alone = await claimRanked(db, { kinds, most, rank: unconfirmed.alone, order: 'desc' });
  if (alone.length === most) return alone;
  const crowd = { kinds, most: most - alone.length, rank: unconfirmed.crowd, order: 'desc' } as const;
  return [...alone, ...(await claimRanked(db, crowd))];
}

interface Ranked {
  readonly kinds: readonly TargetKind[];
  readonly most: number;
  readonly rank: Rank;
  readonly order: 'asc' | 'desc';
}

async function claimRanked(db: Database, { kinds, most, rank, order }: Ranked): Promise<Claim[]> {
  const rows = await query<ClaimRow>(
    db,
    `with due as (
       select kind, key from ops.sync_targets t
       where dirty_version > clean_version and priority = ${rank} and due_at <= now() and kind = any($1)
         and claimed_until <= now() and kind <> all(array(select s.kind from ops.streams s))
       order by due_at ${order} limit $2 for update skip locked
     ) ${beginReads}`,
    [kinds, most],
  );
  return rows.map(claimOf);
}

/** Gives claims back unread; `behind` all others they wait from now on, and those that were not found before behind the rest. */
export async function giveBack(db: Database, claims: readonly Claim[], where?: 'behind'): Promise<void> {
  const rank = `case when $4 then greatest(t.priority, case when t.misses > 0 then ${unconfirmed.crowd} else ${unconfirmed.alone} end)
    else t.priority end`;
  await hotQuery(
    db,
    `with given as (
       select t.kind, t.key from unnest($1::text[], $2::text[], $3::bigint[]) as c (kind, key, version)
       join ops.sync_targets t using (kind, key)
       where t.claimed_version = c.version and t.clean_version < c.version order by t.kind, t.key for update of t
     )
     update ops.sync_targets t set claimed_until = '-infinity', rung_at = '-infinity', priority = ${rank}
     from given where t.kind = given.kind and t.key = given.key`,
    [
      claims.map(({ kind }) => kind),
      claims.map(({ key }) => key),
      claims.map(({ version }) => version),
      where === 'behind',
    ],
  );
}

/** Keeps claims that are still being read from being claimed again. */
export async function renewClaims(db: Database, claims: readonly Claim[]): Promise<void> {
  await hotQuery(
    db,
    `with held as (
       select t.kind, t.key from unnest($1::text[], $2::text[], $3::bigint[]) as c (kind, key, version)
       join ops.sync_targets t using (kind, key)
       where t.claimed_version = c.version and t.clean_version < c.version and t.claimed_until > '-infinity'
       for update of t skip locked
     )
     update ops.sync_targets t set claimed_until = ${leased} from held where t.kind = held.kind and t.key = held.key`,
    [claims.map(({ kind }) => kind), claims.map(({ key }) => key), claims.map(({ version }) => version)],
  );
}

function claimOf(row: ClaimRow): Claim {
  return {
    kind: row.kind,
    key: row.key,
    version: row.version,
    fetchSeq: row.fetch_seq,
    claimedAt: row.read_at,
    attempts: row.attempts,
    misses: row.misses,
    refusedSeconds: row.refused_seconds ?? undefined,
    isNew: row.is_new,
    priority: row.priority === priorities.history ? priorities.history : priorities.live,
    isUnconfirmed: row.is_unconfirmed,
    isBehind: row.priority >= unconfirmed.alone,
    lateMs: row.late_ms,
    isProbe: row.is_probe,
  };
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
  const rank = `case when s.is_found and t.priority >= ${unconfirmed.alone} then ${priorities.live}
    when s.is_found or not t.is_unconfirmed then t.priority else greatest(t.priority, ${unconfirmed.alone}) end`;
  const rows = await hotQuery<RingRow>(
    tx,
    `with s as (
       select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::float8[], $7::boolean[])
         as s (kind, key, version, state, error, look_seconds, is_found)
     ), locked as (
       select kind, key from ops.sync_targets t join s using (kind, key) order by kind, key for update of t
     ), settled as (
       update ops.sync_targets t set
         clean_version = greatest(t.clean_version, s.version),
         dirty_version = t.dirty_version + case when t.dirty_version = s.version and s.look_seconds is not null then 1 else 0 end,
         due_at = ${again}, rung_at = ${rungFor(again, rank)}, priority = ${rank}, is_unconfirmed = t.is_unconfirmed and not s.is_found,
         attempts = 0, misses = 0, state = s.state, last_error = s.error, claimed_until = '-infinity',
         refused_at = case when s.state in ('forbidden', 'refused') then coalesce(t.refused_at, now()) end
       from s join locked using (kind, key)
       where t.kind = s.kind and t.key = s.key and t.clean_version < s.version and t.claimed_version >= s.version
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
      settlements.map(({ isFound, state }) => isFound ?? state === 'active'),
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
  await hotQuery(
    db,
    `update ops.sync_targets set attempts = attempts + $3, misses = misses + $7, last_error = $4,
       due_at = now() + $5 * interval '1 ms', rung_at = '-infinity', claimed_until = '-infinity',
       priority = case when $7 > 0 and priority >= ${unconfirmed.alone} then ${unconfirmed.crowd} else priority end
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

/**
 * Removes the rows of targets that only deliveries named: an hour after their last read when none has found them, and after
 * a week when the service refuses them, or the line of a thread is not the account's. One that is named again starts
 * afresh. Answers with how many.
 */
export async function forgetUnconfirmed(db: Database): Promise<number> {
  const rows = await query(
    db,
    `delete from ops.sync_targets t
     where t.priority >= ${unconfirmed.alone} and t.clean_version > 0 and t.claimed_until <= now() and case
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

/**
 * Takes up to `most` dirty targets of a priority that are due and that the queue has lost or was never told of, oldest
 * due first.
 */
export async function overdueTargets(
  db: Database,
  wanted: { readonly kinds: readonly TargetKind[]; readonly priority: Priority; readonly most: number },
  lostAfterMs: number,
): Promise<Target[]> {
  return query<Target>(
    db,
    `with overdue as (
       select kind, key from ops.sync_targets t
       where dirty_version > clean_version and priority = $4 and due_at <= now() and kind = any($1) and claimed_until <= now()
         and (rung_at < due_at or rung_at < now() - $3 * interval '1 ms')
         and kind <> all(${parkedKinds})
       order by due_at limit $2 for update skip locked
     )
     update ops.sync_targets t set rung_at = now() from overdue
     where t.kind = overdue.kind and t.key = overdue.key
     returning t.kind, t.key`,
    [wanted.kinds, wanted.most, lostAfterMs, wanted.priority],
  );
}

/** Of a target: the service did not take its reads once or twice. What fails for longer or is not found is another matter. */
export const isPutOff = `last_error is not null and state = 'active' and attempts < 3 and misses = 0`;

/** A read that is put off until then, or that was due so lately, is still hoped for. */
const hopedFor = `due_at > now() - interval '10 seconds' and due_at < now() + interval '2 minutes'`;

/** So long and no longer waits what an event told of before it was there, or what one mishap befell. */
const moment = `interval '2 seconds'`;

/**
 * Whether live reads, which were let through last, are put off for the first time or the second, and for more than a moment:
 * then the service takes no more at present. What fails for longer, is not found or is parked says nothing of the rest.
 */
export async function isStrained(db: Database): Promise<boolean> {
  const [row] = await query<{ is_strained: boolean }>(
    db,
    `select exists (
       select from ops.sync_targets
       where dirty_version > clean_version and priority = ${priorities.live} and ${hopedFor}
         and due_at > read_at + ${moment} and ${isPutOff} and kind <> all(array(select s.kind from ops.streams s))
     ) as is_strained`,
    [],
  );
  return row?.is_strained === true;
}
