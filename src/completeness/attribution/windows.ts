import type { RawBuilder } from 'kysely';
import { type Database, query, sql } from '../../db/database.ts';
import type { TimeRange } from '../../shared/time-range.ts';

/*
 * The life of a window in ops.attribution_windows:
 *
 *   hours proven complete ─▶ waiting ─▶ claimed, searched by one name after another ─▶ finished
 *                               ▲                     │
 *                               └── continues later ◀─┘ the round is over, or the service does not answer
 */

export const kinds = ['queue', 'huntgroup', 'user', 'extension'] as const;
export type Kind = (typeof kinds)[number];

/** A range of call history to search by every name of a kind. */
export interface Window extends TimeRange {
  readonly kind: Kind;
  /** The last name searched; null before the first. */
  readonly reached: string | null;
}

/** How many days back windows are planned; fewer for users and extensions, which are many. */
const maxAgeDays = { groups: 366, users: 31 } as const;
const claimEnd = sql`now() + interval '5 minutes'`;
const released = sql`'-infinity'`;
/** A refused kind is parked for 1 hour, then 2, 4, … up to this. */
const maxParkingHours = 24;

/**
 * Plans windows for the hours proven complete since the last call: hours since yesterday for queues and huntgroups, whole days
 * for all else. The service lists some calls late, so an hour counts from its second comparison on, 15 minutes after its end.
 * Resolves to how many windows were added.
 */
export async function planWindows(db: Database): Promise<number> {
  const rows = await query(
    db,
    sql`with proven as (
       select from_at, to_at, date_trunc('day', from_at, 'UTC') as day, coalesce(reported_count, 0) > 0 as has_calls
       from ops.coverage
       where stream = 'calls' and state = 'proven' and proven_at >= to_at + interval '15 minutes'
         and from_at >= date_trunc('day', now(), 'UTC') - ${maxAgeDays.groups}::integer * interval '1 day'
     ), days as (
       select day, day + interval '1 day' as end_at, count(*) filter (where has_calls) as hour_count
       from proven group by day having count(*) = 24 and bool_or(has_calls)
     )
     insert into ops.attribution_windows (kind, from_at, to_at)
     select kind, from_at, to_at from proven cross join unnest(array['queue', 'huntgroup']) kind
     where has_calls and day >= date_trunc('day', now(), 'UTC') - interval '1 day'
     union all
     select groups.kind, day, end_at from days cross join unnest(array['queue', 'huntgroup']) groups (kind)
     where day < date_trunc('day', now(), 'UTC') - interval '1 day'
       and (select count(*) from ops.attribution_windows w where w.kind = groups.kind and w.from_at >= day and w.from_at < end_at) < hour_count
     union all
     select kind, day, end_at from days cross join unnest(array['user', 'extension']) kind
     where day >= date_trunc('day', now(), 'UTC') - ${maxAgeDays.users}::integer * interval '1 day'
     on conflict do nothing returning 1`,
  );
  return rows.length;
}

/** Claims the newest due window for some minutes. */
export async function claimWindow(db: Database): Promise<Window | undefined> {
  const [window] = await query(
    db,
    sql<Window>`with due as (
       select kind, from_at, to_at from ops.attribution_windows w
       where finished_at is null and due_at <= now() and claimed_until <= now()
         and not exists (select from ops.attribution_parking p where p.kind = w.kind and p.parked_until > now())
       order by from_at desc, kind limit 1 for update skip locked
     )
     update ops.attribution_windows w set claimed_until = ${claimEnd} from due
     where (w.kind, w.from_at, w.to_at) = (due.kind, due.from_at, due.to_at)
     returning w.kind, extract(epoch from w.from_at)::integer as from, extract(epoch from w.to_at)::integer as to, w.reached`,
  );
  return window;
}

async function update(db: Database, { kind, from, to }: Window, changes: RawBuilder<unknown>): Promise<void> {
  await query(
    db,
    sql`update ops.attribution_windows set ${changes}
     where kind = ${kind} and from_at = to_timestamp(${from}) and to_at = to_timestamp(${to})`,
  );
}

/** Records the last name searched, and extends the claim. */
export function recordProgress(
  db: Database,
  window: Window,
  { reached, searched, attributed }: { reached: string; searched: number; attributed: number },
): Promise<void> {
  const changes = sql`reached = ${reached}, searched_count = searched_count + ${searched},
    attributed_count = attributed_count + ${attributed}, attempts = 0, claimed_until = ${claimEnd}`;
  return update(db, window, changes);
}

/** Records that every name was searched; `remark` is the first failure, if any. */
export function finishWindow(db: Database, window: Window, remark?: string): Promise<void> {
  return update(db, window, sql`finished_at = now(), claimed_until = ${released}, last_error = ${remark ?? null}`);
}

/** Releases a window whose search is not finished. */
export function releaseWindow(db: Database, window: Window): Promise<void> {
  return update(db, window, sql`claimed_until = ${released}`);
}

/** Releases a window whose search failed: it is retried after 1 minute, then 2, 4, … up to an hour. */
export function postponeWindow(db: Database, window: Window, reason: string): Promise<void> {
  const due = sql`now() + least(60, power(2, least(attempts, 6))) * interval '1 minute'`;
  const changes = sql`attempts = attempts + 1, last_error = ${reason}, claimed_until = ${released}, due_at = ${due}`;
  return update(db, window, changes);
}

/** Parks all windows of a kind; other kinds continue. */
export async function parkKind(db: Database, kind: Kind, reason: string): Promise<void> {
  await query(
    db,
    sql`insert into ops.attribution_parking as p (kind, parked_until, reason)
     values (${kind}, now() + interval '1 hour', ${reason})
     on conflict (kind) do update set times_parked = p.times_parked + 1, reason = excluded.reason,
       parked_until = now() + least(${sql.lit(maxParkingHours)}, power(2, least(p.times_parked, 10))) * interval '1 hour'`,
  );
}

export async function unparkKind(db: Database, kind: Kind): Promise<void> {
  await query(db, sql`delete from ops.attribution_parking where kind = ${kind}`);
}
