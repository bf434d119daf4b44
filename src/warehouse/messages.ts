import type { Message } from '../api-client/client.ts';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import type { Thread } from '../shared/thread.ts';
import { optOutVerdict } from './opt-out.ts';
import { storeRawAnswers } from './raw-answers.ts';
import { isExpired } from './retention.ts';
import { mirrorTable, type Provenance, type Row, type SealLink, upsert } from './upsert.ts';

export const smsMessages = mirrorTable(
  'warehouse.sms_messages',
  ['conversation_id', 'message_id'],
  {
    conversation_id: 'bigint',
    message_id: 'bigint',
    line: 'text',
    number: 'text',
    direction: 'text',
    from_number: 'text',
    to_number: 'text',
    body: 'text',
    media_count: 'integer',
    sent_at: 'timestamptz',
    is_read: 'boolean',
    sent_by: 'bigint',
    delivery_status: 'text',
    delivery_error: 'text',
    delivery_at: 'timestamptz',
    group_participants: 'text[]',
    is_scheduled: 'boolean',
    scheduled_at: 'timestamptz',
    is_blocked: 'boolean',
    block_reason: 'text',
    opt_out_verdict: 'text',
    body_length: 'integer',
    body_segment_count: 'integer',
  },
  {
    // Not `is_scheduled`: once the text is sent, the service may leave the field out.
    keptWhenMissing: [
      ...(['direction', 'from_number', 'to_number', 'body', 'media_count', 'sent_at', 'is_read', 'sent_by'] as const),
      ['delivery_status', 'delivery_error', 'delivery_at'],
      'group_participants',
      ['is_blocked', 'block_reason'],
    ],
    // Neither a release that judges otherwise nor retention is a change of the text.
    untracked: ['opt_out_verdict', 'body_length', 'body_segment_count'],
  },
);

/** One read of a thread. */
export interface ThreadRead {
  readonly thread: Thread;
  readonly messages: readonly Message[];
  /** The read listed the whole thread: a message that it lacks is deleted. */
  readonly isComplete: boolean;
  /** The read may have skipped messages, so the thread no longer counts as held whole. */
  readonly hasGap?: boolean;
  readonly read: Provenance;
  /** Undefined: links of attached files are not stored. */
  readonly sealLink?: SealLink | undefined;
  /** For how many days the content of texts is kept; undefined: for good. */
  readonly retentionDays?: number | undefined;
}

type HeldThread = ThreadRead & { readonly conversationId: string };

/**
 * Mirrors the messages of threads, and marks messages deleted that a complete read no longer lists. Of a message that is older
 * than its retention it stores the figures, and no content.
 */
export async function writeMessages(tx: Transaction, threads: readonly HeldThread[]): Promise<void> {
  const all = threads.flatMap(({ conversationId, thread, messages, read, sealLink, retentionDays }) =>
    messages.map((message) => ({
      ...{ conversationId, message, read, sealLink, row: messageRow(conversationId, thread, message) },
      isExpired: isExpired(retentionDays, message.sentAt),
    })),
  );
  const [expired, listed] = [all.filter((each) => each.isExpired), all.filter((each) => !each.isExpired)];
  await upsert(tx, smsMessages, [...listed, ...(await withoutBodies(tx, expired))]);
  await markAbsentDeleted(
    tx,
    threads.filter(({ isComplete }) => isComplete),
  );
  await storeMedia(tx, listed);
  await storeReaders(tx, all);
  await storeRawAnswers(
    tx,
    listed.flatMap(({ conversationId, message, read }) =>
      message.unknownKeys.length > 0
        ? [{ entity: 'message' as const, key: `${conversationId}/${message.id}`, raw: message.raw, read }]
        : [],
    ),
  );
}

function messageRow(conversationId: string, thread: Thread, message: Message): MessageRow {
  return {
    conversation_id: conversationId,
    message_id: message.id,
    line: thread.line,
    number: thread.number,
    direction: message.direction,
    from_number: message.from,
    to_number: message.to,
    body: message.text,
    media_count: message.media?.length,
    sent_at: message.sentAt,
    is_read: message.read,
    sent_by: message.sentBy,
    delivery_status: message.delivery?.status,
    delivery_error: message.delivery?.error,
    delivery_at: message.delivery?.at,
    group_participants: message.groupParticipants,
    is_scheduled: message.scheduled,
    scheduled_at: message.scheduledAt,
    is_blocked: message.blocked,
    block_reason: message.blockReason,
    opt_out_verdict:
      message.direction === 'out' || message.text === undefined ? undefined : optOutVerdict(message.text),
  };
}

type MessageRow = Row<typeof smsMessages.columns>;

/** Replaces each body by its length and its segments. */
async function withoutBodies<T extends { readonly row: MessageRow }>(
  tx: Transaction,
  expired: readonly T[],
): Promise<T[]> {
  if (expired.length === 0) return [];
  const figures = await hotQuery(
    tx,
    sql<{ length: number | null; segments: number | null }>`
      select char_length(body) as length, reporting.sms_segments(body) as segments
      from ${relation('r', expired, { body: ['text', ({ row }) => row.body] }, 'ordinal')} order by ordinal`,
  );
  return expired.map((each, at) => ({
    ...each,
    row: {
      ...each.row,
      body: null,
      body_length: figures[at]?.length,
      body_segment_count: figures[at]?.segments,
    },
  }));
}

// The upsert gave every listed message the number of the read: a message with a lower number was not listed.
async function markAbsentDeleted(tx: Transaction, complete: readonly HeldThread[]): Promise<void> {
  if (complete.length === 0) return;
  await hotQuery(
    tx,
    sql`
      update warehouse.sms_messages m
      set deleted_at = now(), deleted_reason = 'a complete read of the thread does not list it', changed_at = now(),
        fetch_seq = r.fetch_seq
      from ${relation('r', complete, {
        conversation_id: ['bigint', (thread) => thread.conversationId],
        fetch_seq: ['bigint', (thread) => thread.read.fetchSeq],
      })}
      where m.conversation_id = r.conversation_id and m.fetch_seq < r.fetch_seq and m.deleted_at is null`,
  );
}

interface Listed {
  readonly conversationId: string;
  readonly message: Message;
  readonly sealLink?: SealLink | undefined;
}

/** Identifies the row of an attached file; its sealed link is bound to it. */
export function mediaRow(conversationId: string, messageId: number | string, ordinal: number): string {
  return `message_media ${conversationId} ${messageId} ${ordinal}`;
}

async function storeMedia(tx: Transaction, listed: readonly Listed[]): Promise<void> {
  const media = listed.flatMap(({ conversationId, message: { id, media }, sealLink }) =>
    sealLink === undefined
      ? []
      : (media ?? []).map((url, at) => {
          const ordinal = at + 1;
          return { conversationId, messageId: id, ordinal, url: sealLink(url, mediaRow(conversationId, id, ordinal)) };
        }),
  );
  if (media.length === 0) return;
  await hotQuery(
    tx,
    sql`
      insert into secrets.message_media as t (conversation_id, message_id, ordinal, url)
      select distinct on (conversation_id, message_id, ordinal) *
      from ${relation('listed', media, {
        conversation_id: ['bigint', (each) => each.conversationId],
        message_id: ['bigint', (each) => each.messageId],
        ordinal: 'smallint',
        url: 'text',
      })}
      order by conversation_id, message_id, ordinal
      on conflict (conversation_id, message_id, ordinal) do update set url = excluded.url where t.url <> excluded.url`,
  );
}

async function storeReaders(tx: Transaction, listed: readonly Listed[]): Promise<void> {
  const readers = listed.flatMap(({ conversationId, message }) =>
    (message.readBy ?? []).map((userId) => ({ conversationId, messageId: message.id, userId })),
  );
  if (readers.length === 0) return;
  await hotQuery(
    tx,
    sql`
      insert into warehouse.sms_message_reads (conversation_id, message_id, user_id)
      select distinct *
      from ${relation('listed', readers, {
        conversation_id: ['bigint', (each) => each.conversationId],
        message_id: ['bigint', (each) => each.messageId],
        user_id: ['bigint', (each) => each.userId],
      })}
      order by conversation_id, message_id, user_id
      on conflict do nothing`,
  );
}
