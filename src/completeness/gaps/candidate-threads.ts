import type { RawBuilder } from 'kysely';
import { type Database, inTransaction, query, relation, sql, type Transaction } from '../../db/database.ts';
import { type DirtyTarget, type DueTarget, markDirty, type Priority, priorities } from '../../inbox/targets.ts';
import { type Pair, type Thread, threadKey } from '../../shared/thread.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import { hasErasures } from '../../warehouse/erasure/erased.ts';
import { isMissingTexts } from './unread-comparisons.ts';

/*
 * The API can't list conversations (section 4.2), so conversations that no webhook announced have to be probed. A
 * candidate (ops.thread_candidates) is a line and a number that may have a conversation, and a probe reads its thread.
 * A candidate is probed again only on new evidence.
 */

/** Why a line and a number may have a conversation. */
export type Evidence = 'call' | 'contact' | 'import' | 'unread' | 'gap';

/** Shorter numbers are extensions and short codes, which have no conversations. */
const shortestNumber = 7;

export interface CallerEvidence {
  /** Default: `call`. */
  readonly evidence?: Evidence;
  /**
   * Adds only candidates of this line. `called`: of the called line, or of every line if that one can't text. Default:
   * every line.
   */
  readonly line?: string | 'called';
  /**
   * When the missing text had arrived: candidates that were probed earlier are reopened. Default: {@link probedBefore}.
   */
  readonly arrivedBy?: Date | undefined;
}

/**
 * A candidate `t` that was probed before this is probed again: an hour ago, or now while texts of the line are missing.
 */
const probedBefore = sql`case when ${isMissingTexts(sql`t.line`)} then now() else now() - interval '1 hour' end`;

/** Candidates of one period, newest callers first. For many callers and lines, that is some hours of probes. */
const maxPairs = 50_000;

/**
 * Adds candidates for the external numbers in the calls of a period: people text on other lines than they call.
 * Resolves to how many became open.
 */
export function addCallers(
  db: Database,
  { from, to }: TimeRange<Date>,
  { evidence = 'call', line, arrivedBy }: CallerEvidence = {},
): Promise<number> {
  const isCalled = sql`(l.line = c.account_number or not exists (
    select from warehouse.sms_lines o where o.line = c.account_number and o.deleted_at is null))`;
  const isLine = line === undefined ? sql`true` : line === 'called' ? isCalled : sql`l.line = ${line}`;
  return add(
    db,
    { evidence, arrivedBy },
    sql`select l.line, c.external_number as number
     from (
       select external_number, account_number, max(started_at) as newest from warehouse.calls
       where started_at >= ${from} and started_at < ${to} and deleted_at is null
         and length(external_number) >= ${shortestNumber}
       group by 1, 2
     ) c
     join warehouse.sms_lines l on l.deleted_at is null and ${isLine}
     group by 1, 2 order by max(c.newest) desc limit ${maxPairs}`,
  );
}

/** Adds a candidate for each number that texted with one line, with every other line. */
export function addContacts(db: Database): Promise<number> {
  return add(
    db,
    { evidence: 'contact' },
    sql`select l.line, c.number from (select distinct number from warehouse.sms_conversations where participants_key = '') c
     cross join warehouse.sms_lines l where l.deleted_at is null`,
  );
}

/** A number of an imported list, for one line or for every line. */
export interface ListedNumber {
  readonly number: string;
  readonly line: string | undefined;
}

/** Adds candidates from a list of normalised numbers. Resolves to how many became open. */
export function addNumbers(db: Database, listed: readonly ListedNumber[]): Promise<number> {
  return add(
    db,
    { evidence: 'import' },
    sql`select l.line, p.number from ${listRows(listed)}
     join warehouse.sms_lines l on l.deleted_at is null and (p.line is null or l.line = p.line)`,
  );
}

const listRows = (listed: readonly ListedNumber[]) => relation('p', listed, { number: 'text', line: 'text' });

/** Whether the mirror holds the conversation of the line and number of a table alias. */
const isHeld = (alias: 'f' | 'p' | 't') => sql`exists (
  select from warehouse.sms_conversations c
  where c.line = ${sql.ref(`${alias}.line`)} and c.number = ${sql.ref(`${alias}.number`)}
    and c.participants_key = '' and c.deleted_at is null)`;

/**
 * Adds the rows (line, number) of `found`, except held conversations and erased numbers. `hasErasures` takes a lock: a
 * later erasure waits for this commit and then finds the rows.
 */
function add(
  db: Database,
  { evidence, arrivedBy }: { readonly evidence: Evidence; readonly arrivedBy?: Date | undefined },
  found: RawBuilder<unknown>,
): Promise<number> {
  return inTransaction(db, async (tx) => {
    const added = await query(
      tx,
      sql`with found as materialized (select distinct line, number from (${found}) f where line <> number),
       erased as (
         select ops.erased_among(array(select distinct number from found)) as number where ${await hasErasures(tx)}::boolean
       )
       insert into ops.thread_candidates as t (line, number, evidence)
       select line, number, ${evidence} from found f
       where not ${isHeld('f')} and not exists (select from erased e where e.number = f.number)
       order by line, number
       on conflict (line, number) do update set evidence = excluded.evidence, evidence_at = now(), probed_at = null
         where t.probed_at < coalesce(${arrivedBy ?? null}::timestamptz, ${probedBefore})
       returning 1`,
    );
    return added.length;
  });
}

/** Reopens up to `max` candidates of a line that were probed before the missing text arrived, newest evidence first. */
export async function reopenProbed(
  db: Database,
  line: string,
  { arrivedBy, max }: { readonly arrivedBy: Date; readonly max: number },
): Promise<void> {
  await query(
    db,
    sql`update ops.thread_candidates t set evidence = 'unread', evidence_at = now(), probed_at = null
     from (
       select p.line, p.number from ops.thread_candidates p
       where p.line = ${line} and p.probed_at < ${arrivedBy} and not ${isHeld('p')}
       order by p.evidence_at desc, p.number limit ${max} for update skip locked
     ) o
     where t.line = o.line and t.number = o.number`,
  );
}

/** Targets that become due one after the other within some seconds, so that current events don't wait behind them. */
function spread(targets: readonly DirtyTarget[], seconds: number): DirtyTarget[] {
  return targets.map((target, at) => ({ ...target, afterSeconds: (at * seconds) / targets.length }));
}

/** Probes up to `max` open candidates within some seconds, the newest evidence first. */
export function probe(
  db: Database,
  max: number,
  priority: Priority = priorities.history,
  withinSeconds = 0,
): Promise<{ probed: number; due: DueTarget[] }> {
  return db.transaction().execute(async (tx) => {
    const open = await query(
      tx,
      sql<Pair>`update ops.thread_candidates t set probed_at = now()
       from (
         select line, number from ops.thread_candidates where probed_at is null
         order by evidence_at desc, line, number limit ${max} for update skip locked
       ) o
       where t.line = o.line and t.number = o.number returning t.line, t.number`,
    );
    const targets = open.map(({ line, number }) => ({ kind: 'thread', key: `${line}/${number}`, priority }) as const);
    const due = await markDirty(tx, spread(targets, withinSeconds));
    return { probed: open.length, due };
  });
}

export interface Probing {
  /** Not probed yet. */
  readonly open: number;
  /** Probed, but not read yet. */
  readonly underWay: number;
  readonly found: number;
  readonly empty: number;
}

export async function probingProgress(db: Database): Promise<Probing> {
  const [counts] = await query<Probing>(
    db,
    `select count(*) filter (where p.probed_at is null)::integer as open,
       count(*) filter (where p.probed_at is not null and is_awaited and (c.conversation_id is null or c.deleted_at is not null))::integer as "underWay",
       count(*) filter (where c.conversation_id is not null)::integer as found,
       count(*) filter (where p.probed_at is not null and c.conversation_id is null and not is_awaited)::integer as empty
     from ops.thread_candidates p
     left join ops.sync_targets t on t.kind = 'thread' and t.key = p.line || '/' || p.number
     -- A target whose probe was answered can be pending again for another reason.
     cross join lateral (select t.dirty_version > t.clean_version
       and (t.read_at is null or t.read_at < p.probed_at or t.attempts > 0 or t.claimed_until > now()) as is_awaited) a
     left join warehouse.sms_conversations c on c.line = p.line and c.number = p.number and c.participants_key = ''`,
    [],
  );
  return counts ?? { open: 0, underWay: 0, found: 0, empty: 0 };
}

/** The columns of a conversation from which {@link threadTargets} makes its key. */
export const threadColumns = sql`c.line, c.number, c.participants`;

/** The sync targets of conversations. */
export function threadTargets(threads: readonly Thread[], priority: Priority): DirtyTarget[] {
  return threads.map((thread) => ({ kind: 'thread', key: threadKey(thread), priority }));
}

/** Marks the most recent threads of a line dirty: a lost text most likely belongs to one of them. */
export async function rereadNewestThreads(tx: Transaction, line: string, max: number): Promise<DueTarget[]> {
  const threads = await query(
    tx,
    sql<Thread>`select ${threadColumns} from warehouse.sms_conversations c
     where line = ${line} and deleted_at is null order by last_message_at desc nulls last limit ${max}`,
  );
  return markDirty(tx, threadTargets(threads, priorities.live));
}

/**
 * Marks up to `max` threads of a line dirty that were last read before a moment. Alternates between the threads with
 * the newest texts and those that weren't read for longest, so that each is reached even while texts keep arriving.
 * They are read within some seconds.
 */
export async function rereadThreadsBefore(
  tx: Transaction,
  line: string,
  before: Date,
  max: number,
  withinSeconds = 0,
): Promise<DueTarget[]> {
  const threads = await query(
    tx,
    sql<Thread>`select ${threadColumns} from (
       select line, number, participants, row_number() over (order by last_message_at desc nulls last) as by_text,
         row_number() over (order by thread_fetched_at nulls first) as by_read
       from warehouse.sms_conversations
       where line = ${line} and deleted_at is null and coalesce(thread_fetched_at, '-infinity') < ${before}
     ) c order by least(by_text, by_read), by_text limit ${max}`,
  );
  return markDirty(tx, spread(threadTargets(threads, priorities.live), withinSeconds));
}

/**
 * Marks up to `max` threads dirty that had a text in the `activeDays` before a range and weren't read since its end,
 * newest first. Resolves to how many.
 */
export async function rereadActiveThreads(
  tx: Transaction,
  range: TimeRange,
  { activeDays, max }: { readonly activeDays: number; readonly max: number },
): Promise<{ count: number; due: DueTarget[] }> {
  const threads = await query(
    tx,
    sql<Thread>`select ${threadColumns} from warehouse.sms_conversations c
     where deleted_at is null and last_message_at > to_timestamp(${range.from}) - ${activeDays} * interval '1 day'
       and coalesce(thread_fetched_at, '-infinity') < to_timestamp(${range.to})
     order by last_message_at desc limit ${max}`,
  );
  return { count: threads.length, due: await markDirty(tx, threadTargets(threads, priorities.history)) };
}

/** A held thread that is pending because its number was listed. */
export interface PendingRead {
  readonly key: string;
  /** The read is done when this version is clean. */
  readonly version: string;
}

export interface Reread {
  readonly pending: readonly PendingRead[];
  /** How many more threads of these numbers are held. */
  readonly left: number;
  readonly due: DueTarget[];
}

/**
 * Schedules complete reads of the held threads of listed numbers, groups included: only a complete read finds a missing
 * text. Takes up to `max` threads, the least recently read first, so that a repetition with the same list continues.
 */
export function rereadListedNumbers(
  db: Database,
  listed: readonly ListedNumber[],
  { max }: { readonly max: number },
): Promise<Reread> {
  return inTransaction(db, async (tx) => {
    const rows = await query(
      tx,
      sql<Thread & { held: number }>`with held as materialized (
         select distinct c.conversation_id, c.complete_read_at from warehouse.sms_conversations c
         join warehouse.sms_lines l on l.line = c.line and l.deleted_at is null
         cross join unnest(case when c.participants_key = '' then array[c.number] else c.participants end) as party
         join ${listRows(listed)} on p.number = party and (p.line is null or p.line = c.line)
         where c.deleted_at is null
       ), chosen as (
         select conversation_id from held order by complete_read_at nulls first, conversation_id limit ${max}
       )
       update warehouse.sms_conversations c set is_reread_owed = true from chosen
       where c.conversation_id = chosen.conversation_id
       returning ${threadColumns}, (select count(*)::integer from held) as held`,
    );
    const targets = threadTargets(rows, priorities.history);
    const due = await markDirty(tx, targets);
    const keys = targets.map(({ key }) => key);
    const pending = await query(
      tx,
      sql<PendingRead>`select key, dirty_version as version from ops.sync_targets where kind = 'thread' and key = any(${keys})`,
    );
    return { pending, left: (rows[0]?.held ?? 0) - rows.length, due };
  });
}

/** How many of these threads aren't read yet. */
export async function countPendingReads(db: Database, pending: readonly PendingRead[]): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`
      select count(*)::integer as count from ${relation('o', pending, { key: 'text', version: 'bigint' })}
      join ops.sync_targets t on t.kind = 'thread' and t.key = o.key and t.clean_version < o.version`,
  );
  return row?.count ?? 0;
}

/** Records that all candidates of a period were probed. Status then stops saying that texts were never searched. */
export async function recordTextSearch(db: Database, { from, to }: TimeRange<Date>, found: number): Promise<void> {
  await query(
    db,
    sql`insert into ops.backfills (stream, asked_from, asked_to, has_artefacts, done_until, mirrored_count, finished_at)
     values ('threads', ${from}, ${to}, false, ${to}, ${found}, now())`,
  );
}

/** The parts of a list that weren't probed. */
export interface SkippedNumbers {
  /** Pairs without a conversation that were probed within the last hour. */
  readonly probedRecently: number;
  /** Numbers of erased people. */
  readonly erased: number;
}

export async function skippedNumbers(db: Database, listed: readonly ListedNumber[]): Promise<SkippedNumbers> {
  const [row] = await query<SkippedNumbers>(
    db,
    sql`with listed as (select distinct number, line from ${listRows(listed)})
     select (
       select count(*)::integer from (
         select distinct t.line, t.number from listed p
         join ops.thread_candidates t on t.number = p.number and (p.line is null or t.line = p.line)
         join warehouse.sms_lines l on l.line = t.line and l.deleted_at is null
         where t.probed_at is not null and not ${isHeld('t')}) probed
     ) as "probedRecently", (
       select count(*)::integer from ops.erased_among(array(select distinct number from listed)) where exists (select from ops.erasures)
     ) as erased`,
  );
  return row ?? { probedRecently: 0, erased: 0 };
}
