import { type QueueName, queueNames } from '../../config/queues.ts';
import { missingTexts } from '../completeness/gaps/unread-comparisons.ts';
import { query, sql } from '../db/database.ts';
import { priorities, type TargetKind, targetKinds, unconfirmed } from '../inbox/targets.ts';
import { summarizeSends } from '../ledger/control.ts';
import { readProcesses } from '../processes/running.ts';
import { ago, countOf } from '../shared/format.ts';
import { maskKey } from '../shared/masking.ts';
import { readRelease } from '../shared/release.ts';
import { directory, isDirectory } from '../warehouse/directory.ts';
import type { Level, Seen } from './check.ts';
import { type Asked, askAll, known } from './checks.ts';
import { isFillingIn, maxCounted, pending } from './mirror.ts';

/** What the status page, `status` and /metrics show. Phone numbers are masked, and there are no message bodies. */
export type Overview = Awaited<ReturnType<typeof takeOverview>>;

/** Asks everything, without reading a large table completely. Only rejects with `DatabaseUnavailable`. */
export async function takeOverview(context: Asked) {
  const { version: release, commit } = readRelease();
  const waitingIn = async (name: QueueName) => [name, await context.queues.waiting(name).catch(() => null)] as const;
  const { takenAt, answers, findings } = await askAll(context, {
    ...{ schema, freshness, backlog, completeness, inbox, holdings },
    sends: ({ db }: Seen) => summarizeSends(db),
    processes: ({ db }: Seen) => readProcesses(db),
    async queues(seen: Seen) {
      const health = await seen.queues;
      const waiting = health.isReachable ? await Promise.all(queueNames.map(waitingIn)) : [];
      return { ...health, waiting: Object.fromEntries(waiting) as Partial<Record<QueueName, number | null>> };
    },
  });
  return { ...answers, findings, takenAt, release, commit, uptimeSeconds: Math.round(process.uptime()) };
}

/** The overall state in one sentence: the most severe finding, or that all is well. */
export function verdictOf(overview: Overview): { readonly level: Level | 'ok'; readonly sentence: string } {
  const [worst] = overview.findings;
  if (worst && worst.level !== 'notice') return { level: worst.level, sentence: worst.sentence };
  return { level: 'ok', sentence: healthySentence(overview) };
}

/** The JSON of `/api/status` and `trunkline status --json`. */
export function statusJson({ findings, ...shown }: Overview): object {
  return { verdict: verdictOf({ findings, ...shown }), concerns: findings, ...shown };
}

/** Seconds for which unread counts may differ while a text is being mirrored. */
const unreadGraceMs = 60_000;

/** Only claims what is proven: webhooks announce new data, but only a comparison proves that nothing is missing. */
function healthySentence({ backlog, completeness, findings, freshness, takenAt }: Overview): string {
  const newest = known(freshness, [])
    .filter(({ kind, newestAt }) => (kind === 'thread' || kind === 'call') && newestAt !== null)
    .sort((a, b) => Number(b.newestAt) - Number(a.newestAt))[0];
  if (!newest?.newestAt) {
    const announced = known(backlog, []).filter(({ kind }) => !isDirectory(kind));
    const first = announced.reduce((sum, each) => sum + each.due, 0);
    return `Everything is ready; ${first === 0 ? 'nothing has arrived yet' : `${countOf(first, 'read')} in progress`}.`;
  }
  const compared = known(completeness);
  const isProven =
    compared !== undefined &&
    !compared.isFillingIn &&
    !findings.some(({ check }) => check === 'calls_unproven') &&
    !compared.lines.some(({ state, since }) => state === 'behind' && Number(takenAt) - Number(since) > unreadGraceMs);
  const reads = known(backlog, []).reduce((sum, each) => sum + each.due + each.putOff, 0);
  const rest = reads === 0 ? '' : `, except ${countOf(reads, 'read')} in progress`;
  const arrived = newest.kind === 'thread' ? 'the newest text arrived' : 'the newest call began';
  return `Everything ${isProven ? '' : 'that was announced '}is mirrored${rest}; ${arrived} ${ago(newest.newestAt, takenAt)}.`;
}

/** How many of the newest rows are read, using the index on their time: whole tables are too large. */
const newestRows = 500;

/**
 * The time of the newest row of each kind (when a text was sent, a call began, or a list last changed), and of its
 * newest read.
 */
function freshness({ db }: Seen) {
  const lists = Object.entries(directory).map(
    ([kind, { table }]) =>
      sql`union all select ${kind}, max(changed_at), max(fetched_at) from ${sql.table(table.name)}`,
  );
  return query(
    db,
    sql<{ kind: TargetKind; newestAt: Date | null; readAt: Date | null }>`with c as (
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
  /** Reads of history. They run after everything else. */
  readonly history: number;
  /** Reads of unconfirmed targets: known only from deliveries, possibly forged. They run after everything else. */
  readonly unconfirmed: number;
  /** The part of all pending reads whose last attempt failed. */
  readonly failing: number;
  /** They wait for another API key or for this scope. */
  readonly isParked: boolean;
  readonly missingScope: string | null;
  /** The counts are lower bounds. */
  readonly isAtLeast: boolean;
  readonly oldestDueSeconds: number | null;
}

function backlog({ db }: Seen) {
  return query(
    db,
    sql<Backlog>`with pending as (
       select *, priority = ${priorities.live} and due_at <= now() as is_due from ${pending} p
     )
     select kind, count(*) filter (where is_due)::int as due,
       count(*) filter (where priority = ${priorities.live} and not is_due)::int as later,
       count(*) filter (where is_put_off)::int as "putOff",
       count(*) filter (where priority = ${priorities.history})::int as history,
       count(*) filter (where priority >= ${unconfirmed.single})::int as unconfirmed,
       count(*) filter (where attempts > 0)::int as failing,
       bool_or(k.parked_at is not null) as "isParked", max(k.missing_scope) as "missingScope",
       (select count(*) from pending) >= ${maxCounted} as "isAtLeast",
       extract(epoch from now() - min(due_at) filter (where is_due))::float8 as "oldestDueSeconds"
     from unnest(${targetKinds}::text[]) with ordinality t (kind, at)
       left join ops.parked_kinds k using (kind) left join pending p using (kind)
     group by kind, at order by at`,
  );
}

/** How many of the newest deliveries are counted: about a day of a large account. Limits the query during a flood. */
const maxDeliveries = 50_000;

/** Counts deliveries. `isAtLeast`: the counts are lower bounds. Ids follow arrival, so the primary key limits the scan. */
async function inbox({ db }: Seen) {
  const types = await query(
    db,
    sql<{ type: string | null; lastHour: number; lastDay: number }>`
      select event_type as type, count(*) filter (where received_at > now() - interval '1 hour')::int as "lastHour", count(*)::int as "lastDay"
      from (select * from ops.deliveries order by delivery_id desc limit ${maxDeliveries}) d
      where received_at > now() - interval '1 day' group by 1 order by 3 desc, 1`,
  );
  return { types, isAtLeast: types.reduce((sum, { lastDay }) => sum + lastDay, 0) >= maxDeliveries };
}

interface Compared {
  /** Of the last hours that are over. */
  readonly hours: { readonly all: number; readonly proven: number };
  /** For the watched hours of the last day: the calls that the service lists, and those that no webhook announced. */
  readonly lastDay: { readonly reported: number; readonly unannounced: number };
  /** Whether the back-fill of the first start is to come or under way. */
  readonly isFillingIn: boolean;
  /** Progress of a back-fill from 0 to 1; null when none is running. */
  readonly backfillShare: number | null;
}

const shownHours = 48;

/** What is proven of call history, and what is known to be missing; of texts by (masked) line. */
async function completeness(seen: Seen) {
  const { db } = seen;
  const [compared] = await query(
    db,
    sql<Compared>`
      select (select json_build_object('all', count(*), 'proven', count(*) filter (where state = 'proven')) from (
          select state from ops.coverage where stream = 'calls' and to_at <= now() order by from_at desc limit ${shownHours}) h) as hours,
        json_build_object('reported', coalesce(sum(reported_count), 0),
          'unannounced', coalesce(sum(least(unannounced_count, reported_count)), 0)) as "lastDay",
        (select (extract(epoch from done_until - asked_from) / nullif(extract(epoch from asked_to - asked_from), 0))::float8
         from ops.backfills where finished_at is null order by backfill_id desc limit 1) as "backfillShare",
        ${isFillingIn(seen)} as "isFillingIn"
      from ops.coverage where stream = 'calls' and is_watched and reported_count is not null and from_at > now() - interval '1 day'`,
  );
  if (!compared) throw new Error('An aggregate has no row');
  const lines = (await missingTexts(db)).map((each) => ({ ...each, line: maskKey('line', each.line) }));
  return { ...compared, lines };
}

/**
 * Tables up to this size are counted exactly, which takes milliseconds. Others are estimated from Postgres's
 * statistics.
 */
const countedBytes = 8 * 1024 * 1024;

const countedTables = [
  ...['warehouse.sms_conversations', 'warehouse.sms_messages', 'warehouse.calls', 'warehouse.call_legs'],
  ...['warehouse.recordings', 'warehouse.transcripts', ...Object.values(directory).map(({ table }) => table.name)],
  ...['ops.deliveries', 'ops.sync_targets'],
];

/** How many rows the tables hold. */
function holdings({ db }: Seen) {
  const each = countedTables.map(
    (table) => sql`
      select ${table} as table, case when is_small then (select count(*) from ${sql.table(table)})
        else greatest(reltuples, pg_stat_get_live_tuples(oid), 0) end::float8 as rows, is_small as "isExact"
      from pg_class cross join lateral (select pg_relation_size(oid) <= ${countedBytes} as is_small) s
      where oid = ${table}::regclass`,
  );
  return query(db, sql<{ table: string; rows: number; isExact: boolean }>`${sql.join(each, sql` union all `)}`);
}

/** The newest migration, null without any, and the version of the server. */
async function schema({ db }: Seen) {
  const [row] = await query(
    db,
    sql<{ newestMigration: string | null; postgres: string }>`
      select max(name) as "newestMigration", current_setting('server_version') as postgres from ops.migrations`,
  );
  return row ?? { newestMigration: null, postgres: '' };
}
