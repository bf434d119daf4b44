import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import { query, type Transaction } from '../../warehouse/database.ts';
import { bumpsOf } from './candidates.ts';
import { countedAs, type UnreadKind } from './counted.ts';

const mostThreads = 50;

/**
 * Threads whose texts the mirror takes for unread: somebody has read them since. They are read to their end, and each ever
 * more seldom while the line goes on to be ahead by as much: a service may count in a way of its own.
 */
export async function rereadUnread(
  tx: Transaction,
  { line, kind, ahead }: { readonly line: string; readonly kind: UnreadKind; readonly ahead: number },
  pauses: Pauses,
): Promise<Ring[]> {
  const rows = await query<{ line: string; number: string; participants_key: string }>(
    tx,
    `with since as (
       select coalesce(min(observed_at), now()) as at from warehouse.sms_unread_snapshots
       where line = $1 and observed_at > coalesce((select max(observed_at) from warehouse.sms_unread_snapshots
         where line = $1 and held_count - reported_count <> $2), '-infinity')
     ), due as (
       select conversation_id from warehouse.sms_conversations c, since
       where c.line = $1 and c.deleted_at is null
         and coalesce(c.thread_fetched_at, '-infinity') < now() - greatest(interval '1 minute', (now() - since.at) / 2)
         and exists (select from warehouse.sms_messages m
           where m.conversation_id = c.conversation_id and ${countedAs[kind]})
       order by c.thread_fetched_at nulls first limit ${mostThreads} for update of c skip locked
     )
     update warehouse.sms_conversations c set is_reread_owed = true from due
     where c.conversation_id = due.conversation_id
     returning c.line, c.number, c.participants_key`,
    [line, ahead],
  );
  return bumpTargets(tx, bumpsOf(rows, priorities.history), pauses);
}
