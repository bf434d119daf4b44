import { type Database, inTransaction, query, relation, sql, type Transaction } from '../../db/database.ts';
import {
  type DirtyTarget,
  type DueTarget,
  markDirty,
  type Priority,
  priorities,
  type ReadPauses,
} from '../../inbox/targets.ts';
import type { Span } from '../../shared/span.ts';
import { hasErasures } from '../../warehouse/erasure/erased.ts';

/*
 * The API cannot list conversations (section 4.2). Probing finds those that no webhook announced. A candidate
 * (ops.thread_candidates) is a line and a number with evidence for a conversation, and a probe reads its thread. A candidate
 * is probed again only on new evidence.
 */

/** Why a line and a number may have a conversation. */
export type Evidence = 'call' | 'contact' | 'import' | 'unread' | 'gap';

/** Shorter numbers are extensions and short codes, without conversations. */
const shortestNumber = 7;

export interface CallerEvidence {
  /** Default: the calls alone. */
  readonly evidence?: Evidence;
  /** Adds candidates of this line alone. */
  readonly line?: string;
  /** When the missing text had arrived: an earlier probe proves nothing. Default: an hour ago. */
  readonly cameBy?: Date | undefined;
}

/**
 * Adds a candidate for each outside number of a period's calls: with `line`, else with the called line, else, where that
 * cannot text, with every line. Resolves to how many became open.
 */
export function addCallers(
  db: Database,
  { from, to }: Span<Date>,
  { evidence = 'call', line, cameBy }: CallerEvidence = {},
): Promise<number> {
  return add(
    db,
    { evidence, cameBy },
    `select l.line, c.external_number as number
     from (select distinct external_number, account_number from warehouse.calls
           where started_at >= $1 and started_at < $2 and length(external_number) >= ${shortestNumber} and deleted_at is null) c
     join warehouse.sms_lines l on l.deleted_at is null and ($3::text is null or l.line = $3)
       and ($3::text is not null or l.line = c.account_number or not exists (select from warehouse.sms_lines o where o.line = c.account_number and o.deleted_at is null))`,
    [from.toISOString(), to.toISOString(), line ?? null],
  );
}

/** Adds a candidate for each number that texted with one line, with every other line. */
export function addContacts(db: Database): Promise<number> {
  return add(
    db,
    { evidence: 'contact' },
    `select l.line, c.number from (select distinct number from warehouse.sms_conversations where participants_key = '') c
     cross join warehouse.sms_lines l where l.deleted_at is null`,
    [],
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
    `select l.line, p.number from unnest($1::text[], $2::text[]) as p (number, line)
     join warehouse.sms_lines l on l.deleted_at is null and (p.line is null or l.line = p.line)`,
    [listed.map(({ number }) => number), listed.map(({ line }) => line ?? null)],
  );
}

/** Whether a conversation of the pair in alias `pair` is held. */
const isHeld = (pair: string) => `exists (select from warehouse.sms_conversations c
  where c.line = ${pair}.line and c.number = ${pair}.number and c.participants_key = '' and c.deleted_at is null)`;

// A candidate probed before the text could have arrived becomes open again. Erased numbers are not written: `hasErasures`
// locks, so that a later erasure waits for this commit and then finds the rows.
function add(
  db: Database,
  { evidence, cameBy }: { readonly evidence: Evidence; readonly cameBy?: Date | undefined },
  found: string,
  parameters: readonly unknown[],
): Promise<number> {
  const [$evidence, $cameBy, $wasAnyErased] = [1, 2, 3].map((at) => `$${parameters.length + at}`);
  return inTransaction(db, async (tx) => {
    const added = await query(
      tx,
      `with found as materialized (select distinct line, number from (${found}) f where line <> number),
       erased as (select ops.erased_among(array(select distinct number from found)) as number where ${$wasAnyErased}::boolean)
       insert into ops.thread_candidates as t (line, number, evidence)
       select line, number, ${$evidence} from found f
       where not ${isHeld('f')} and not exists (select from erased e where e.number = f.number)
       order by line, number
       on conflict (line, number) do update set evidence = excluded.evidence, evidence_at = now(), probed_at = null
         where t.probed_at < coalesce(${$cameBy}::timestamptz, now() - interval '1 hour')
       returning 1`,
      [...parameters, evidence, cameBy ?? null, await hasErasures(tx)],
    );
    return added.length;
  });
}

/** Reopens up to `max` candidates of a line that were probed before its missing text had arrived, newest evidence first. */
export async function askAgain(
  db: Database,
  line: string,
  { cameBy, max }: { readonly cameBy: Date; readonly max: number },
): Promise<void> {
  await query(
    db,
    `update ops.thread_candidates t set evidence = 'unread', evidence_at = now(), probed_at = null
     from (select p.line, p.number from ops.thread_candidates p where p.line = $1 and p.probed_at < $2 and not ${isHeld('p')}
           order by p.evidence_at desc, p.number limit $3 for update skip locked) o
     where t.line = o.line and t.number = o.number`,
    [line, cameBy, max],
  );
}

/** Probes up to `max` open candidates, the newest evidence first. */
export function probe(
  db: Database,
  max: number,
  { priority = priorities.history, pauses }: { readonly priority?: Priority; readonly pauses: ReadPauses },
): Promise<{ probed: number; due: DueTarget[] }> {
  return db.transaction().execute(async (tx) => {
    const open = await query<{ line: string; number: string }>(
      tx,
      `update ops.thread_candidates t set probed_at = now()
       from (select line, number from ops.thread_candidates where probed_at is null
             order by evidence_at desc, line, number limit $1 for update skip locked) o
       where t.line = o.line and t.number = o.number returning t.line, t.number`,
      [max],
    );
    const due = await markDirty(
      tx,
      open.map(({ line, number }) => ({ kind: 'thread', key: `${line}/${number}`, priority })),
      pauses,
    );
    return { probed: open.length, due };
  });
}

export interface Probing {
  /** Not probed yet. */
  readonly open: number;
  /** Probed, and not answered yet. */
  readonly underWay: number;
  readonly found: number;
  readonly empty: number;
}

export async function probingOf(db: Database): Promise<Probing> {
  const [row] = await query<{ open: number; under_way: number; found: number; empty: number }>(
    db,
    `select count(*) filter (where p.probed_at is null)::integer as open,
       count(*) filter (where p.probed_at is not null and is_awaited and (c.conversation_id is null or c.deleted_at is not null))::integer as under_way,
       count(*) filter (where c.conversation_id is not null)::integer as found,
       count(*) filter (where p.probed_at is not null and c.conversation_id is null and not is_awaited)::integer as empty
     from ops.thread_candidates p
     left join ops.sync_targets t on t.kind = 'thread' and t.key = p.line || '/' || p.number
     -- One that was answered can be due again much later.
     cross join lateral (select t.dirty_version > t.clean_version
       and (t.read_at is null or t.read_at < p.probed_at or t.attempts > 0 or t.claimed_until > now()) as is_awaited) a
     left join warehouse.sms_conversations c on c.line = p.line and c.number = p.number and c.participants_key = ''`,
    [],
  );
  return { open: row?.open ?? 0, underWay: row?.under_way ?? 0, found: row?.found ?? 0, empty: row?.empty ?? 0 };
}

/** The sync targets of conversations. */
export function threadTargets(
  rows: readonly { line: string; number: string; participants_key: string }[],
  priority: Priority,
): DirtyTarget[] {
  return rows.map(({ line, number, participants_key }) => ({
    kind: 'thread',
    key: participants_key === '' ? `${line}/${number}` : `${line}/${number}/${participants_key}`,
    priority,
  }));
}

/** Marks the threads of a line with the newest texts dirty: a lost text most likely belongs to one of them. */
export async function rereadNewest(
  tx: Transaction,
  line: string,
  max: number,
  { priority, pauses }: { readonly priority: Priority; readonly pauses: ReadPauses },
): Promise<DueTarget[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `select line, number, participants_key from warehouse.sms_conversations
     where line = $1 and deleted_at is null order by last_message_at desc nulls last limit $2`,
    [line, max],
  );
  return markDirty(tx, threadTargets(rows, priority), pauses);
}

/**
 * Marks up to `max` threads dirty that had a text in the days before a span and were not read since its end, newest texts
 * first. Resolves to how many.
 */
export async function rereadAlive(
  tx: Transaction,
  span: Span,
  { aliveDays, max, pauses }: { readonly aliveDays: number; readonly max: number; readonly pauses: ReadPauses },
): Promise<{ count: number; due: DueTarget[] }> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `select line, number, participants_key from warehouse.sms_conversations
     where deleted_at is null and last_message_at > to_timestamp($1) - $3 * interval '1 day'
       and coalesce(thread_fetched_at, '-infinity') < to_timestamp($2)
     order by last_message_at desc limit $4`,
    [span.from, span.to, aliveDays, max],
  );
  return { count: rows.length, due: await markDirty(tx, threadTargets(rows, priorities.history), pauses) };
}

const listRows = (listed: readonly ListedNumber[]) => relation('p', listed, { number: 'text', line: 'text' });

/** A held thread that is pending because its number was listed. */
export interface OwedThread {
  readonly key: string;
  /** The read is done when this version is clean. */
  readonly version: string;
}

export interface Reread {
  readonly owed: readonly OwedThread[];
  /** How many more threads of these numbers are held. */
  readonly left: number;
  readonly due: DueTarget[];
}

/**
 * Schedules complete reads of the held threads of listed numbers, groups included: only a complete read finds a missing text.
 * Takes up to `max` threads, the longest unread first, so the same list given again continues.
 */
export function rereadListed(
  db: Database,
  listed: readonly ListedNumber[],
  { max, pauses }: { readonly max: number; readonly pauses: ReadPauses },
): Promise<Reread> {
  return inTransaction(db, async (tx) => {
    const rows = await query<{ line: string; number: string; participants_key: string; held: number }>(
      tx,
      sql`with held as materialized (
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
       returning c.line, c.number, c.participants_key, (select count(*)::integer from held) as held`,
    );
    const targets = threadTargets(rows, priorities.history);
    const due = await markDirty(tx, targets, pauses);
    const owed = await query<OwedThread>(
      tx,
      `select key, dirty_version as version from ops.sync_targets where kind = 'thread' and key = any($1)`,
      [targets.map(({ key }) => key)],
    );
    return { owed, left: (rows[0]?.held ?? 0) - rows.length, due };
  });
}

/** How many of these threads are not read yet. */
export async function rereadsUnderWay(db: Database, owed: readonly OwedThread[]): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`
      select count(*)::integer as count from ${relation('o', owed, { key: 'text', version: 'bigint' })}
      join ops.sync_targets t on t.kind = 'thread' and t.key = o.key and t.clean_version < o.version`,
  );
  return row?.count ?? 0;
}

/** The parts of a list that are not probed. */
export interface LeftOut {
  /** Pairs without a conversation that were probed within the last hour. */
  readonly askedLately: number;
  /** Numbers of erased people. */
  readonly erased: number;
}

export async function leftOut(db: Database, listed: readonly ListedNumber[]): Promise<LeftOut> {
  const [row] = await query<LeftOut>(
    db,
    sql`with listed as (select distinct number, line from ${listRows(listed)})
     select (
       select count(*)::integer from (
         select distinct t.line, t.number from listed p
         join ops.thread_candidates t on t.number = p.number and (p.line is null or t.line = p.line)
         join warehouse.sms_lines l on l.line = t.line and l.deleted_at is null
         where t.probed_at is not null and not ${sql.raw(isHeld('t'))}) asked
     ) as "askedLately", (
       select count(*)::integer from ops.erased_among(array(select distinct number from listed)) where exists (select from ops.erasures)
     ) as erased`,
  );
  return row ?? { askedLately: 0, erased: 0 };
}
