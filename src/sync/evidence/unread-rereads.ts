import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import { query, type Transaction } from '../../warehouse/database.ts';
import { bumpsOf } from './candidates.ts';
import { countedAs, type UnreadKind } from './counted.ts';

/*
 * Where a line counts fewer unread texts than are held, somebody has read some: which, only reading their threads shows. A
 * thread of which a whole reread found none read waits twice as long for the next one, across all that the line counts
 * meanwhile: on a busy line somebody reads a text each minute, and hundreds of threads hold others.
 */

const mostThreads = 50;
const firstWait = `interval '10 minutes'`;
const longestWait = `interval '12 hours'`;

/** Has threads read to their end, on a line, of which the mirror takes texts for unread, as many as have waited for it. */
export async function rereadUnread(
  tx: Transaction,
  { line, kind }: { readonly line: string; readonly kind: UnreadKind },
  pauses: Pauses,
): Promise<Ring[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `with holding as (
       select m.conversation_id, count(*)::integer as unread from warehouse.sms_messages m
       where m.line = $1 and ${countedAs[kind]} group by m.conversation_id
     ), due as (
       select c.conversation_id, h.unread from warehouse.sms_conversations c join holding h using (conversation_id)
       where c.deleted_at is null
         and coalesce(c.thread_fetched_at, '-infinity') < now() - interval '1 minute'
         and coalesce(c.unread_reread_at + c.unread_reread_wait, '-infinity') <= now()
       order by c.unread_reread_at nulls first, c.last_inbound_at desc nulls last limit ${mostThreads}
       for update of c skip locked
     )
     update warehouse.sms_conversations c set is_reread_owed = true, unread_reread_at = now(), unread_reread_count = due.unread,
       unread_reread_wait = case
         when c.unread_reread_at is null or due.unread < c.unread_reread_count then ${firstWait}
         when c.thread_fetched_at > c.unread_reread_at then least(c.unread_reread_wait * 2, ${longestWait})
         else c.unread_reread_wait end
     from due where c.conversation_id = due.conversation_id
     returning c.line, c.number, c.participants_key`,
    [line],
  );
  return bumpTargets(tx, bumpsOf(rows, priorities.history), pauses);
}
