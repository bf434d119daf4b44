import { type Bump, bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { type Priority, priorities, type Ring } from '../../inbox/target.ts';
import { type Database, inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { hasErasures } from '../../warehouse/erasure/erased.ts';
import type { Span } from '../coverage/spans.ts';

/*
 * Conversations cannot be listed (section 4.2), so those that no webhook announced are found by asking: a pair of a line
 * and a number for which there is evidence is a candidate, and probing it reads its thread. What was probed is
 * remembered, so that the same question is not asked twice without new evidence.
 */

/** Why a line and a number may have a conversation. */
export type Evidence = 'call' | 'contact' | 'import' | 'unread' | 'gap';

/** Shorter numbers are extensions and short codes, which nobody holds a conversation with. */
const shortestNumber = 7;

/** A range of time. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** What speaks for the callers of a period. */
export interface CallerEvidence {
  /** Default: the calls alone. */
  readonly evidence?: Evidence;
  /** Ask about this line alone. */
  readonly line?: string;
  /** When the text that is looked for had come: an answer from before says nothing of it. Default: an hour ago. */
  readonly cameBy?: Date | undefined;
}

/**
 * Adds a candidate for each outside number of a period's calls: with the line that was called, or, where that cannot
 * text, with every line; with the one line asked about, when there is one. Answers with how many are to be asked for now.
 */
export function addCallers(
  db: Database,
  { from, to }: Period,
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

/** Adds a candidate for each number that is known from one line, with every other line. */
export function addContacts(db: Database): Promise<number> {
  return add(
    db,
    { evidence: 'contact' },
    `select l.line, c.number from (select distinct number from warehouse.sms_conversations where participants_key = '') c
     cross join warehouse.sms_lines l where l.deleted_at is null`,
    [],
  );
}

/** A number of a list: for the line that is named beside it, or for every line. */
export interface ListedNumber {
  readonly number: string;
  readonly line: string | undefined;
}

/** Adds candidates from a list. Numbers are normalised already. Answers with how many are to be asked for now. */
export function addNumbers(db: Database, listed: readonly ListedNumber[]): Promise<number> {
  return add(
    db,
    { evidence: 'import' },
    `select l.line, p.number from unnest($1::text[], $2::text[]) as p (number, line)
     join warehouse.sms_lines l on l.deleted_at is null and (p.line is null or l.line = p.line)`,
    [listed.map(({ number }) => number), listed.map(({ line }) => line ?? null)],
  );
}

/** A pair `pair` of which a conversation is held is no question. */
export const isHeld = (pair: string) => `exists (select from warehouse.sms_conversations c
  where c.line = ${pair}.line and c.number = ${pair}.number and c.participants_key = '' and c.deleted_at is null)`;

// Who was asked for is asked for again where the answer is from before the text could have come. Evidence that knows no
// such moment, such as a call, asks again after an hour. Who was erased is not written anywhere; the look at who was holds
// a later erasure off until this is committed, and it then finds the rows.
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

/**
 * Has pairs of a line asked for again, up to so many, for which there was evidence of any kind and whose answer is from
 * before a text that the line misses had come; the newest evidence first.
 */
export async function askAgain(
  db: Database,
  line: string,
  { cameBy, most }: { readonly cameBy: Date; readonly most: number },
): Promise<void> {
  await query(
    db,
    `update ops.thread_candidates t set evidence = 'unread', evidence_at = now(), probed_at = null
     from (select p.line, p.number from ops.thread_candidates p where p.line = $1 and p.probed_at < $2 and not ${isHeld('p')}
           order by p.evidence_at desc, p.number limit $3 for update skip locked) o
     where t.line = o.line and t.number = o.number`,
    [line, cameBy, most],
  );
}

/** Asks for up to so many candidates, the newest evidence first; answers with how many, and the bells. */
export function probe(
  db: Database,
  most: number,
  { priority = priorities.history, pauses }: { readonly priority?: Priority; readonly pauses: Pauses },
): Promise<{ probed: number; rings: Ring[] }> {
  return db.transaction().execute(async (tx) => {
    const open = await query<{ line: string; number: string }>(
      tx,
      `update ops.thread_candidates t set probed_at = now()
       from (select line, number from ops.thread_candidates where probed_at is null
             order by evidence_at desc, line, number limit $1 for update skip locked) o
       where t.line = o.line and t.number = o.number returning t.line, t.number`,
      [most],
    );
    const rings = await bumpTargets(
      tx,
      open.map(({ line, number }) => ({ kind: 'thread', key: `${line}/${number}`, priority })),
      pauses,
    );
    return { probed: open.length, rings };
  });
}

/** Where the search for conversations stands. */
export interface Probing {
  /** Candidates that were not asked for yet. */
  readonly open: number;
  /** Asked for, and the answer is not there yet; of a conversation that is held, another read is not the answer. */
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
     -- One that was answered can owe another look, much later.
     cross join lateral (select t.dirty_version > t.clean_version
       and (t.read_at is null or t.read_at < p.probed_at or t.attempts > 0 or t.claimed_until > now()) as is_awaited) a
     left join warehouse.sms_conversations c on c.line = p.line and c.number = p.number and c.participants_key = ''`,
    [],
  );
  return { open: row?.open ?? 0, underWay: row?.under_way ?? 0, found: row?.found ?? 0, empty: row?.empty ?? 0 };
}

/** Bumps the threads of conversations. */
export function bumpsOf(
  rows: readonly { line: string; number: string; participants_key: string }[],
  priority: Priority,
): Bump[] {
  return rows.map(({ line, number, participants_key }) => ({
    kind: 'thread',
    key: participants_key === '' ? `${line}/${number}` : `${line}/${number}/${participants_key}`,
    priority,
  }));
}

/** The threads of a line with the newest texts: where one was lost, it was lost most likely. */
export async function rereadNewest(
  tx: Transaction,
  line: string,
  most: number,
  { priority, pauses }: { readonly priority: Priority; readonly pauses: Pauses },
): Promise<Ring[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `select line, number, participants_key from warehouse.sms_conversations
     where line = $1 and deleted_at is null order by last_message_at desc nulls last limit $2`,
    [line, most],
  );
  return bumpTargets(tx, bumpsOf(rows, priority), pauses);
}

/**
 * The threads that were alive in the days before a span and that nobody has read since its end, newest texts first: any of
 * them may have lost a text in it. Answers with how many are owed a read now, at most so many.
 */
export async function rereadAlive(
  tx: Transaction,
  span: Span,
  { aliveDays, most, pauses }: { readonly aliveDays: number; readonly most: number; readonly pauses: Pauses },
): Promise<{ count: number; rings: Ring[] }> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `select line, number, participants_key from warehouse.sms_conversations
     where deleted_at is null and last_message_at > to_timestamp($1) - $3 * interval '1 day'
       and coalesce(thread_fetched_at, '-infinity') < to_timestamp($2)
     order by last_message_at desc limit $4`,
    [span.from, span.to, aliveDays, most],
  );
  return { count: rows.length, rings: await bumpTargets(tx, bumpsOf(rows, priorities.history), pauses) };
}
