import type { Message } from '../../../service/entities/message.ts';
import type { Provenance, SealLink } from '../../columns.ts';
import { hotQuery, query, type Transaction } from '../../database.ts';
import { erasedAmong, withoutMentions } from '../../erasure/erased.ts';
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
  /** The read may have missed messages in between: the mirror can no longer count on holding all. */
  readonly hasGap?: boolean;
  /** The next read is to list the thread to its end, though all of it is held. */
  readonly owesReread?: boolean;
  readonly read: Provenance;
  /** Without it no link of an attached file is kept. */
  readonly sealLink?: SealLink | undefined;
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
 * lists nothing leaves no row, so that a hint alone cannot write data. A thread in which somebody takes part who was
 * erased is left out whole: what the others wrote answers them.
 */
export async function writeThreads(tx: Transaction, all: readonly ThreadRead[]): Promise<void> {
  const reads = await clearThreads(tx, all);
  const conversations = await conversationsOf(tx, reads);
  // A read that began before the newest one applied knows less than what is held.
  const held = reads.flatMap((read) => {
    const conversation = conversations.get(threadKey(read.thread));
    const isLate = conversation !== undefined && BigInt(conversation.fetchSeq) > BigInt(read.read.fetchSeq);
    return conversation === undefined || isLate ? [] : [{ ...read, conversationId: conversation.id }];
  });
  if (held.length === 0) return;
  await writeMessages(tx, held);
  await summarize(tx, held);
}

async function clearThreads(tx: Transaction, reads: readonly ThreadRead[]): Promise<readonly ThreadRead[]> {
  const partiesOf = ({ thread }: ThreadRead) => [thread.number, ...thread.participants];
  const erased = await erasedAmong(tx, () => reads.flatMap(partiesOf));
  return withoutMentions(
    tx,
    reads.filter((each) => !partiesOf(each).some((number) => erased.has(number))),
  );
}

/** A thread that three spaced reads did not find. */
export interface ThreadGone {
  readonly thread: Thread;
  readonly read: Provenance;
}

/**
 * Marks threads deleted, with their messages, that three spaced reads did not find. Of what comes back, the first read is
 * to list all: a page of it would fit what is held, which is nothing.
 */
export async function markThreadsGone(tx: Transaction, gone: readonly ThreadGone[]): Promise<void> {
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
  for (const [table, summary] of [
    ['sms_messages', ''],
    ['sms_conversations', emptied],
  ]) {
    await query(
      tx,
      `update warehouse.${table} t set deleted_at = now(), deleted_reason = 'not found by three spaced reads',
         changed_at = now(), fetch_seq = g.fetch_seq${summary}
       from unnest($1::bigint[], $2::bigint[]) as g (conversation_id, fetch_seq)
       where t.conversation_id = g.conversation_id and t.fetch_seq <= g.fetch_seq and t.deleted_at is null`,
      [held.map(({ id }) => id), held.map(({ fetchSeq }) => fetchSeq)],
    );
  }
}

interface Conversation {
  readonly id: string;
  /** Number of the newest read applied. */
  readonly fetchSeq: string;
}

// Locks what it finds, so that two reads of one thread are written one after the other and its summary misses nothing.
async function conversationsOf(tx: Transaction, reads: readonly ThreadRead[]): Promise<Map<string, Conversation>> {
  const threads = reads.map(({ thread }) => thread);
  const held = await lockConversations(tx, threads);
  const missing = reads.filter(({ thread, messages }) => messages.length > 0 && !held.has(threadKey(thread)));
  if (missing.length === 0) return held;
  const wanted = [...new Map(missing.map(({ thread }) => [threadKey(thread), thread])).entries()].sort();
  const added = await hotQuery<ConversationRow>(
    tx,
    `insert into warehouse.sms_conversations as c (line, number, participants_key, participants, discovered_via)
     select line, number, participants_key, string_to_array(participants_key, ','),
       case when p.probed_at is null then 'webhook' when p.evidence = 'import' then 'import' else 'probe' end
     from unnest($1::text[], $2::text[], $3::text[]) as a (line, number, participants_key)
     left join ops.thread_candidates p using (line, number)
     on conflict (line, number, participants_key) do nothing
     returning ${conversationColumns}`,
    keyColumns(wanted.map(([, thread]) => thread)),
  );
  // Where another transaction was quicker, its row is there now.
  return added.length < wanted.length ? lockConversations(tx, threads) : new Map([...held, ...conversationsIn(added)]);
}

const conversationColumns = 'c.conversation_id, c.line, c.number, c.participants, c.fetch_seq';
type ConversationRow = Thread & { readonly conversation_id: string; readonly fetch_seq: string };

async function lockConversations(tx: Transaction, threads: readonly Thread[]): Promise<Map<string, Conversation>> {
  const rows = await hotQuery<ConversationRow>(
    tx,
    `select ${conversationColumns}
     from warehouse.sms_conversations c
     join (select distinct * from unnest($1::text[], $2::text[], $3::text[]) as l (line, number, participants_key)) l
       using (line, number, participants_key)
     order by c.line, c.number, c.participants_key for update of c`,
    keyColumns(threads),
  );
  return conversationsIn(rows);
}

function conversationsIn(rows: readonly ConversationRow[]): Map<string, Conversation> {
  return new Map(rows.map((row) => [threadKey(row), { id: row.conversation_id, fetchSeq: row.fetch_seq }]));
}

function keyColumns(threads: readonly Thread[]): string[][] {
  return [
    threads.map((thread) => thread.line),
    threads.map((thread) => thread.number),
    threads.map((thread) => thread.participants.join(',')),
  ];
}

async function summarize(tx: Transaction, held: readonly (ThreadRead & { conversationId: string })[]): Promise<void> {
  await hotQuery(
    tx,
    `update warehouse.sms_conversations c set
       first_message_at = m.first_at, last_message_at = m.last_at,
       last_inbound_at = m.last_in_at, last_outbound_at = m.last_out_at, last_direction = m.last_direction,
       message_count = m.held, changed_at = coalesce(m.changed_at, c.changed_at),
       thread_fetched_at = greatest(c.thread_fetched_at, r.fetched_at), fetch_seq = greatest(c.fetch_seq, r.fetch_seq),
       is_thread_complete = (c.is_thread_complete and not r.has_gap) or r.is_complete,
       is_reread_owed = (c.is_reread_owed and not r.is_complete) or r.owes_reread,
       complete_read_at = case when r.is_complete then greatest(c.complete_read_at, r.fetched_at) else c.complete_read_at end,
       deleted_at = case when m.held > 0 then null when r.is_complete then coalesce(c.deleted_at, now()) else c.deleted_at end,
       deleted_reason = case when m.held > 0 then null when r.is_complete then 'a complete read lists no message' else c.deleted_reason end
     from (
       select conversation_id, max(fetch_seq) as fetch_seq, max(fetched_at) as fetched_at,
         bool_or(is_complete) as is_complete, bool_or(has_gap) as has_gap,
         bool_or(owes_reread) as owes_reread
       from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::boolean[], $5::boolean[], $6::boolean[])
         as u (conversation_id, fetch_seq, fetched_at, is_complete, has_gap, owes_reread)
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
      held.map(({ hasGap }) => hasGap ?? false),
      held.map(({ owesReread }) => owesReread ?? false),
    ],
  );
}
