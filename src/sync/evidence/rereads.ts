import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { bumpsOf } from './candidates.ts';

/** Days after the last change of a thread at which it is read to its end once more. */
const rereadAfterDays = [1, 7] as const;
const mostAtOnce = 200;

/**
 * Has threads read to their end that changed a day or a week ago: late receipts, and deletions, stand behind the newest
 * messages that a usual read looks at.
 */
export function rereadSettled(db: Database, pauses: Pauses): Promise<Ring[]> {
  return db.transaction().execute(async (tx) => {
    const rows = await query<{ line: string; number: string; participants_key: string }>(
      tx,
      `update warehouse.sms_conversations c set is_reread_owed = true
       from (
         select conversation_id from warehouse.sms_conversations
         where deleted_at is null and not is_reread_owed and changed_at > now() - $3 * interval '1 day'
           and exists (select from unnest($1::integer[]) d
             where changed_at + d * interval '1 day' <= now()
               and coalesce(complete_read_at, '-infinity') < changed_at + d * interval '1 day')
         order by changed_at limit $2 for update skip locked
       ) due
       where c.conversation_id = due.conversation_id
       returning c.line, c.number, c.participants_key`,
      [rereadAfterDays, mostAtOnce, Math.max(...rereadAfterDays) * 2],
    );
    return bumpTargets(tx, bumpsOf(rows, priorities.history), pauses);
  });
}
