import { type Database, query } from '../../database.ts';
import type { Thread } from './conversations.ts';

/** What the mirror holds of a thread that decides how far back it is read. */
export interface HeldThread {
  readonly conversationId: string;
  readonly isThreadComplete: boolean;
}

export async function heldThread(db: Database, thread: Thread): Promise<HeldThread | undefined> {
  const [held] = await query<HeldThread>(
    db,
    `select conversation_id as "conversationId", is_thread_complete as "isThreadComplete"
     from warehouse.sms_conversations where line = $1 and number = $2 and participants_key = $3`,
    [thread.line, thread.number, thread.participants.join(',')],
  );
  return held;
}

/** Whether all these messages of a conversation are held and not deleted. */
export async function holdsAll(
  db: Database,
  conversationId: string,
  ids: readonly (number | string)[],
): Promise<boolean> {
  const [row] = await query<{ held: number }>(
    db,
    `select count(*)::integer as held from warehouse.sms_messages
     where conversation_id = $1 and message_id = any($2::bigint[]) and deleted_at is null`,
    [conversationId, ids],
  );
  return row?.held === ids.length;
}

/** Whether a conversation holds no message, but deleted ones, besides these. */
export async function holdsOnly(
  db: Database,
  conversationId: string,
  ids: readonly (number | string)[],
): Promise<boolean> {
  const [row] = await query<{ others: boolean }>(
    db,
    `select exists (select from warehouse.sms_messages
       where conversation_id = $1 and message_id <> all($2::bigint[]) and deleted_at is null) as others`,
    [conversationId, ids],
  );
  return row?.others === false;
}
