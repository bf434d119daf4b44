import type { RawBuilder } from 'kysely';
import { type QueueName, queueNames } from '../../config/queues.ts';
import { missingTexts } from '../completeness/gaps/unread-comparisons.ts';
import { query, relation, sql } from '../db/database.ts';
import { priorities, type TargetKind, targetKinds, unconfirmed } from '../inbox/targets.ts';
import { summarizeSends } from '../ledger/control.ts';
import type { SendState } from '../ledger/states.ts';
import { readProcesses } from '../processes/running.ts';
import { ago, countOf } from '../shared/format.ts';
import { maskKey, maskNumbers } from '../shared/masking.ts';
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
    ...{ schema, freshness, backlog, parked, completeness, inbox, holdings, sends, alerts },
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
       (select count(*) from pending) >= ${maxCounted} as "isAtLeast",
       extract(epoch from now() - min(due_at) filter (where is_due))::float8 as "oldestDueSeconds"
     from unnest(${targetKinds}::text[]) with ordinality k (kind, at) left join pending p using (kind)
     group by kind, at order by at`,
  );
}

/** The kinds that wait because the API key may not read them. */
async function parked({ db }: Seen) {
  const rows = await query(
    db,
    sql<{ kind: TargetKind; since: Date; until: Date; reason: string; missingScope: string | null }>`
      select kind, parked_at as since, parked_until as until, reason, missing_scope as "missingScope"
      from ops.parked_kinds order by parked_at`,
  );
  return rows.map((row) => ({ ...row, reason: maskNumbers(row.reason) }));
}

/** How many of the newest deliveries are counted: about a day of a large account. Limits the query during a flood. */
const maxDeliveries = 50_000;
const maxUnrecognized = 1_000;

/** Counts deliveries, and those that couldn't be parsed. `isAtLeast`: the counts are lower bounds. */
async function inbox({ db }: Seen) {
  // Ids follow arrival, so the primary key limits the scan. The BRIN index on the time can't.
  const newest = (condition: RawBuilder<unknown>, most: number) => sql`(
    select event_type, received_at, received_at > now() - interval '1 day' as is_of_day
    from ops.deliveries where ${condition} order by delivery_id desc limit ${most})`;
  const types = await query(
    db,
    sql<{ type: string | null; lastHour: number; lastDay: number }>`
      select event_type as type, count(*) filter (where received_at > now() - interval '1 hour')::int as "lastHour", count(*)::int as "lastDay"
      from ${newest(sql`true`, maxDeliveries)} d where is_of_day group by 1 order by 3 desc, 1`,
  );
  const [unrecognized = { count: 0, lastDay: 0, isAtLeast: false }] = await query(
    db,
    sql<{ count: number; lastDay: number; isAtLeast: boolean }>`
      select count(*)::int as count, count(*) filter (where is_of_day)::int as "lastDay", count(*) = ${maxUnrecognized} as "isAtLeast"
      from ${newest(sql`not is_recognized`, maxUnrecognized)} d`,
  );
  return { types, isAtLeast: types.reduce((sum, { lastDay }) => sum + lastDay, 0) >= maxDeliveries, unrecognized };
}

interface Compared {
  /** For the watched hours of the last day: the calls that the service lists, and those that no webhook announced. */
  readonly lastDay: { readonly reported: number; readonly unannounced: number };
  readonly openGapCount: number;
  /** The back-fill of the first start isn't done. */
  readonly isFillingIn: boolean;
  /** Progress of a back-fill from 0 to 1; null when none is running. */
  readonly backfillShare: number | null;
}

const shownHours = 48;

/** The last hours that are over, oldest first, and what is known to be missing; of texts by (masked) line. */
async function completeness({ db, settings }: Seen) {
  const hours = await query(
    db,
    sql<{ begin: Date; state: 'waiting' | 'proven' | 'differs' | 'failed' }>`
      select from_at as begin, state from (
        select from_at, state from ops.coverage where stream = 'calls' and to_at <= now()
        order by from_at desc limit ${shownHours}) c order by 1`,
  );
  const [compared] = await query(
    db,
    sql<Compared>`
      select json_build_object('reported', coalesce(sum(reported_count), 0),
          'unannounced', coalesce(sum(least(unannounced_count, reported_count)), 0)) as "lastDay",
        (select count(*)::int from ops.gaps where filled_at is null) as "openGapCount",
        (select (extract(epoch from done_until - asked_from) / nullif(extract(epoch from asked_to - asked_from), 0))::float8
         from ops.backfills where finished_at is null order by backfill_id desc limit 1) as "backfillShare",
        ${isFillingIn(settings)} as "isFillingIn"
      from ops.coverage where stream = 'calls' and is_watched and reported_count is not null and from_at > now() - interval '1 day'`,
  );
  if (!compared) throw new Error('An aggregate has no row');
  const lines = (await missingTexts(db)).map((each) => ({ ...each, line: maskKey('line', each.line) }));
  return { ...compared, hours, lines };
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
async function holdings({ db }: Seen) {
  const sizes = await query(
    db,
    sql<{ table: string; rows: number; isExact: boolean }>`
      select t.name as table, greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::float8 as rows,
        pg_relation_size(c.oid) <= ${countedBytes} as "isExact"
      from ${relation('t', countedTables, { name: ['text', (table) => table] }, 'at')}
      join pg_class c on c.oid = t.name::regclass order by t.at`,
  );
  const small = sizes
    .filter(({ isExact }) => isExact)
    .map(({ table }) => sql`select ${table} as "table", count(*)::int as rows from ${sql.table(table)}`);
  const counted =
    small.length === 0
      ? []
      : await query(db, sql<{ table: string; rows: number }>`${sql.join(small, sql` union all `)}`);
  return sizes.map((size) => ({ ...size, ...counted.find(({ table }) => table === size.table) }));
}

/**
 * The ledger of the last day. `simulated`: the dry runs among `counts`. `passedCount`: those that every gate let pass.
 */
async function sends({ db }: Seen) {
  const simulated = await query(
    db,
    sql<{ state: SendState; count: number; passed: number }>`
      select state, count(*)::int as count, count(*) filter (where reason = 'dry_run')::int as passed
      from ops.sends where planned_at > now() - interval '1 day' and (mode = 'dry-run' or reason = 'dry_run') group by state`,
  );
  const counts: Partial<Record<SendState, number>> = {};
  for (const { state, count } of simulated) counts[state] = count;
  const passedCount = simulated.find(({ state }) => state === 'DENIED')?.passed ?? 0;
  return { ...(await summarizeSends(db)), simulated: counts, passedCount };
}

/** Open alerts. */
async function alerts({ db }: Seen) {
  const open = await query(
    db,
    sql<{ check: string; level: string; since: Date }>`
      select check_name as check, max(level) as level, min(known_at) as since from ops.alerts
      where news_at is not null and ended_at is null group by check_name order by since`,
  );
  return { open };
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
