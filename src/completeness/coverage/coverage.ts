import type { RawBuilder } from 'kysely';
import type { ServiceError } from '../../api-client/client.ts';
import { type Database, query, relation, sql, type Transaction } from '../../db/database.ts';
import type { TimeRange } from '../../shared/time-range.ts';

/*
 * The life of an hour in ops.coverage:
 *
 *   waiting ──▶ due, claimed ──▶ listed ──▶ proven ──▶ compared again for late changes, then never
 *                    ▲              ├────▶ differs ─┐
 *                    └──────────────┴────▶ failed ──┘ retried with back-off
 */

const hour = 3_600;

/** The start of the UTC hour of a moment in Unix seconds. */
export function hourOf(seconds: number): number {
  return Math.floor(seconds / hour) * hour;
}

/** The starts of all hours that a range touches. */
export function hoursOf({ from, to }: TimeRange): number[] {
  const first = hourOf(from);
  return Array.from({ length: Math.max(0, Math.ceil((to - first) / hour)) }, (_, at) => first + at * hour);
}

/** Joins consecutive hours into ranges of at most `max` hours, in ascending order. */
export function joinHours(hours: readonly number[], max: number): TimeRange[] {
  const ranges: { from: number; to: number }[] = [];
  for (const start of [...hours].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last.to === start && last.to - last.from < max * hour) last.to += hour;
    else ranges.push({ from: start, to: start + hour });
  }
  return ranges;
}

/**
 * Seconds after its end at which an hour is compared: calls are listed after they end, and some fields change later.
 */
const comparisonDelays = [120, 900, 86_400, 604_800] as const;
/** Hours before the first start that are planned. */
const initialHours = 24;
const claimEnd = sql`now() + interval '5 minutes'`;
const released = sql`'-infinity'`;

/** The time of the next comparison of a proven hour `c`; infinity after the last. */
const nextComparison = sql`(
  select coalesce(min(p.at), 'infinity')
  from (select c.to_at + p * interval '1 second' as at from unnest(${sql.lit(`{${comparisonDelays}}`)}::integer[]) p) p
  where p.at > now())`;
/** The time of the next attempt at an hour `c` that isn't proven: after 1 minute, then 2, 4, … up to `maxMinutes`. */
const nextAttempt = (maxMinutes: RawBuilder<unknown>) =>
  sql`now() + least(${maxMinutes}, power(2, least(c.attempts, 11))) * interval '1 minute'`;

/**
 * Adds the hours since the last planned one, so that the hours of a downtime are planned at the next start. The first
 * start plans the 24 hours before it, and records the current hour as a gap. Any number of processes may plan.
 */
export async function planHours(db: Database): Promise<void> {
  await query(
    db,
    sql`with present as (
       select date_trunc('hour', now(), 'UTC') as hour,
         not exists (select from ops.coverage where stream = 'calls' and is_watched) as is_first
     ), running as (
       insert into ops.gaps (stream, from_at, to_at, reason)
       select 'calls', hour, now(), 'webhooks were not received before the first start' from present where is_first
     )
     insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
     select 'calls', h, h + interval '1 hour', is_watched,
       h + interval '1 hour' + ${comparisonDelays[0]}::integer * interval '1 second'
     from (
       select generate_series(coalesce(max(to_at), date_trunc('hour', now(), 'UTC')), now(), '1 hour') as h, true as is_watched
       from ops.coverage where stream = 'calls' and is_watched
       union all
       select generate_series(hour - ${initialHours}::integer * interval '1 hour', now() - interval '1 hour', '1 hour'), false
       from present where is_first
     ) planned
     on conflict do nothing`,
  );
}

/**
 * Claims the running hour for one poll of the service, so that only one process polls at a time. Resolves to the time
 * of the database; undefined while the last poll is less than `everySeconds` old.
 */
export async function claimPoll(db: Database, everySeconds: number): Promise<Date | undefined> {
  const [claimed] = await query(
    db,
    sql<{ at: Date }>`update ops.coverage set claimed_until = now() + ${everySeconds} * interval '1 second'
     where stream = 'calls' and from_at = date_trunc('hour', now(), 'UTC') and claimed_until <= now()
     returning now() as at`,
  );
  return claimed?.at;
}

export interface DueHour {
  /** Unix seconds. */
  readonly start: number;
  readonly isWatched: boolean;
  /** Failed attempts in a row to prove it. */
  readonly attempts: number;
}

const isDue = sql`stream = 'calls' and due_at <= now() and claimed_until <= now() and to_at <= now()`;

/** SQL: hours are due, or the present hour isn't planned. */
export const hoursWait = sql`exists (select from ops.coverage where ${isDue})
  or not exists (select from ops.coverage where stream = 'calls' and is_watched and from_at > now() - interval '1 hour')`;

/** Claims up to `max` due hours, oldest first. */
export async function claimHours(db: Database, max: number): Promise<DueHour[]> {
  return query(
    db,
    sql<DueHour>`with due as (
       select stream, from_at from ops.coverage
       where ${isDue}
       order by from_at limit ${max} for update skip locked
     )
     update ops.coverage c set claimed_until = ${claimEnd} from due
     where c.stream = due.stream and c.from_at = due.from_at
     returning extract(epoch from c.from_at)::integer as start, c.is_watched as "isWatched", c.attempts`,
  );
}

/** Makes all past hours that a range touches due now, and plans those that weren't. Resolves to their number. */
export async function scheduleHours(db: Database, { from, to }: TimeRange): Promise<number> {
  const rows = await query(
    db,
    sql`insert into ops.coverage as c (stream, from_at, to_at, is_watched, due_at)
     select 'calls', h, h + interval '1 hour', false, now()
     from generate_series(date_trunc('hour', to_timestamp(${from}), 'UTC'),
       least(to_timestamp(${to}), now()) - interval '1 second', '1 hour') h
     where h + interval '1 hour' <= now()
     on conflict (stream, from_at) do update set due_at = now(), claimed_until = ${released}
     returning 1`,
  );
  return rows.length;
}

/** How many hours of a range are in these states. */
export interface HourCounts {
  /** Due, or being compared. */
  readonly due: number;
  /** Not compared at the last attempt. */
  readonly failed: number;
  /** Compared, and they differ. */
  readonly unproven: number;
}

export async function countHours(db: Database, { from, to }: TimeRange): Promise<HourCounts> {
  const [counts] = await query(
    db,
    sql<HourCounts>`
      select count(*) filter (where due_at <= now() and to_at <= now())::integer as due,
        count(*) filter (where state <> 'differs' and last_error is not null)::integer as failed,
        count(*) filter (where state = 'differs')::integer as unproven
      from ops.coverage where stream = 'calls' and to_at > to_timestamp(${from}) and from_at < to_timestamp(${to})`,
  );
  return counts ?? { due: 0, failed: 0, unproven: 0 };
}

/** What the service listed for some hours. */
export interface Comparison {
  readonly hours: readonly number[];
  /** Call ids with their start in Unix seconds. */
  readonly calls: ReadonlyMap<string, number>;
  /** Why the listing proves nothing; undefined when it is complete. */
  readonly problem: string | undefined;
}

/**
 * Records a comparison. Call it after the listed calls are mirrored. Resolves to the held calls that the service
 * doesn't list: they should be read, but this isn't a proof that they were deleted.
 */
export async function recordHours(tx: Transaction, { hours, calls, problem }: Comparison): Promise<string[]> {
  const listedIds = [...calls.keys()];
  const unlisted = await query(
    tx,
    sql<{ call_id: string; start: number }>`
     with bounds as (
       select to_timestamp(${Math.min(...hours)}) as first, to_timestamp(${Math.max(...hours) + hour}) as last
     )
     select call_id, extract(epoch from date_trunc('hour', coalesce(started_at, to_timestamp(call_epoch)), 'UTC'))::integer as start
     from warehouse.calls, bounds
     where deleted_at is null and (started_at >= first and started_at < last
         or started_at is null and to_timestamp(call_epoch) >= first and to_timestamp(call_epoch) < last)
       and not (call_id = any(${listedIds}))`,
  );
  // Another process may have marked a listed call deleted meanwhile.
  const missing = await query(
    tx,
    sql<{ call_id: string }>`
     select l.call_id from unnest(${listedIds}::text[]) as l (call_id)
       left join warehouse.calls c on c.call_id = l.call_id and c.deleted_at is null
     where c.call_id is null`,
  );
  // A back-fill compares hours that were never planned.
  await query(
    tx,
    sql`insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
     select 'calls', to_timestamp(h), to_timestamp(h) + interval '1 hour', false, now() from unnest(${hours}::bigint[]) h
     on conflict (stream, from_at) do nothing`,
  );
  const listedBy = Map.groupBy(calls.values(), hourOf);
  const unlistedBy = Map.groupBy(unlisted, ({ start }) => start);
  const missingBy = Map.groupBy(missing, ({ call_id }) => hourOf(calls.get(call_id) ?? 0));
  // An hour that differs for the same reason as before is retried at most daily, any other at most hourly.
  const maxMinutes = sql`case when c.state = 'differs' and c.last_error = problem then 1440 else 60 end`;
  await query(
    tx,
    sql`with compared as (
       select start, listed, listed + unlisted - missing as held,
         coalesce(${problem ?? null}::text,
           case when unlisted > 0 then unlisted || ' held calls are no longer listed; they are read again' end,
           case when missing > 0 then missing || ' listed calls are not held' end) as problem
       from ${relation('h', hours, {
         start: ['bigint', (start) => start],
         listed: ['integer', (start) => listedBy.get(start)?.length ?? 0],
         unlisted: ['integer', (start) => unlistedBy.get(start)?.length ?? 0],
         missing: ['integer', (start) => missingBy.get(start)?.length ?? 0],
       })}
     )
     update ops.coverage c set
       reported_count = compared.listed, held_count = compared.held,
       state = case when problem is null then 'proven' else 'differs' end,
       attempts = case when problem is null then 0 else c.attempts + 1 end,
       due_at = case when problem is null then ${nextComparison} else ${nextAttempt(maxMinutes)} end,
       proven_at = case when problem is null then now() else c.proven_at end,
       checked_at = now(), claimed_until = ${released}, last_error = problem
     from compared
     where c.stream = 'calls' and c.from_at = to_timestamp(compared.start)`,
  );
  return unlisted.map(({ call_id }) => call_id);
}

/** Marks the compared hours of calls that were just marked deleted as differing, and due in 15 minutes. */
export async function unproveHours(tx: Transaction, callIds: readonly string[]): Promise<void> {
  await query(
    tx,
    sql`update ops.coverage c set due_at = least(c.due_at, now() + interval '15 minutes'), state = 'differs',
       held_count = greatest(0, c.held_count - gone.calls),
       last_error = gone.calls || ' listed calls were not found by three spaced reads'
     from (
       select date_trunc('hour', coalesce(started_at, to_timestamp(call_epoch)), 'UTC') as start, count(*) as calls
       from warehouse.calls where call_id = any(${callIds}) and deleted_at = now() group by 1
     ) gone
     where c.stream = 'calls' and c.from_at = gone.start and c.state in ('proven', 'differs')`,
  );
}

/** Voids the proofs of the hours that a period touches, and makes the hours due. */
export async function unproveRange(
  tx: Transaction,
  { from, until }: { readonly from: Date; readonly until: Date },
  reason: string,
): Promise<void> {
  await query(
    tx,
    sql`update ops.coverage set state = case when checked_at is null then state else 'differs' end, proven_at = null, due_at = now(),
       attempts = 0, claimed_until = ${released}, last_error = ${reason}
     where stream = 'calls' and to_at > ${from} and from_at <= ${until}`,
  );
}

const areHours = (hours: readonly number[]) =>
  sql`stream = 'calls' and from_at = any(select to_timestamp(h) from unnest(${hours}::bigint[]) h)`;

/**
 * Records that hours couldn't be compared. A proven hour stays proven. The answer of another account isn't an attempt.
 */
export async function failHours(
  db: Database,
  hours: readonly number[],
  { code, message }: ServiceError,
): Promise<void> {
  const isAsked = code !== 'account_unrecognized';
  await query(
    db,
    sql`update ops.coverage c set state = case when state = 'waiting' then 'failed' else state end,
       attempts = attempts + ${isAsked ? 1 : 0}, due_at = ${isAsked ? nextAttempt(sql`60`) : sql`now() + interval '10 seconds'`},
       checked_at = now(), claimed_until = ${released}, last_error = ${message}
     where ${areHours(hours)}`,
  );
}

/** Releases hours that were claimed and not compared. */
export async function releaseHours(db: Database, hours: readonly number[]): Promise<void> {
  await query(db, sql`update ops.coverage set claimed_until = ${released} where ${areHours(hours)}`);
}

/** Counts calls that no webhook announced, by their starts in Unix seconds. Ignores hours that aren't watched. */
export async function countUnannounced(tx: Transaction, starts: readonly number[]): Promise<void> {
  if (starts.length === 0) return;
  await query(
    tx,
    sql`update ops.coverage c set unannounced_count = coalesce(unannounced_count, 0) + found.calls
     from (
       select floor(s / 3600)::bigint * 3600 as start, count(*) as calls from unnest(${starts}::bigint[]) s group by 1
     ) found
     where c.stream = 'calls' and c.is_watched and c.from_at = to_timestamp(found.start)`,
  );
}
