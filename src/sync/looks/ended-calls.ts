import type { Database } from '../../warehouse/database.ts';
import { looksAfterEvent, nextLook } from './schedule.ts';
import { secondsSinceTold } from './told.ts';

/*
 * The event of a call's end can outrun the call history, which then shows the call as it was while it lasted. Nothing else
 * tells of the end, so the call is looked for again as a text is that an event named.
 */

/** Only so many of the newest deliveries are looked through. */
const mostDeliveries = 500;

/** Seconds until a call that shows no end is worth another look after an event told of it; undefined where none did of late. */
export async function untilEndShows(db: Database, callId: string, now: Date): Promise<number | undefined> {
  const seconds = await secondsSinceTold(
    db,
    { kind: 'call', key: callId },
    { most: mostDeliveries, withinSeconds: looksAfterEvent.at(-1) ?? 0, except: 'AccountRealTimeCalls' },
  );
  return seconds === undefined ? undefined : nextLook(looksAfterEvent, new Date(now.getTime() - seconds * 1_000), now);
}
