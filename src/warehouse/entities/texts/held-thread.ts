import { type Database, query } from '../../database.ts';
import type { Thread } from './conversations.ts';

/** What the mirror holds of a thread decides how far back it is read. */
export interface HeldThread {
  /** Whether anything of it is held. */
  isHeld(): Promise<boolean>;
  /** Whether it holds the whole thread, these messages among it. */
  holdsAll(ids: readonly (number | string)[]): Promise<boolean>;
  /** Whether it holds the whole thread, and nothing, but deleted messages, besides these. */
  holdsOnly(ids: readonly (number | string)[]): Promise<boolean>;
}

export function heldThread(db: Database, { line, number, participants }: Thread): HeldThread {
  const isSo = async (what: string, ids: readonly (number | string)[]) => {
    const [row] = await query<{ is_so: boolean }>(
      db,
      `select ${what} as is_so from warehouse.sms_conversations c
       where line = $1 and number = $2 and participants_key = $3`,
      [line, number, participants.join(','), ids],
    );
    return row?.is_so === true;
  };
  const isWhole = 'is_thread_complete and not is_reread_owed';
  const messages = 'from warehouse.sms_messages m where m.conversation_id = c.conversation_id and deleted_at is null';
  return {
    isHeld: () => isSo('$4::bigint[] is not null', []),
    holdsAll: (ids) =>
      isSo(
        `${isWhole} and (select count(*) ${messages} and message_id = any($4::bigint[])) = cardinality($4::bigint[])`,
        ids,
      ),
    holdsOnly: (ids) => isSo(`${isWhole} and not exists (select ${messages} and message_id <> all($4::bigint[]))`, ids),
  };
}
