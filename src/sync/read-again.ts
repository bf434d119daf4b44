import { query, sql } from '../db/database.ts';
import type { InboxDeps } from '../inbox/stored-deliveries.ts';
import { markDirty, type Target } from '../inbox/targets.ts';
import { threadOf } from '../shared/thread.ts';

/**
 * Makes the workers read a target again now. A thread is read as a whole: a usual read stops at mirrored messages.
 * False for the thread of a person who was erased.
 */
export async function readAgain({ db, notify }: InboxDeps, target: Target): Promise<boolean> {
  const { kind, key } = target;
  if (kind === 'thread') {
    const { line, number, participants } = threadOf(key);
    await query(
      db,
      sql`update warehouse.sms_conversations set is_reread_owed = true
       where line = ${line} and number = ${number} and participants_key = ${participants.join(',')}`,
    );
  }
  notify(await markDirty(db, [target]));
  // Usually a failing target keeps its back-off, and a refused one its pause. Here a person asks for the read. The
  // sweep does it.
  const rows = await query(
    db,
    sql`update ops.sync_targets set due_at = least(due_at, now()),
        enqueued_at = case when due_at > now() then '-infinity' else enqueued_at end
      where kind = ${kind} and key = ${key} returning 1`,
  );
  return rows.length > 0;
}
