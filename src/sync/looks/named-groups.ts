import type { Bump } from '../../inbox/bumps.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { threadKey, threadOf } from '../../warehouse/entities/texts/conversations.ts';

/*
 * An event of a group can name the sender and the line alone, and so point at the thread of these two, which need not
 * list what was said in the group. Where that thread does not show the text that an event named, the groups are read.
 */

/** So many of the groups that somebody takes part in, those first in which something was said last. */
const mostGroups = 5;

/** The held groups of a line in which the other party of a thread takes part; none for the thread of a group. */
export async function groupsOfParty(db: Database, key: string): Promise<Bump[]> {
  const { line, number, participants } = threadOf(key);
  if (participants.length > 0) return [];
  const groups = await query<{ number: string; participants: string[] }>(
    db,
    `select number, participants from warehouse.sms_conversations
     where line = $1 and participants_key <> '' and $2 = any(participants) and deleted_at is null
     order by last_message_at desc nulls last limit $3`,
    [line, number, mostGroups],
  );
  return groups.map((group) => ({ kind: 'thread', key: threadKey({ line, ...group }) }));
}
