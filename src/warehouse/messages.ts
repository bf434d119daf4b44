import type { Message } from '../api-client/client.ts';
import { hotQuery, relation, sql, type Transaction, unseen } from '../db/database.ts';
import type { Thread } from '../shared/thread.ts';
import { isExpired } from './expiry.ts';
import { extrasOf } from './extra.ts';
import type { JsonRow } from './held-calls.ts';
import { type LinkSealer, storeLinks } from './links.ts';
import { isReaction, optOutVerdict } from './opt-out.ts';
import { type Change, mirrorTable, type Provenance, upsert } from './upsert.ts';
import { type Follow, followingLostTexts, followingText, textColumns } from './what-follows.ts';

interface Listed {
  readonly conversationId: string;
  readonly thread: Thread;
  readonly message: Message;
  readonly read: Provenance;
  readonly sealer?: LinkSealer | undefined;
}

export const smsMessages = mirrorTable<Listed>()(
  'warehouse.sms_messages',
  ['conversation_id', 'message_id'],
  {
    conversation_id: ['bigint', ({ conversationId }) => conversationId],
    message_id: ['bigint', ({ message }) => message.id],
    line: ['text', ({ thread }) => thread.line],
    number: ['text', ({ thread }) => thread.number],
    direction: ['text', ({ message }) => message.direction],
    from_number: ['text', ({ message }) => message.from],
    to_number: ['text', ({ message }) => message.to],
    body: ['text', ({ message }) => message.text],
    media_count: ['integer', ({ message }) => message.media?.length],
    sent_at: ['timestamptz', ({ message }) => message.sentAt],
    is_read: ['boolean', ({ message }) => message.read],
    sent_by: ['bigint', ({ message }) => message.sentBy],
    delivery_status: ['text', ({ message }) => message.delivery?.status],
    delivery_error: ['text', ({ message }) => message.delivery?.error],
    delivery_at: ['timestamptz', ({ message }) => message.delivery?.at],
    group_participants: ['text[]', ({ message }) => message.groupParticipants],
    // A text is scheduled only while the service says so: if an answer lacks the field, a sent text must neither be
    // hidden nor seem to wait.
    is_scheduled: ['boolean', ({ message }) => message.scheduled ?? false],
    scheduled_at: ['timestamptz', ({ message }) => message.scheduledAt],
    is_blocked: ['boolean', ({ message }) => message.blocked],
    block_reason: ['text', ({ message }) => message.blockReason],
    opt_out_verdict: ['text', ({ message }) => wordsOf(message, optOutVerdict)],
    is_reaction: ['boolean', ({ message }) => wordsOf(message, isReaction)],
    body_length: ['integer', () => undefined],
    body_segment_count: ['integer', () => undefined],
  },
  {
    keptWhenMissing: [
      ...(['direction', 'from_number', 'to_number', 'body', 'media_count', 'sent_at', 'is_read', 'sent_by'] as const),
      ['delivery_status', 'delivery_error', 'delivery_at'],
      'group_participants',
      ['is_blocked', 'block_reason'],
    ],
    // A new release may judge the text differently, and retention removes content: neither changes the text.
    untracked: ['opt_out_verdict', 'is_reaction', 'body_length', 'body_segment_count'],
    skipsSame: true,
  },
);

/** One read of a thread. */
export interface ThreadRead {
  readonly thread: Thread;
  readonly messages: readonly Message[];
  /** The read listed the whole thread, so missing messages are deleted. */
  readonly isComplete: boolean;
  /** The read may have skipped messages, so the thread no longer counts as completely mirrored. */
  readonly hasGap?: boolean;
  readonly read: Provenance;
  /** Undefined: links of attached files aren't stored. */
  readonly sealer?: LinkSealer | undefined;
  /** For how many days the content of texts is kept. Undefined: forever. */
  readonly retentionDays?: number | undefined;
}

type ConversationRead = ThreadRead & { readonly conversationId: string };

/**
 * Mirrors the messages of threads, and marks messages deleted that a complete read no longer lists. For a message older
 * than its retention, stores the figures but no content.
 */
export async function writeMessages(
  tx: Transaction,
  follow: Follow,
  threads: readonly ConversationRead[],
): Promise<void> {
  const all = threads.flatMap(({ conversationId, thread, messages, read, sealer, retentionDays }) =>
    messages.map((message) => ({
      ...{ conversationId, thread, message, read, sealer },
      isExpired: isExpired(retentionDays, message.sentAt),
    })),
  );
  const [expired, listed] = [all.filter((each) => each.isExpired), all.filter((each) => !each.isExpired)];
  const extras = extrasOf(listed.map(({ message }) => message));
  const rows = listed.map((each, at) => ({ row: smsMessages.row(each), read: each.read, extra: extras[at] }));
  const written = await upsert(tx, smsMessages, [...rows, ...(await withoutBodies(tx, expired))], textsCompared);
  const lost = await markUnlisted(
    tx,
    threads.filter(({ isComplete }) => isComplete),
  );
  await storeReceipts(tx, written);
  const media = listed.flatMap(({ conversationId, message: { id, media }, sealer }) =>
    (media ?? []).map((url, at) => ({ owner: `${conversationId}/${id}`, part: String(at + 1), url, sealer })),
  );
  await storeLinks(tx, 'file', media);
  await storeReaders(tx, all);
  for (const change of written) follow(followingText(change));
  follow(followingLostTexts(lost));
}

const receiptColumns = ['delivery_status', 'delivery_error', 'delivery_at'] as const;
const textsCompared = [...textColumns, 'delivery_at'] as const;

/** Marks texts deleted that complete reads of their threads don't list. Resolves to their previous rows. */
async function markUnlisted(tx: Transaction, threads: readonly ConversationRead[]): Promise<JsonRow[]> {
  if (threads.length === 0) return [];
  const listed = threads.flatMap(({ conversationId, messages }) => messages.map(({ id }) => ({ conversationId, id })));
  const rows = await hotQuery<{ text: JsonRow }>(
    tx,
    sql`
      update warehouse.sms_messages t
      set deleted_at = now(), deleted_reason = 'a complete read of the thread does not list it', changed_at = now(), fetch_seq = r.fetch_seq
      from ${relation('r', threads, { conversation_id: ['bigint', (each) => each.conversationId], fetch_seq: ['bigint', ({ read }) => read.fetchSeq] })}
      where t.conversation_id = any(${unseen(threads.map((each) => each.conversationId))}::bigint[])
        and t.conversation_id = r.conversation_id and t.fetch_seq < r.fetch_seq and t.deleted_at is null
        and (t.conversation_id, t.message_id) not in (
          select conversation_id, message_id
          from ${relation('l', listed, { conversation_id: ['bigint', (each) => each.conversationId], message_id: ['bigint', ({ id }) => id] })})
      returning jsonb_build_object(${sql.raw(textColumns.map((column) => `'${column}', ${/_id$/.test(column) ? `t.${column}::text` : column === 'deleted_at' ? 'null' : `t.${column}`}`).join(', '))}) as text`,
  );
  return rows.map(({ text }) => text);
}

/** A receipt can be missing in one answer and return in the next. It is recorded once, when first observed. */
async function storeReceipts(tx: Transaction, written: readonly Change<JsonRow>[]): Promise<void> {
  const receipts = written.flatMap(({ before, after }) =>
    receiptColumns.some((column) => after[column] != null) &&
    receiptColumns.some((column) => after[column] !== (before?.[column] ?? null))
      ? [after]
      : [],
  );
  if (receipts.length === 0) return;
  await hotQuery(
    tx,
    sql`
      insert into warehouse.sms_message_delivery_events (conversation_id, message_id, delivery_status, delivery_error, delivery_at)
      select * from ${relation<JsonRow, string>('r', receipts, {
        conversation_id: ['bigint', (row) => row.conversation_id],
        message_id: ['bigint', (row) => row.message_id],
        delivery_status: ['text', (row) => row.delivery_status],
        delivery_error: ['text', (row) => row.delivery_error],
        delivery_at: ['timestamptz', (row) => row.delivery_at],
      })}
      where not exists (
        select from warehouse.sms_message_delivery_events e
        where e.conversation_id = r.conversation_id and e.message_id = r.message_id
          and (e.delivery_status, e.delivery_at) is not distinct from (r.delivery_status, r.delivery_at))`,
  );
}

/** What an inbound text says, according to `read`. */
function wordsOf<T>({ direction, text }: Message, read: (text: string) => T): T | undefined {
  return direction === 'out' || text === undefined ? undefined : read(text);
}

/** The rows of expired messages, with the length and segments of the body instead of the body. */
async function withoutBodies(tx: Transaction, expired: readonly Listed[]) {
  if (expired.length === 0) return [];
  const figures = await hotQuery(
    tx,
    sql<{ length: number | null; segments: number | null }>`
      select char_length(body) as length, reporting.sms_segments(body) as segments
      from ${relation('r', expired, { body: ['text', ({ message }) => message.text] }, 'ordinal')} order by ordinal`,
  );
  return expired.map((each, at) => {
    const { length, segments } = figures[at] ?? {};
    const row = { ...smsMessages.row(each), body: null, body_length: length, body_segment_count: segments };
    return { row, read: each.read };
  });
}

/** Stores who has read texts. A text that is unread for the credential's user is marked as read by others. */
async function storeReaders(tx: Transaction, listed: readonly Listed[]): Promise<void> {
  const readers = listed.flatMap(({ conversationId, message }) =>
    (message.readBy ?? []).map((userId) => ({ conversationId, messageId: message.id, userId })),
  );
  if (readers.length === 0) return;
  await hotQuery(
    tx,
    sql`
      with added as (
        insert into warehouse.sms_message_reads (conversation_id, message_id, user_id)
        select distinct *
        from ${relation('listed', readers, {
          conversation_id: ['bigint', (each) => each.conversationId],
          message_id: ['bigint', (each) => each.messageId],
          user_id: ['bigint', (each) => each.userId],
        })}
        order by conversation_id, message_id, user_id
        on conflict do nothing
        returning conversation_id, message_id
      )
      update warehouse.sms_messages m set is_read_by_others = true
      from (select distinct * from added) a
      where m.conversation_id = a.conversation_id and m.message_id = a.message_id and m.is_read = false and not m.is_read_by_others`,
  );
}
