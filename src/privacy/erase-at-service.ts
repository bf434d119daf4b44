import { type Service, ServiceError } from '../api-client/client.ts';
import { type Database, query, sql } from '../db/database.ts';
import { sameNumbers, spellingsOf } from '../warehouse/phone-numbers.ts';

/** A thread of the person at the service, or one text of another thread. */
export interface ErasableAtService {
  readonly line: string;
  readonly number: string;
  /** Undefined to delete the whole thread. */
  readonly messageId?: string;
}

/** The results of the deletes. Safe to repeat: "not found" counts as deleted. */
export interface ServiceErasure {
  readonly deleted: readonly ErasableAtService[];
  readonly refused: readonly (ErasableAtService & { readonly reason: string })[];
}

/**
 * Lists what to delete at the service: the thread with the number on each line, mirrored or not, and each mirrored text
 * of its groups, because a delete can't address a group.
 */
export async function listErasableAtService(db: Database, number: string): Promise<ErasableAtService[]> {
  const spellings = spellingsOf(number);
  const threads = await query(
    db,
    sql<ErasableAtService>`select line, number from warehouse.sms_lines, unnest(${sameNumbers(number)}::text[]) number where deleted_at is null
     union
     select line, number from warehouse.sms_conversations where participants_key = '' and number = any(${spellings})
     order by 1, 2`,
  );
  const messages = await query(
    db,
    sql<Required<ErasableAtService>>`select m.line, m.number, m.message_id::text as "messageId"
     from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
     where m.deleted_at is null and (c.participants_key <> '' or c.number <> all(${spellings}))
       and (c.participants && ${spellings}::text[] or m.group_participants && ${spellings}::text[])
     order by 1, 2, m.message_id`,
  );
  return [...threads, ...messages];
}

/**
 * Deletes at the service, one after the other, and returns the refused ones. Rejects with `ServiceError` if the service
 * is unreachable or rejects the credential; the caller then repeats the whole list.
 */
export async function eraseAtService(
  { conversations }: Pick<Service, 'conversations'>,
  held: readonly ErasableAtService[],
): Promise<ServiceErasure> {
  const deleted: ErasableAtService[] = [];
  const refused: ServiceErasure['refused'][number][] = [];
  for (const each of held) {
    const pair = { line: each.line, number: each.number };
    try {
      if (each.messageId === undefined) await conversations.delete(pair);
      else await conversations.deleteMessage(pair, each.messageId);
      deleted.push(each);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.advice === 'retry' || error.advice === 'credential') throw error;
      if (error.advice === 'not_found') deleted.push(each);
      else refused.push({ ...each, reason: error.message });
    }
  }
  return { deleted, refused };
}
