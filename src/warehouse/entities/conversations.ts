import type { Message } from '../../service/entities/message.ts';
import type { Provenance } from '../columns.ts';
import { query, type Transaction } from '../database.ts';
import { writeMessages } from './messages.ts';

/** A conversation has no id at the service (section 2.5): line and number name it, and the participants of a group. */
export interface Thread {
  readonly line: string;
  readonly number: string;
  /** The other parties of a group, sorted; empty for two parties. */
  readonly participants: readonly string[];
}

/** What one read of a thread found. */
export interface ThreadRead {
  readonly thread: Thread;
  readonly messages: readonly Message[];
  /** The read listed the thread to its end: what it lacks exists no more. */
  readonly isComplete: boolean;
  readonly read: Provenance;
}

/** The key of a thread as a target of the sync: `line/number`, and `/a,b,c` for a group. */
export function threadKey({ line, number, participants }: Thread): string {
  return participants.length > 0 ? `${line}/${number}/${participants.join(',')}` : `${line}/${number}`;
}

/** Reads a thread key back. */
export function threadOf(key: string): Thread {
  const [line = '', number = '', participants = ''] = key.split('/');
  return { line, number, participants: participants === '' ? [] : participants.split(',') };
}

/**
 * Mirrors threads: their messages, and of each conversation what its messages say. A thread that was never held and
 * lists nothing leaves no row, so that a hint alone cannot write data.
 */
export async function writeThreads(tx: Transaction, reads: readonly ThreadRead[]): Promise<void> {
  const ids = await conversationIds(tx, reads);
  const held = reads.flatMap((read) => {
    const conversationId = ids.get(threadKey(read.thread));
    return conversationId === undefined ? [] : [{ ...read, conversationId }];
  });
  if (held.length === 0) return;
  await writeMessages(tx, held);
  await summarize(tx, held);
}

/** Marks threads deleted, with their messages, that three spaced reads did not find. */
export async function markThreadsGone(tx: Transaction, threads: readonly Thread[]): Promise<void> {
  const ids = [...(await lockConversations(tx, threads)).values()];
  const gone = `deleted_at = now(), deleted_reason = 'not found by three spaced reads', changed_at = now()`;
  await query(tx, `update warehouse.sms_messages set ${gone} where conversation_id = any($1) and deleted_at is null`, [
    ids,
  ]);
  await query(
    tx,
    `update warehouse.sms_conversations set ${gone}, message_count = 0 where conversation_id = any($1) and deleted_at is null`,
    [ids],
  );
}

// Locks what it finds, so that two reads of one thread are written one after the other and its summary misses nothing.
async function conversationIds(tx: Transaction, reads: readonly ThreadRead[]): Promise<Map<string, string>> {
  const threads = reads.map(({ thread }) => thread);
  const ids = await lockConversations(tx, threads);
  const missing = reads.filter(({ thread, messages }) => messages.length > 0 && !ids.has(threadKey(thread)));
  if (missing.length === 0) return ids;
  const added = [...new Map(missing.map(({ thread }) => [threadKey(thread), thread])).entries()].sort();
  await query(
    tx,
    `insert into warehouse.sms_conversations (line, number, participants_key, participants, discovered_via)
     select line, number, participants_key, string_to_array(participants_key, ','), 'webhook'
     from unnest($1::text[], $2::text[], $3::text[]) as a (line, number, participants_key)
     on conflict (line, number, participants_key) do nothing`,
    keyColumns(added.map(([, thread]) => thread)),
  );
  return lockConversations(tx, threads);
}

async function lockConversations(tx: Transaction, threads: readonly Thread[]): Promise<Map<string, string>> {
  const rows = await query<{ conversation_id: string; line: string; number: string; participants: string[] }>(
    tx,
    `select c.conversation_id, c.line, c.number, c.participants
     from warehouse.sms_conversations c
     join (select distinct * from unnest($1::text[], $2::text[], $3::text[]) as l (line, number, participants_key)) l
       using (line, number, participants_key)
     order by c.line, c.number, c.participants_key for update of c`,
    keyColumns(threads),
  );
  return new Map(rows.map((row) => [threadKey(row), row.conversation_id]));
}

function keyColumns(threads: readonly Thread[]): string[][] {
  return [
    threads.map((thread) => thread.line),
    threads.map((thread) => thread.number),
    threads.map((thread) => thread.participants.join(',')),
  ];
}

async function summarize(tx: Transaction, held: readonly (ThreadRead & { conversationId: string })[]): Promise<void> {
  await query(
    tx,
    `update warehouse.sms_conversations c set
       first_message_at = m.first_at, last_message_at = m.last_at,
       last_inbound_at = m.last_in_at, last_outbound_at = m.last_out_at, last_direction = m.last_direction,
       message_count = m.held, changed_at = coalesce(m.changed_at, c.changed_at),
       thread_fetched_at = greatest(c.thread_fetched_at, r.fetched_at), fetch_seq = greatest(c.fetch_seq, r.fetch_seq),
       is_thread_complete = c.is_thread_complete or r.is_complete,
       deleted_at = case when m.held > 0 then null when r.is_complete then coalesce(c.deleted_at, now()) else c.deleted_at end,
       deleted_reason = case when m.held > 0 then null when r.is_complete then 'a complete read lists no message' else c.deleted_reason end
     from (
       select conversation_id, max(fetch_seq) as fetch_seq, max(fetched_at) as fetched_at, bool_or(is_complete) as is_complete
       from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::boolean[])
         as u (conversation_id, fetch_seq, fetched_at, is_complete)
       group by conversation_id
     ) r
     cross join lateral (
       select count(*) filter (where deleted_at is null) as held, max(changed_at) as changed_at,
         min(sent_at) filter (where counts) as first_at, max(sent_at) filter (where counts) as last_at,
         max(sent_at) filter (where counts and direction = 'in') as last_in_at,
         max(sent_at) filter (where counts and direction = 'out') as last_out_at,
         (array_agg(direction order by sent_at desc nulls last, message_id desc) filter (where counts))[1] as last_direction
       from (
         select *, deleted_at is null and is_scheduled is not true as counts
         from warehouse.sms_messages where conversation_id = r.conversation_id
       ) message
     ) m
     where c.conversation_id = r.conversation_id`,
    [
      held.map(({ conversationId }) => conversationId),
      held.map(({ read }) => read.fetchSeq),
      held.map(({ read }) => read.fetchedAt),
      held.map(({ isComplete }) => isComplete),
    ],
  );
}
