import { type Database, query } from '../../warehouse/database.ts';
import { looksAfterEvent, nextLook } from './schedule.ts';

/*
 * The event of a call's end can outrun the call history, which then shows the call as it was while it lasted. Nothing else
 * tells of the end, so the call is looked for again as a text is that an event named.
 */

/** Only so many of the newest deliveries are looked through. */
const mostDeliveries = 500;

/** Seconds until a call that shows no end is worth another look after an event told of it; undefined where none did of late. */
export async function untilEndShows(db: Database, callId: string, now: Date): Promise<number | undefined> {
  const [told] = await query<{ at: Date | null }>(
    db,
    `select max(received_at) as at
     from (
       select received_at, targets, event_type, claimed_type from ops.deliveries order by delivery_id desc limit $2
     ) newest
     where received_at > now() - $3 * interval '1 second' and 'call ' || $1 = any(targets)
       and 'AccountRealTimeCalls' is distinct from coalesce(claimed_type, event_type)`,
    [callId, mostDeliveries, looksAfterEvent.at(-1)],
  );
  return told?.at ? nextLook(looksAfterEvent, told.at, now) : undefined;
}
