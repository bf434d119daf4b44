import { type MissingTexts, missingTexts } from '../../completeness/gaps/unread-comparisons.ts';
import { type Database, query, relation, sql } from '../../db/database.ts';
import { isRetrying } from '../../inbox/sweep.ts';
import { priorities, type TargetKind, targetKinds, unconfirmed } from '../../inbox/targets.ts';
import { maskKey, maskNumbers } from '../../shared/masking.ts';
import { directory } from '../../warehouse/directory.ts';

/** How fresh the mirror of one kind is. Null until something is mirrored. */
export interface Freshness {
  readonly kind: TargetKind;
  /** The time of its newest row: when a text was sent, a call began, or a list last changed. */
  readonly newestAt: Date | null;
  /** Start of the newest mirrored read. */
  readonly readAt: Date | null;
}

/** How many of the newest rows are read, using the index on their time: whole tables are too large. */
const newestRows = 500;

export function readFreshness(db: Database): Promise<Freshness[]> {
  const lists = Object.entries(directory).map(
    ([kind, { table }]) =>
      sql`union all select ${kind}, max(changed_at), max(fetched_at) from ${sql.table(table.name)}`,
  );
  return query<Freshness>(
    db,
    sql`with c as (
       select * from warehouse.calls where started_at <= now() order by started_at desc limit ${newestRows}
     ), m as (
       select sent_at, fetched_at from warehouse.sms_messages where sent_at <= now() order by sent_at desc limit ${newestRows}
     )
     select 'thread' as kind, max(sent_at) as "newestAt", max(fetched_at) as "readAt" from m
     union all select 'call', max(started_at), max(fetched_at) from c
     union all select 'recordings', max(started_at) filter (where recording_count > 0), max(recordings_fetched_at) from c
     union all select 'transcripts', max(started_at) filter (where transcript_count > 0), max(transcripts_fetched_at) from c
     ${sql.join(lists, sql``)}`,
  );
}

/** The pending reads of one kind. */
export interface Backlog {
  readonly kind: TargetKind;
  /** Reads due now, without reads of history. */
  readonly due: number;
  /** Reads due later: rechecks and retries. */
  readonly later: number;
  /** The part of `later` that failed once or twice and waits for a retry. "Not found" isn't a failure. */
  readonly putOff: number;
  /** The longest of these waits, in seconds from the failed attempt to the next one. */
  readonly longestPutOffSeconds: number | null;
  /** Reads of history. They run after everything else. */
  readonly history: number;
  /** Reads of unconfirmed targets: known only from deliveries, possibly forged. They run after everything else. */
  readonly unconfirmed: number;
  /** The part of all pending reads whose last attempt failed. */
  readonly failing: number;
  /** The part of `failing` with at least three failures in a row. */
  readonly stubborn: number;
  /**
   * Targets that the credential may not read, retried ever less often. Threads only of the account's lines, once these
   * are known.
   */
  readonly forbidden: number;
  /** The counts are lower bounds. */
  readonly isAtLeast: boolean;
  readonly oldestDueSeconds: number | null;
  readonly sampleErrors: readonly string[];
}

/** A kind that waits because the API key may not read it. */
export interface ParkedKind {
  readonly kind: TargetKind;
  readonly since: Date;
  readonly until: Date;
  readonly reason: string;
  readonly missingScope: string | null;
}

/** Maximum number of pending and forbidden targets to count. A longer backlog needs no exact figure. */
const maxCounted = 20_000;

/**
 * Counts pending reads through their index, however many targets there are. Forbidden threads of unknown lines don't
 * count, because a single forged delivery can cause such a refusal.
 */
export async function readBacklog(db: Database): Promise<Backlog[]> {
  const rows = await query<Omit<Backlog, 'sampleErrors'> & { sampleErrors: string[] }>(
    db,
    sql`with pending as (
       select kind, due_at, read_at, attempts, last_error, priority, priority = ${priorities.live} as is_live,
         priority = ${priorities.live} and due_at > now() and ${isRetrying} as is_put_off
       from ops.sync_targets where dirty_version > clean_version order by priority, due_at limit ${maxCounted}
     ), forbidden as (
       select kind from ops.sync_targets where last_error is not null and state = 'forbidden'
         and (kind <> 'thread' or split_part(key, '/', 1) in (select line from warehouse.sms_lines)
           or not exists (select from warehouse.sms_lines))
       limit ${maxCounted}
     )
     select kind, count(*) filter (where is_live and due_at <= now())::int as due,
       count(*) filter (where is_live and due_at > now())::int as later, count(*) filter (where is_put_off)::int as "putOff",
       extract(epoch from max(due_at - read_at) filter (where is_put_off))::float8 as "longestPutOffSeconds",
       count(*) filter (where priority = ${priorities.history})::int as history,
       count(*) filter (where priority >= ${unconfirmed.single})::int as unconfirmed,
       count(*) filter (where attempts > 0)::int as failing, count(*) filter (where attempts > 2)::int as stubborn,
       (select count(*) from forbidden f where f.kind = k.kind)::int as forbidden,
       (select count(*) from pending) >= ${maxCounted} as "isAtLeast",
       extract(epoch from now() - min(due_at) filter (where is_live and due_at <= now()))::float8 as "oldestDueSeconds",
       coalesce((array_agg(distinct last_error) filter (where attempts > 0 or is_put_off))[1:3], '{}') as "sampleErrors"
     from unnest(${targetKinds}::text[]) with ordinality k (kind, at) left join pending p using (kind)
     group by kind, at order by at`,
  );
  return rows.map((row) => ({ ...row, sampleErrors: row.sampleErrors.map(maskNumbers) }));
}

export async function readParked(db: Database): Promise<ParkedKind[]> {
  const rows = await query<ParkedKind>(
    db,
    sql`select kind, parked_at as since, parked_until as until, reason, missing_scope as "missingScope"
     from ops.parked_kinds order by parked_at`,
  );
  return rows.map((row) => ({ ...row, reason: maskNumbers(row.reason) }));
}

/** Counts and targets of deliveries, without their bodies. */
export interface InboxStatus {
  readonly types: readonly TypeCount[];
  /** The counts of the day are lower bounds: only the newest deliveries were counted. */
  readonly isAtLeast: boolean;
  /** Deliveries per minute of the last hour, the oldest minute first. */
  readonly perMinute: readonly number[];
  /** Stored deliveries that couldn't be parsed, and how many of them arrived in the last day. */
  readonly unrecognized: { readonly count: number; readonly lastDay: number; readonly isAtLeast: boolean };
}

export interface TypeCount {
  /** Null if the address had no type. */
  readonly type: string | null;
  readonly lastHour: number;
  readonly lastDay: number;
}

/** How many of the newest deliveries are counted: about a day of a large account. Limits the query during a flood. */
const maxDeliveriesCounted = 50_000;
const maxUnrecognized = 1_000;
const minutes = 60;

export async function readInbox(db: Database): Promise<InboxStatus> {
  // Ids follow arrival, so the primary key limits the scan. The BRIN index on the time can't.
  const counts = await query<{ type: string | null; minute: number; count: number }>(
    db,
    sql`select event_type as type, least(floor(extract(epoch from now() - received_at) / 60), ${minutes})::int as minute,
       count(*)::int as count
     from (select event_type, received_at from ops.deliveries order by delivery_id desc limit ${maxDeliveriesCounted}) d
     where received_at > now() - interval '1 day' group by 1, 2`,
  );
  const [unrecognized] = await query<{ count: number; lastDay: number }>(
    db,
    sql`select count(*)::int as count, count(*) filter (where received_at > now() - interval '1 day')::int as "lastDay"
     from (select received_at from ops.deliveries where not is_recognized order by delivery_id desc limit ${maxUnrecognized}) u`,
  );
  const perMinute = Array.from({ length: minutes }, (_, at) =>
    total(counts.filter(({ minute }) => Math.max(0, minute) === minutes - 1 - at)),
  );
  const types = [...Map.groupBy(counts, ({ type }) => type)].map(([type, of]) => ({
    type,
    lastHour: total(of.filter(({ minute }) => minute < minutes)),
    lastDay: total(of),
  }));
  return {
    types: types.sort((a, b) => b.lastDay - a.lastDay),
    isAtLeast: total(counts) >= maxDeliveriesCounted,
    perMinute,
    unrecognized: {
      count: unrecognized?.count ?? 0,
      lastDay: unrecognized?.lastDay ?? 0,
      isAtLeast: unrecognized?.count === maxUnrecognized,
    },
  };
}

function total(counts: readonly { readonly count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** One hour of call history that is over, as compared with the service. */
export interface ComparedHour {
  readonly begin: Date;
  readonly state: 'waiting' | 'proven' | 'differs' | 'failed';
}

/** Which hours are proven complete, and what is known to be missing. */
export interface Completeness {
  /** The last hours that are over, oldest first. Empty before the first comparison. */
  readonly hours: readonly ComparedHour[];
  /** How many of the last days were never compared with the service, and whether older texts were never searched. */
  readonly uncompared: { readonly days: number; readonly of: number; readonly texts: boolean };
  /** Hours of any age that were compared but aren't proven. */
  readonly unprovenCount: number;
  /** End of the newest proven hour. Null if there is none. */
  readonly provenUntil: Date | null;
  /** The newest reason. */
  readonly difference: string | null;
  /** For the watched hours of the last day: the calls that the service lists, and those that no webhook announced. */
  readonly lastDay: { readonly reported: number; readonly unannounced: number };
  readonly openGapCount: number;
  /** When the first of them was detected. */
  readonly openGapSince: Date | null;
  /** Their lines are masked. */
  readonly lines: readonly MissingTexts[];
  /** Whether the back-fill of the first start is under way. */
  readonly isFillingIn: boolean;
  /** Progress of a back-fill from 0 to 1; null when none is running. */
  readonly backfillShare: number | null;
}

const shownHours = 48;
const judgedDays = 14;

export async function readCompleteness(db: Database): Promise<Completeness> {
  const hours = await query<ComparedHour>(
    db,
    sql`select from_at as begin, state from (
       select from_at, state from ops.coverage where stream = 'calls' and to_at <= now()
       order by from_at desc limit ${shownHours}) c order by 1`,
  );
  const [sums] = await query<
    Pick<
      Completeness,
      'unprovenCount' | 'provenUntil' | 'difference' | 'openGapCount' | 'openGapSince' | 'isFillingIn' | 'backfillShare'
    > &
      Completeness['lastDay'] & { readonly uncomparedDays: number; readonly uncomparedTexts: boolean }
  >(
    db,
    sql`select count(*) filter (where state in ('differs', 'failed'))::int as "unprovenCount",
       max(to_at) filter (where state = 'proven' and to_at <= now()) as "provenUntil",
       (array_agg(last_error order by from_at desc) filter (where state in ('differs', 'failed')))[1] as difference,
       coalesce(sum(reported_count) filter (where is_watched and from_at > now() - interval '1 day'), 0)::int as reported,
       coalesce(sum(least(unannounced_count, reported_count)) filter (where is_watched and reported_count is not null and from_at > now() - interval '1 day'), 0)::int as unannounced,
       (select count(*) from ops.gaps where filled_at is null)::int as "openGapCount",
       (select min(noticed_at) from ops.gaps where filled_at is null) as "openGapSince",
       (select (extract(epoch from done_until - asked_from) / nullif(extract(epoch from asked_to - asked_from), 0))::float8
        from ops.backfills where finished_at is null order by backfill_id desc limit 1) as "backfillShare",
       exists (select from ops.backfills where is_automatic and claimed_until > now() - interval '1 minute' and finished_at is null) as "isFillingIn",
       not exists (select from ops.backfills where stream = 'threads' and finished_at is not null) as "uncomparedTexts",
       (select count(*)::int
        from generate_series(0, ${judgedDays - 1}) n, lateral (select date_trunc('day', now(), 'UTC') - n * interval '1 day' as day) d
        where day + interval '1 hour' <= now() and not exists (
          select from ops.coverage o
          where o.stream = 'calls' and o.from_at >= day and o.from_at < day + interval '1 day' and o.checked_at is not null)
       ) as "uncomparedDays"
     from ops.coverage where stream = 'calls'`,
  );
  if (!sums) throw new Error('An aggregate has no row');
  const { reported, unannounced, uncomparedDays, uncomparedTexts, ...rest } = sums;
  const lines = await missingTexts(db);
  return {
    ...rest,
    hours,
    uncompared: { days: uncomparedDays, of: judgedDays, texts: uncomparedTexts },
    lastDay: { reported, unannounced },
    lines: lines.map((each) => ({ ...each, line: maskKey('line', each.line) })),
  };
}

/** How many rows a table holds. */
export interface RowCount {
  readonly table: string;
  readonly rows: number;
  /** True: counted. False: estimated from Postgres's statistics. */
  readonly isExact: boolean;
}

/** Tables up to this size are counted exactly; that takes milliseconds. */
const countedBytes = 8 * 1024 * 1024;

const countedTables = [
  'warehouse.sms_conversations',
  'warehouse.sms_messages',
  'warehouse.calls',
  'warehouse.call_legs',
  'warehouse.recordings',
  'warehouse.transcripts',
  ...Object.values(directory).map(({ table }) => table.name),
  'ops.deliveries',
  'ops.sync_targets',
];

export async function readRowCounts(db: Database): Promise<RowCount[]> {
  const sizes = await query<{ table: string; bytes: number; estimate: number }>(
    db,
    sql`select t.name as table, pg_relation_size(c.oid)::float8 as bytes,
       greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::float8 as estimate
     from ${relation('t', countedTables, { name: ['text', (table) => table] }, 'at')}
     join pg_class c on c.oid = t.name::regclass order by t.at`,
  );
  const counts: RowCount[] = [];
  for (const { table, bytes, estimate } of sizes) {
    const isExact = bytes <= countedBytes;
    const [counted] = isExact
      ? await query(db, sql<{ rows: number }>`select count(*)::int as rows from ${sql.table(table)}`)
      : [];
    counts.push({ table, rows: counted?.rows ?? Math.round(estimate), isExact });
  }
  return counts;
}
