import { type Database, query, type Transaction } from '../../db/database.ts';
import type { Span } from '../../shared/span.ts';

/*
 * The life of an hour in ops.coverage:
 *
 *   planned: waiting ──▶ due, claimed ──▶ listed ──▶ proven ──▶ due again for late changes, then never
 *                             ▲              ├────▶ differs ─┐
 *                             └──────────────┴────▶ failed ──┘ due again, later each time
 */

const hour = 3_600;

/** The begin of the hour, UTC, of a moment in Unix seconds. */
export function hourOf(seconds: number): number {
  return Math.floor(seconds / hour) * hour;
}

/** The begins of all hours that a span touches. */
export function hoursOf({ from, to }: Span): number[] {
  const first = hourOf(from);
  return Array.from({ length: Math.max(0, Math.ceil((to - first) / hour)) }, (_, at) => first + at * hour);
}

/** Joins neighbouring hours into spans of at most `max` hours, in ascending order. */
export function joinHours(hours: readonly number[], max: number): Span[] {
  const spans: { from: number; to: number }[] = [];
  for (const begin of [...hours].sort((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last && last.to === begin && last.to - last.from < max * hour) last.to += hour;
    else spans.push({ from: begin, to: begin + hour });
  }
  return spans;
}

/** Seconds after its end at which an hour is compared. Calls enter the history at their end, and some fields change late. */
const passes = [120, 900, 86_400, 604_800] as const;
/** How many hours before the first start are planned. */
const firstLookBack = 24;
/** How long a process holds the hours that it claimed. */
const claimMinutes = 5;

/** When the next pass after a comparison is due; never after the last. */
const nextPass = `(
  select coalesce(min(p.at), 'infinity') from (select c.to_at + p * interval '1 second' as at from unnest(array[${passes}]) p) p
  where p.at > now())`;
/** A comparison that proved nothing is repeated after 1 minute, then 2, 4, … up to `max`. */
const nextTry = (max: number | string) =>
  `now() + least(${max}, power(2, least(c.attempts, 11))) * interval '1 minute'`;
const anHour = 60;
/** The longest wait for an hour that differs: an hour, or a day if it differs for the same reason again. */
const anHourOrADay = `case when c.state = 'differs' and c.last_error = doubt then 1440 else ${anHour} end`;

/**
 * Adds the hours since the last planned one, so that a downtime is planned at the next start. The first start plans a day
 * back, and the current hour as a gap. Any number of processes may plan.
 */
export async function planHours(db: Database): Promise<void> {
  await query(
    db,
    `with present as (
       select date_trunc('hour', now(), 'UTC') as hour, not exists (
         select from ops.coverage where stream = 'calls' and is_watched) as is_first
     ), running as (
       insert into ops.gaps (stream, from_at, to_at, reason)
       select 'calls', hour, now(), 'nothing looked before the first start' from present where is_first
     )
     insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
     select 'calls', h, h + interval '1 hour', is_watched, h + interval '1 hour' + $1 * interval '1 second'
     from (
       select generate_series(coalesce(max(to_at), date_trunc('hour', now(), 'UTC')), now(), '1 hour') as h, true as is_watched
       from ops.coverage where stream = 'calls' and is_watched
       union all
       select generate_series(hour - $2 * interval '1 hour', now() - interval '1 hour', '1 hour'), false
       from present where is_first
     ) planned
     on conflict do nothing`,
    [passes[0], firstLookBack],
  );
}

export interface DueHour {
  /** Unix seconds. */
  readonly begin: number;
  readonly isWatched: boolean;
  /** Comparisons in a row that proved nothing. */
  readonly attempts: number;
}

/** Claims up to `max` due hours, oldest first. */
export async function claimHours(db: Database, max: number): Promise<DueHour[]> {
  return query<DueHour>(
    db,
    `with due as (
       select stream, from_at from ops.coverage
       where stream = 'calls' and due_at <= now() and claimed_until <= now() and to_at <= now()
       order by from_at limit $1 for update skip locked
     )
     update ops.coverage c set claimed_until = now() + interval '${claimMinutes} minutes' from due
     where c.stream = due.stream and c.from_at = due.from_at
     returning extract(epoch from c.from_at)::integer as begin, c.is_watched as "isWatched", c.attempts`,
    [max],
  );
}

/** Makes the closed hours that a span touches due now, planned or not. Resolves to how many. */
export async function askForHours(db: Database, span: Span): Promise<number> {
  const rows = await query(
    db,
    `insert into ops.coverage as c (stream, from_at, to_at, is_watched, due_at)
     select 'calls', h, h + interval '1 hour', false, now()
     from generate_series(date_trunc('hour', to_timestamp($1), 'UTC'), least(to_timestamp($2), now()) - interval '1 second', '1 hour') h
     where h + interval '1 hour' <= now()
     on conflict (stream, from_at) do update set due_at = now(), claimed_until = '-infinity'
     returning 1`,
    [span.from, span.to],
  );
  return rows.length;
}

/**
 * Makes the hours due again whose last comparison proved nothing, newest first and one a second: each is compared alone, and
 * today's must not wait for a long history. Hours that another process is recording are skipped.
 */
export async function retryHours(db: Database, afterSeconds: number): Promise<number> {
  const rows = await query(
    db,
    `with unproven as (
       select stream, from_at from ops.coverage where attempts > 0 and due_at > now() + $1 * interval '1 second'
       for update skip locked
     ), placed as (
       select stream, from_at, now() + ($1 + row_number() over (order by from_at desc) - 1) * interval '1 second' as at
       from unproven
     )
     update ops.coverage c set due_at = least(c.due_at, placed.at) from placed
     where c.stream = placed.stream and c.from_at = placed.from_at returning 1`,
    [afterSeconds],
  );
  return rows.length;
}

/** How many hours of a span were compared and not proven complete. */
export function countUnproven(db: Database, span: Span): Promise<number> {
  return countHours(db, span, `state = 'differs'`);
}

/** How many hours of a span could not be compared at the last attempt. */
export function countFailed(db: Database, span: Span): Promise<number> {
  return countHours(db, span, `state <> 'differs' and last_error is not null`);
}

/** How many hours of a span wait for a comparison, or are being compared. */
export function countDue(db: Database, span: Span): Promise<number> {
  return countHours(db, span, 'due_at <= now() and to_at <= now()');
}

async function countHours(db: Database, span: Span, condition: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    `select count(*)::integer as count from ops.coverage
     where stream = 'calls' and to_at > to_timestamp($1) and from_at < to_timestamp($2) and ${condition}`,
    [span.from, span.to],
  );
  return row?.count ?? 0;
}

/** A listing; `calls` are ids with their start in Unix seconds. */
export interface Compared {
  readonly hours: readonly number[];
  readonly calls: ReadonlyMap<string, number>;
  readonly doubt: string | undefined;
}

/**
 * Records a comparison. Call it after the listed calls are mirrored. Resolves to the held calls that the service no longer
 * lists: this is a reason to read them, but does not prove a deletion.
 */
export async function recordHours(tx: Transaction, { hours, calls, doubt }: Compared): Promise<string[]> {
  const unlisted = await query<{ call_id: string; begin: number }>(
    tx,
    `with span as (select to_timestamp(min(h)) as first, to_timestamp(max(h)) + interval '1 hour' as last from unnest($1::bigint[]) h)
     select call_id, extract(epoch from date_trunc('hour', coalesce(started_at, to_timestamp(call_epoch)), 'UTC'))::integer as begin
     from warehouse.calls, span
     where deleted_at is null and (started_at >= first and started_at < last
         or started_at is null and to_timestamp(call_epoch) >= first and to_timestamp(call_epoch) < last)
       and not (call_id = any($2))`,
    [hours, [...calls.keys()]],
  );
  // Another process may have marked one deleted since it was listed.
  const unheld = await query<{ call_id: string }>(
    tx,
    `select l.call_id from unnest($1::text[]) as l (call_id)
       left join warehouse.calls c on c.call_id = l.call_id and c.deleted_at is null
     where c.call_id is null`,
    [[...calls.keys()]],
  );
  // A back-fill compares hours that were never planned.
  await query(
    tx,
    `insert into ops.coverage (stream, from_at, to_at, is_watched, due_at)
     select 'calls', to_timestamp(h), to_timestamp(h) + interval '1 hour', false, now() from unnest($1::bigint[]) h
     on conflict (stream, from_at) do nothing`,
    [hours],
  );
  await query(
    tx,
    `with listed as (select floor(s / 3600)::bigint * 3600 as begin, count(*) as calls from unnest($2::bigint[]) s group by 1),
     unlisted as (select u as begin, count(*) as calls from unnest($3::bigint[]) u group by 1),
     unheld as (select floor(s / 3600)::bigint * 3600 as begin, count(*) as calls from unnest($5::bigint[]) s group by 1),
     compared as (
       select h as begin, coalesce(l.calls, 0) as reported, coalesce(l.calls, 0) + coalesce(u.calls, 0) - coalesce(n.calls, 0) as held,
         coalesce($4::text,
           case when u.calls > 0 then u.calls || ' held calls are no longer listed; they are read one by one' end,
           case when n.calls > 0 then n.calls || ' listed calls are not held' end) as doubt
       from unnest($1::bigint[]) h left join listed l on l.begin = h left join unlisted u on u.begin = h
         left join unheld n on n.begin = h
     )
     update ops.coverage c set
       reported_count = compared.reported, held_count = compared.held,
       state = case when doubt is null then 'proven' else 'differs' end,
       attempts = case when doubt is null then 0 else c.attempts + 1 end,
       due_at = case when doubt is null then ${nextPass} else ${nextTry(anHourOrADay)} end,
       proven_at = case when doubt is null then now() else c.proven_at end,
       checked_at = now(), claimed_until = '-infinity', last_error = doubt
     from compared
     where c.stream = 'calls' and c.from_at = to_timestamp(compared.begin)`,
    [
      hours,
      [...calls.values()],
      unlisted.map(({ begin }) => begin),
      doubt ?? null,
      unheld.map(({ call_id }) => calls.get(call_id)),
    ],
  );
  return unlisted.map(({ call_id }) => call_id);
}

/** Makes the proven hours of calls that were just marked deleted unproven, and due again in 15 minutes. */
export async function unproveHours(tx: Transaction, callIds: readonly string[]): Promise<void> {
  await query(
    tx,
    `update ops.coverage c set due_at = least(c.due_at, now() + interval '15 minutes'), state = 'differs',
       held_count = greatest(0, c.held_count - gone.calls), last_error = gone.calls || ' listed calls were not found by three spaced reads'
     from (
       select date_trunc('hour', coalesce(started_at, to_timestamp(call_epoch)), 'UTC') as begin, count(*) as calls
       from warehouse.calls where call_id = any($1) and deleted_at = now() group by 1
     ) gone
     where c.stream = 'calls' and c.from_at = gone.begin and c.state = 'proven'`,
    [callIds],
  );
}

/** Records that hours could not be compared. A proven hour stays proven. */
export async function failHours(db: Database, hours: readonly number[], reason: string): Promise<void> {
  await query(
    db,
    `update ops.coverage c set state = case when state = 'waiting' then 'failed' else state end,
       attempts = attempts + 1, due_at = ${nextTry(anHour)}, checked_at = now(), claimed_until = '-infinity', last_error = $2
     where stream = 'calls' and from_at = any(select to_timestamp(h) from unnest($1::bigint[]) h)`,
    [hours, reason],
  );
}

/** Releases hours that were claimed and not compared. */
export async function releaseHours(db: Database, hours: readonly number[]): Promise<void> {
  await query(
    db,
    `update ops.coverage set claimed_until = '-infinity'
     where stream = 'calls' and from_at = any(select to_timestamp(h) from unnest($1::bigint[]) h)`,
    [hours],
  );
}

/** Counts calls of watched hours that no webhook had announced. `seconds` are their begins. */
export async function countUnannounced(tx: Transaction, seconds: readonly number[]): Promise<void> {
  if (seconds.length === 0) return;
  await query(
    tx,
    `update ops.coverage c set unannounced_count = coalesce(unannounced_count, 0) + found.calls
     from (select floor(s / 3600)::bigint * 3600 as begin, count(*) as calls from unnest($1::bigint[]) s group by 1) found
     where c.stream = 'calls' and c.is_watched and c.from_at = to_timestamp(found.begin)`,
    [seconds],
  );
}
