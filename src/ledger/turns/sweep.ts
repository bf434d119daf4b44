import { type Database, query } from '../../warehouse/database.ts';

/**
 * Takes up to so many sends that are due and whose bell was not rung, or got lost. A pause leaves the waiting ones be, but
 * for those that have become too old. A read of the thread after the last look, whatever made it worth while, makes an
 * unknown send due: that is how a hint for the thread reaches it.
 */
export async function sweepSends(db: Database, most: number, lostAfterMs: number): Promise<string[]> {
  await query(
    db,
    `update ops.sends s set due_at = now()
     where state = 'UNKNOWN' and due_at > now() and exists (
       select from warehouse.sms_conversations c
       where c.line = s.line and c.number = s.number and c.participants_key = ''
         and c.thread_fetched_at > coalesce(s.looked_at, s.unknown_at))`,
    [],
  );
  const rows = await query<{ send_id: string }>(
    db,
    `with due as (
       select send_id from ops.sends s
       where state in ('PLANNED', 'HELD', 'RESERVED', 'DISPATCHED', 'UNKNOWN') and due_at <= now()
         and (rung_at < due_at or rung_at < now() - $2 * interval '1 ms')
         and (state not in ('PLANNED', 'HELD') or mode = 'dry-run' or expires_at < now()
           or not (select is_paused from ops.send_control))
       order by due_at limit $1 for update skip locked
     )
     update ops.sends s set rung_at = now() from due where s.send_id = due.send_id returning s.send_id`,
    [most, lostAfterMs],
  );
  return rows.map((row) => row.send_id);
}
