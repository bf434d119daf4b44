import { type Database, query, type Transaction } from '../../warehouse/database.ts';
import type { Span } from './spans.ts';

/*
 * The life of an hour in ops.coverage:
 *
 *   planned: waiting ──▶ due, claimed ──▶ listed ──▶ proven ──▶ due again for late changes, then never
 *                             ▲              ├────▶ differs ─┐
 *                             └──────────────┴────▶ failed ──┘ due again, later each time
 */

/** Seconds after its end at which an hour is compared: calls enter the history at their end, and some fields change late. */
const passes = [120, 900, 86_400, 604_800] as const;
/** How far back the first start looks, in hours. */
const firstLookBack = 24;
/** A process that compares hours has them for itself so long. */
const claimMinutes = 5;

/** The next pass after a comparison that began now, or never. */
const nextPass = `(
  select coalesce(min(p.at), 'infinity') from (select c.to_at + p * interval '1 second' as at from unnest(array[${passes}]) p) p
  where p.at > now())`;
/** A comparison that proved nothing is made again after one minute, then two, four, … up to so many. */
const nextTry = (most: number | string) =>
  `now() + least(${most}, power(2, least(c.attempts, 11))) * interval '1 minute'`;
const anHour = 60;
/** What differs in the same way from hour to hour is hardly mended by another look. */
const anHourOrADay = `case when c.state = 'differs' and c.last_error = doubt then 1440 else ${anHour} end`;

/**
 * Adds the hours since the last planned one, so that a downtime is planned at the next start; the first start looks back
 * a day, and at the hour that is not over as at a gap. Any number of processes may plan.
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

/** An hour to compare. */
export interface DueHour {
  /** Unix seconds. */
  readonly begin: number;
  readonly isWatched: boolean;
  /** Comparisons in a row that proved nothing. */
  readonly attempts: number;
}

/** Takes up to so many due hours, oldest first; nobody else gets them for some minutes. */
export async function claimHours(db: Database, most: number): Promise<DueHour[]> {
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
    [most],
  );
}

/** Makes the closed hours that a span touches be compared at once, whether or not they were planned. */
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
 * Has the hours compared again whose last comparison proved nothing, newest first and one a second: each goes alone, and
 * those of today must not wait for a long history. Hours that somebody is recording are left to that.
 */
export async function retryHours(db: Database, afterSeconds: number): Promise<number> {
  const rows = await query(
    db,
    `with unproven as (
       select stream, from_at from ops.coverage where attempts > 0 and due_at > now() + $1 * interval '1 second'
       for update skip locked
     ), placed as (
       select stream, from_at, now() + ($1 + row_number() over (order by from_at desc) - 1) * interval '1 second' as turn
       from unproven
     )
     update ops.coverage c set due_at = least(c.due_at, placed.turn) from placed
     where c.stream = placed.stream and c.from_at = placed.from_at returning 1`,
    [afterSeconds],
  );
  return rows.length;
}

/** How many hours that a span touches were compared, and could not be proven complete. */
export function countUnproven(db: Database, span: Span): Promise<number> {
  return countHours(db, span, `state = 'differs'`);
}

/** How many hours that a span touches could not be compared when that was last tried, by whomever. */
export function countFailed(db: Database, span: Span): Promise<number> {
  return countHours(db, span, `state <> 'differs' and last_error is not null`);
}

/** How many hours that a span touches wait for a comparison, or are in one: whoever took them, they are due until it is through. */
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

/** What a listing showed, by the second that each call began in. */
export interface Compared {
  readonly hours: readonly number[];
  readonly calls: ReadonlyMap<string, number>;
  readonly doubt: string | undefined;
}

/**
 * Records a comparison whose calls are mirrored, and answers with the calls that are held and that the service no longer
 * lists: a reason to read them, no proof that they are gone.
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
  // Another process may have marked one gone since it was listed.
  const unheld = await query<{ call_id: string }>(
    tx,
    `select l.call_id from unnest($1::text[]) as l (call_id)
       left join warehouse.calls c on c.call_id = l.call_id and c.deleted_at is null
     where c.call_id is null`,
    [[...calls.keys()]],
  );
  // History that is compared for the first time was never planned.
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

/** Calls that were marked gone leave their hours one short: they are compared again, soon. */
export async function doubtHoursOf(tx: Transaction, callIds: readonly string[]): Promise<void> {
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

/** Records that hours could not be compared. What was proven before stays so. */
export async function failHours(db: Database, hours: readonly number[], reason: string): Promise<void> {
  await query(
    db,
    `update ops.coverage c set state = case when state = 'waiting' then 'failed' else state end,
       attempts = attempts + 1, due_at = ${nextTry(anHour)}, checked_at = now(), claimed_until = '-infinity', last_error = $2
     where stream = 'calls' and from_at = any(select to_timestamp(h) from unnest($1::bigint[]) h)`,
    [hours, reason],
  );
}

/** Gives hours back that were claimed and not compared. */
export async function releaseHours(db: Database, hours: readonly number[]): Promise<void> {
  await query(
    db,
    `update ops.coverage set claimed_until = '-infinity'
     where stream = 'calls' and from_at = any(select to_timestamp(h) from unnest($1::bigint[]) h)`,
    [hours],
  );
}

/** Counts calls of watched hours that a comparison found and no webhook had announced. */
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
