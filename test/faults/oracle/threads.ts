import type { Pool } from 'pg';
import { belongingOf } from '../../../src/warehouse/links.ts';
import { links } from '../deployment/deployment.ts';
import type { FaultyService, Resource } from '../deployment/service.ts';
import type { ThreadName } from '../load/keys.ts';
import { comparable, differences, expectedRow, type Row } from './differences.ts';

const columns = {
  message_id: 'id',
  direction: 'direction',
  from_number: 'from',
  to_number: 'to',
  body: 'text',
  sent_at: 'sentAt',
  is_read: 'read',
  sent_by: 'sentBy',
  media: 'media',
  group_participants: 'groupParticipants',
  is_scheduled: 'scheduled',
  is_blocked: 'blocked',
};
const receipt = { delivery_status: 'status', delivery_error: 'error', delivery_at: 'at' };
const pageLength = 200;

/** Where the mirror of a thread is not what the service answers now, message by message. */
export async function threadDifferences(database: Pool, service: FaultyService, thread: ThreadName): Promise<string[]> {
  const listed = await listMessages(service, thread);
  const expected = listed
    .map(
      (message): Row => ({
        ...expectedRow(message, columns),
        ...expectedRow((message.delivery ?? {}) as Resource, receipt),
      }),
    )
    .sort((a, b) => Number(a.message_id) - Number(b.message_id));
  const { rows } = await database.query<Row>(
    `select m.*, m.conversation_id || '/' || m.message_id as owner,
       coalesce((select array_agg(l.link order by l.part::integer) from secrets.links l
         where l.kind = 'file' and l.owner = m.conversation_id || '/' || m.message_id), '{}') as media
     from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
     where c.line = $1 and c.number = $2 and c.participants_key = $3 and c.deleted_at is null and m.deleted_at is null
     order by m.message_id`,
    [thread.line, thread.number, thread.participants.join(',')],
  );
  const opened = rows.map((row) => ({
    ...row,
    media: (row.media as string[]).map((link, at) =>
      links.open(link, belongingOf('file', { owner: String(row.owner), part: String(at + 1) })),
    ),
  }));
  return differences(`thread ${thread.line}/${thread.number}/${thread.participants}`, expected, opened);
}

async function listMessages(service: FaultyService, { line, number, participants }: ThreadName): Promise<Resource[]> {
  const messages = new Map<unknown, Resource>();
  for (;;) {
    const query = new URLSearchParams({ limit: String(pageLength), offset: String(messages.size) });
    if (participants.length > 0) query.set('groupParticipants', participants.join(','));
    const page = await service.read<{ messages: Resource[] }>(`/sms/conversations/${line}/${number}?${query}`);
    for (const message of page.messages) messages.set(comparable(message.id), message);
    if (page.messages.length < pageLength) return [...messages.values()];
  }
}
