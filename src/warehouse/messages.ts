import type { Message } from '../api-client/client.ts';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import type { Thread } from '../shared/thread.ts';
import { optOutVerdict } from './opt-out.ts';
import { storeRawAnswers, unspecified } from './raw-answers.ts';
import { isExpired } from './retention.ts';
import { markDeleted, mirrorTable, type Provenance, type SealLink, upsert } from './upsert.ts';

interface Listed {
  readonly conversationId: string;
  readonly thread: Thread;
  readonly message: Message;
  readonly read: Provenance;
  readonly sealLink?: SealLink | undefined;
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
    // A text is scheduled only while the service says so: an answer without the field neither hides a sent text nor keeps it waiting.
    is_scheduled: ['boolean', ({ message }) => message.scheduled ?? false],
    scheduled_at: ['timestamptz', ({ message }) => message.scheduledAt],
    is_blocked: ['boolean', ({ message }) => message.blocked],
    block_reason: ['text', ({ message }) => message.blockReason],
    opt_out_verdict: ['text', ({ message }) => verdictOf(message)],
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
      ...{ conversationId, thread, message, read, sealLink },
      isExpired: isExpired(retentionDays, message.sentAt),
    })),
  );
  const [expired, listed] = [all.filter((each) => each.isExpired), all.filter((each) => !each.isExpired)];
  const rows = listed.map((each) => ({ row: smsMessages.row(each), read: each.read }));
  await upsert(tx, smsMessages, [...rows, ...(await withoutBodies(tx, expired))]);
  // The upsert gave every listed message the number of the read: a message with a lower number was not listed.
  const complete = threads.filter(({ isComplete }) => isComplete);
  await markDeleted(tx, 'warehouse.sms_messages', 'a complete read of the thread does not list it', complete, {
    conversation_id: ['bigint', ({ conversationId }) => conversationId],
  });
  await storeMedia(tx, listed);
  await storeReaders(tx, all);
  await storeRawAnswers(
    tx,
    listed.flatMap(({ conversationId, message, read }) =>
      unspecified('message', `${conversationId}/${message.id}`, message, read),
    ),
  );
}

function verdictOf({ direction, text }: Message): string | undefined {
  return direction === 'out' || text === undefined ? undefined : optOutVerdict(text);
}

/** The rows of expired messages, each with the length and the segments of its body instead of the body. */
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
