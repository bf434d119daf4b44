import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import { type Thread, threadKey } from '../shared/thread.ts';
import { erasedAmong } from './erasure/erased.ts';
import type { JsonRow } from './held-calls.ts';
import { type ThreadRead, writeMessages } from './messages.ts';
import type { Provenance } from './upsert.ts';
import { type Follow, followingLostTexts } from './what-follows.ts';

/**
 * Mirrors threads: their messages, and a summary of each conversation. An empty thread that isn't mirrored yet gets no
 * row, because a forged reference must not write data. Threads with an erased member are skipped, including the texts
 * of all members.
 */
export async function writeThreads(tx: Transaction, follow: Follow, all: readonly ThreadRead[]): Promise<void> {
  if (all.length === 0) return;
  const reads = await withoutErased(tx, all);
  const conversations = await conversationsOf(tx, reads);
  // A read that started before the newest one applied is outdated.
  const held = reads.flatMap((read) => {
    const conversation = conversations.get(threadKey(read.thread));
    const isLate = conversation !== undefined && BigInt(conversation.fetchSeq) > BigInt(read.read.fetchSeq);
    return conversation === undefined || isLate ? [] : [{ ...read, conversationId: conversation.id }];
  });
  if (held.length === 0) return;
  await writeMessages(tx, follow, held);
  await summarize(tx, held);
}

async function withoutErased(tx: Transaction, reads: readonly ThreadRead[]): Promise<readonly ThreadRead[]> {
  const partiesOf = ({ thread }: ThreadRead) => [thread.number, ...thread.participants];
  const erased = await erasedAmong(tx, () => reads.flatMap(partiesOf));
  return reads.filter((each) => !partiesOf(each).some((number) => erased.has(number)));
}

/** A thread that three spaced reads didn't find. */
export interface ThreadGone {
  readonly thread: Thread;
  readonly read: Provenance;
}

/**
 * Marks threads and their messages deleted that three spaced reads didn't find. If a thread reappears, its next read is
 * complete: without mirrored messages, a read doesn't know where to stop.
 */
export async function markThreadsGone(tx: Transaction, follow: Follow, gone: readonly ThreadGone[]): Promise<void> {
  if (gone.length === 0) return;
  const conversations = await lockConversations(
    tx,
    gone.map(({ thread }) => thread),
  );
  const held = gone.flatMap(({ thread, read }) => {
    const conversation = conversations.get(threadKey(thread));
    return conversation ? [{ id: conversation.id, fetchSeq: read.fetchSeq }] : [];
  });
  const emptied = `, message_count = 0, first_message_at = null, last_message_at = null, last_inbound_at = null,
    last_outbound_at = null, last_direction = null, is_reread_owed = true`;
  const mark = (table: string, summary = '') =>
    query<JsonRow>(
      tx,
      sql`update ${sql.table(`warehouse.${table}`)} t set deleted_at = now(), deleted_reason = 'not found by three spaced reads',
         changed_at = now(), fetch_seq = g.fetch_seq${sql.raw(summary)}
       from ${relation('g', held, { conversation_id: ['bigint', ({ id }) => id], fetch_seq: ['bigint', (each) => each.fetchSeq] })}
       where t.conversation_id = g.conversation_id and t.fetch_seq <= g.fetch_seq and t.deleted_at is null
       returning t.*, null as deleted_at`,
    );
  const lost = await mark('sms_messages');
  await mark('sms_conversations', emptied);
  follow(followingLostTexts(lost));
}

interface Conversation {
  readonly id: string;
  /** Number of the newest read applied. */
  readonly fetchSeq: string;
}

// Locks the conversations, so two reads of one thread are written one after the other and its summary counts both.
async function conversationsOf(tx: Transaction, reads: readonly ThreadRead[]): Promise<Map<string, Conversation>> {
  const threads = reads.map(({ thread }) => thread);
  const held = await lockConversations(tx, threads);
  const missing = reads.filter(({ thread, messages }) => messages.length > 0 && !held.has(threadKey(thread)));
  if (missing.length === 0) return held;
  const wanted = [...new Map(missing.map(({ thread }) => [threadKey(thread), thread])).entries()].sort();
  const added = await hotQuery(
    tx,
    sql<ConversationRow>`insert into warehouse.sms_conversations as c (line, number, participants_key, participants)
     select line, number, participants_key, string_to_array(participants_key, ',')
     from ${keys(wanted.map(([, thread]) => thread))}
     on conflict (line, number, participants_key) do nothing
     returning ${conversationColumns}`,
  );
  // A concurrent transaction may have inserted some of them.
  return added.length < wanted.length ? lockConversations(tx, threads) : new Map([...held, ...conversationsIn(added)]);
}

const conversationColumns = sql`c.conversation_id, c.line, c.number, c.participants, c.fetch_seq`;
type ConversationRow = Thread & { readonly conversation_id: string; readonly fetch_seq: string };

async function lockConversations(tx: Transaction, threads: readonly Thread[]): Promise<Map<string, Conversation>> {
  const rows = await hotQuery(
    tx,
    sql<ConversationRow>`select ${conversationColumns}
     from warehouse.sms_conversations c
     join (select distinct * from ${keys(threads)}) l
       using (line, number, participants_key)
     order by c.line, c.number, c.participants_key for update of c`,
  );
  return conversationsIn(rows);
}

function conversationsIn(rows: readonly ConversationRow[]): Map<string, Conversation> {
  return new Map(rows.map((row) => [threadKey(row), { id: row.conversation_id, fetchSeq: row.fetch_seq }]));
}

function keys(threads: readonly Thread[]) {
  return relation('l', threads, {
    line: 'text',
    number: 'text',
    participants_key: ['text', (thread) => thread.participants.join(',')],
  });
}

async function summarize(tx: Transaction, held: readonly (ThreadRead & { conversationId: string })[]): Promise<void> {
  const reads = relation('u', held, {
    conversation_id: ['bigint', (each) => each.conversationId],
    fetch_seq: ['bigint', (each) => each.read.fetchSeq],
    fetched_at: ['timestamptz', (each) => each.read.fetchedAt],
    is_complete: ['boolean', (each) => each.isComplete],
    has_gap: ['boolean', (each) => each.hasGap ?? false],
  });
  await hotQuery(
    tx,
    sql`
      update warehouse.sms_conversations c set
        first_message_at = m.first_at, last_message_at = m.last_at,
        last_inbound_at = m.last_in_at, last_outbound_at = m.last_out_at, last_direction = m.last_direction,
        message_count = m.held, changed_at = coalesce(m.changed_at, c.changed_at),
        thread_fetched_at = greatest(c.thread_fetched_at, r.fetched_at), fetch_seq = greatest(c.fetch_seq, r.fetch_seq),
        is_thread_complete = (c.is_thread_complete and not r.has_gap) or r.is_complete,
        is_reread_owed = c.is_reread_owed and not r.is_complete,
        complete_read_at = case when r.is_complete then greatest(c.complete_read_at, r.fetched_at) else c.complete_read_at end,
        deleted_at = case when m.held > 0 then null when r.is_complete then coalesce(c.deleted_at, now()) else c.deleted_at end,
        deleted_reason = case when m.held > 0 then null when r.is_complete then 'a complete read lists no message' else c.deleted_reason end
      from (
        select conversation_id, max(fetch_seq) as fetch_seq, max(fetched_at) as fetched_at,
          bool_or(is_complete) as is_complete, bool_or(has_gap) as has_gap
        from ${reads}
        group by conversation_id
      ) r
      cross join lateral (
        select count(*) filter (where deleted_at is null) as held, max(changed_at) as changed_at,
          min(sent_at) filter (where counts) as first_at, max(sent_at) filter (where counts) as last_at,
          max(sent_at) filter (where counts and direction = 'in') as last_in_at,
          max(sent_at) filter (where counts and direction = 'out') as last_out_at,
          (array_agg(direction order by sent_at desc nulls last, message_id desc) filter (where counts))[1] as last_direction
        from (
          select *, deleted_at is null and is_scheduled is not true and is_reaction is not true as counts
          from warehouse.sms_messages where conversation_id = r.conversation_id
        ) message
      ) m
      where c.conversation_id = r.conversation_id`,
  );
}

export type HeldThread = ReturnType<typeof heldThread>;
type Ids = readonly (number | string)[];

/** What the mirror has of a thread. This decides how far back the thread is read. */
export function heldThread(db: Database, { line, number, participants }: Thread) {
  const ask = async <T>(what: string, ids: Ids = []): Promise<T | undefined> => {
    const [row] = await hotQuery<{ answer: T }>(
      db,
      `select ${what} as answer from warehouse.sms_conversations c
       where line = $1 and number = $2 and participants_key = $3 and $4::bigint[] is not null`,
      [line, number, participants.join(','), ids],
    );
    return row?.answer;
  };
  const isSo = async (what: string, ids?: Ids) => (await ask<boolean>(what, ids)) === true;
  const isWhole = 'is_thread_complete and not is_reread_owed';
  const messages = 'from warehouse.sms_messages m where m.conversation_id = c.conversation_id and deleted_at is null';
  return {
    /** Whether the mirror has a row of the thread, deleted or not. */
    isHeld: () => isSo('true'),
    /** Whether the thread has a message that isn't deleted. */
    holdsAny: () => isSo(`exists (select ${messages})`),
    /**
     * Seconds since the last complete read of the thread, or else since it was first seen. Undefined if it isn't
     * mirrored.
     */
    secondsIncomplete: () =>
      ask<number>('extract(epoch from now() - coalesce(complete_read_at, first_seen_at))::float8'),
    /** Count and newest id of the mirrored messages. Undefined unless the whole thread is mirrored. */
    async heldWhole(): Promise<{ readonly count: number; readonly newest: string } | undefined> {
      const whole = await ask<{ count: number; newest: string | null }>(
        `case when ${isWhole} then jsonb_build_object('count', (select count(*) ${messages}),
           'newest', (select message_id::text ${messages} order by sent_at desc nulls last, message_id desc limit 1)) end`,
      );
      return whole?.newest == null ? undefined : { count: whole.count, newest: whole.newest };
    },
    /** Whether the whole thread is mirrored, including these messages. */
    holdsAll: (ids: Ids) =>
      isSo(
        `${isWhole} and (select count(*) ${messages} and message_id = any($4::bigint[])) = cardinality($4::bigint[])`,
        ids,
      ),
    /** Whether the whole thread is mirrored, and has no other messages that aren't deleted. */
    holdsOnly: (ids: Ids) =>
      isSo(`${isWhole} and not exists (select ${messages} and message_id <> all($4::bigint[]))`, ids),
    /**
     * Whether the mirror has another message that the service would list among or after these, both by time and by id.
     * A scheduled text has a late time and an early id, so the message must be later by both.
     */
    holdsAnotherAmong: (ids: Ids) =>
      isSo(
        `exists (select ${messages} and message_id <> all($4::bigint[])
           and message_id > (select min(message_id) ${messages} and message_id = any($4::bigint[]))
           and sent_at > (select min(sent_at) ${messages} and message_id = any($4::bigint[])))`,
        ids,
      ),
  };
}
