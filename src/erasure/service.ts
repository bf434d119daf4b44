import { type Service, ServiceError } from '../service/client.ts';
import { type Database, query } from '../warehouse/database.ts';
import { mentionPattern, roughMentionPattern, spellingsOf } from '../warehouse/erasure/mentions.ts';

/** What the service lists of a person and can be told to delete: a thread, or one text of somebody else's thread. */
export interface HeldAtService {
  readonly line: string;
  readonly number: string;
  /** Missing when the whole thread goes. */
  readonly messageId?: string;
}

export interface RefusedAtService extends HeldAtService {
  readonly reason: string;
}

/** What came of the deletes. Each can be repeated: what is gone is not found, which counts as deleted. */
export interface AtService {
  readonly deleted: readonly HeldAtService[];
  readonly refused: readonly RefusedAtService[];
}

/**
 * What is to be deleted at the service: the thread with the number on each line, also where none is mirrored, and of
 * other threads each text that mentions the number. A group cannot be addressed by a delete, so that its texts go one by one.
 */
export async function listAtService(db: Database, number: string): Promise<HeldAtService[]> {
  const threads = await query<HeldAtService>(
    db,
    `select line, $1 as number from warehouse.sms_lines where deleted_at is null
     union
     select line, number from warehouse.sms_conversations where participants_key = '' and number = any($2)
     order by 1, 2`,
    [number, spellingsOf(number)],
  );
  const text = `concat_ws('|', m.body, m.from_number, m.to_number, array_to_string(m.group_participants, '|'))`;
  const messages = await query<Required<HeldAtService>>(
    db,
    `select m.line, m.number, m.message_id::text as "messageId"
     from warehouse.sms_messages m join warehouse.sms_conversations c using (conversation_id)
     where m.deleted_at is null and (c.participants_key <> '' or c.number <> all($3))
       and (c.participants && $3 or (${text} ~ $2 and ${text} ~ $1))
     order by 1, 2, m.message_id`,
    [mentionPattern(number), roughMentionPattern(number), spellingsOf(number)],
  );
  return [...threads, ...messages];
}

/**
 * Deletes at the service, one after the other. What it refuses is returned; where the service cannot be asked at all, this
 * throws its `ServiceError`, and the whole is to be repeated.
 */
export async function eraseAtService(
  { conversations }: Pick<Service, 'conversations'>,
  held: readonly HeldAtService[],
): Promise<AtService> {
  const deleted: HeldAtService[] = [];
  const refused: RefusedAtService[] = [];
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
