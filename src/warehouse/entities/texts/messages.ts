import type { Message } from '../../../service/entities/message.ts';
import { mirrorTable, type Row, type SealLink } from '../../columns.ts';
import { hotQuery, type Transaction } from '../../database.ts';
import { keepDocuments } from '../../documents.ts';
import { upsert } from '../../mirror.ts';
import type { Thread, ThreadRead } from './conversations.ts';

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
  },
  {
    // That it is scheduled ends, and some services then leave it out.
    kept: [
      ...(['direction', 'from_number', 'to_number', 'body', 'media_count', 'sent_at', 'is_read', 'sent_by'] as const),
      ['delivery_status', 'delivery_error', 'delivery_at'],
      'group_participants',
      ['is_blocked', 'block_reason'],
    ],
  },
);

type HeldThread = ThreadRead & { readonly conversationId: string };

/** Mirrors the messages of threads; those that a complete read no longer lists are marked deleted. */
export async function writeMessages(tx: Transaction, threads: readonly HeldThread[]): Promise<void> {
  const listed = threads.flatMap(({ conversationId, thread, messages, read, sealLink }) =>
    messages.map((message) => {
      return { conversationId, message, read, sealLink, row: messageRow(conversationId, thread, message) };
    }),
  );
  await upsert(tx, smsMessages, listed);
  await markAbsentDeleted(
    tx,
    threads.filter(({ isComplete }) => isComplete),
  );
  await keepMedia(tx, listed);
  await keepReaders(tx, listed);
  await keepDocuments(
    tx,
    listed.flatMap(({ conversationId, message, read }) =>
      message.unknownKeys.length > 0
        ? [{ entity: 'message' as const, key: `${conversationId}/${message.id}`, raw: message.raw, read }]
        : [],
    ),
  );
}

function messageRow(conversationId: string, thread: Thread, message: Message): Row<typeof smsMessages.columns> {
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
  };
}

// Every listed message now carries the read's number, so what is older was not listed.
async function markAbsentDeleted(tx: Transaction, complete: readonly HeldThread[]): Promise<void> {
  if (complete.length === 0) return;
  await hotQuery(
    tx,
    `update warehouse.sms_messages m
     set deleted_at = now(), deleted_reason = 'a complete read of the thread does not list it', changed_at = now(),
       fetch_seq = r.fetch_seq
     from unnest($1::bigint[], $2::bigint[]) as r (conversation_id, fetch_seq)
     where m.conversation_id = r.conversation_id and m.fetch_seq < r.fetch_seq and m.deleted_at is null`,
    [complete.map(({ conversationId }) => conversationId), complete.map(({ read }) => read.fetchSeq)],
  );
}

interface Listed {
  readonly conversationId: string;
  readonly message: Message;
  readonly sealLink?: SealLink | undefined;
}

/** The name of an attached file's row, to which its sealed link is bound. */
export function mediaRow(conversationId: string, messageId: number | string, ordinal: number): string {
  return `message_media ${conversationId} ${messageId} ${ordinal}`;
}

async function keepMedia(tx: Transaction, listed: readonly Listed[]): Promise<void> {
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
    `insert into secrets.message_media as t (conversation_id, message_id, ordinal, url)
     select distinct on (1, 2, 3) * from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[]) order by 1, 2, 3
     on conflict (conversation_id, message_id, ordinal) do update set url = excluded.url where t.url <> excluded.url`,
    [
      media.map((each) => each.conversationId),
      media.map((each) => each.messageId),
      media.map((each) => each.ordinal),
      media.map((each) => each.url),
    ],
  );
}

async function keepReaders(tx: Transaction, listed: readonly Listed[]): Promise<void> {
  const readers = listed.flatMap(({ conversationId, message }) =>
    (message.readBy ?? []).map((userId) => ({ conversationId, messageId: message.id, userId })),
  );
  if (readers.length === 0) return;
  await hotQuery(
    tx,
    `insert into warehouse.sms_message_reads (conversation_id, message_id, user_id)
     select distinct * from unnest($1::bigint[], $2::bigint[], $3::bigint[]) order by 1, 2, 3
     on conflict do nothing`,
    [
      readers.map((each) => each.conversationId),
      readers.map((each) => each.messageId),
      readers.map((each) => each.userId),
    ],
  );
}
