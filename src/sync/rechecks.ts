import { type Database, hotQuery, query, sql } from '../db/database.ts';
import type { Claim } from '../inbox/claims.ts';
import { deliveriesOf } from '../inbox/stored-deliveries.ts';
import type { Target } from '../inbox/targets.ts';
import type { EventType } from '../shared/event-types.ts';
import { threadOf } from '../shared/thread.ts';
import type { DirectoryKind } from '../warehouse/directory.ts';
import { momentOf } from '../warehouse/held-calls.ts';

/*
 * When a target is read again without a new reference: recordings and transcripts appear after their call, the API can
 * lag behind its events, and a permission can be granted without an event.
 */

/** Seconds after the end of a call at which its recordings and transcripts are rechecked. Some never appear. */
export const recheckDelays: readonly number[] = [60, 120, 300, 900, 3_600, 21_600, 86_400];

/**
 * Seconds between two reads of a list. Only the list of lines uses their scope, so a minute shows that it was revoked.
 */
export const directoryEverySeconds: Readonly<Record<DirectoryKind, number>> = { lines: 60, users: 300 };

/** Seconds after an event at which its target is rechecked while it is missing. */
export const recheckDelaysAfterEvent: readonly number[] = [1, 3, 10, 60, 300];

/** Seconds after an event at which a thread that wasn't found is rechecked. */
const missingThreadSeconds = 900;

/** Seconds from now to the next of the delays after `since`; undefined after the last. */
export function nextRecheck(delays: readonly number[], since: Date, now: Date): number | undefined {
  const elapsed = (now.getTime() - since.getTime()) / 1_000;
  const next = delays.find((delay) => delay > elapsed);
  return next === undefined ? undefined : Math.min(next - elapsed, delays.at(-1) ?? next);
}

/** The shortest of some waits in seconds; undefined when there is none. */
export function soonest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((seconds) => seconds !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** When a delivery last referred to a target; undefined when no recent one did. Deliveries of type `except` don't count. */
async function lastDelivery(
  db: Database,
  target: Target,
  maxAgeSeconds: number,
  now: Date,
  except?: EventType,
): Promise<Date | undefined> {
  const isCounted = except ? sql`where ${except} is distinct from coalesce(claimed_type, event_type)` : sql``;
  const [found] = await hotQuery(
    db,
    sql<{ seconds: number | null }>`select extract(epoch from now() - max(received_at))::float8 as seconds
     from ${deliveriesOf(target, maxAgeSeconds)} d ${isCounted}`,
  );
  return found?.seconds == null ? undefined : new Date(now.getTime() - found.seconds * 1_000);
}

/**
 * Seconds until a call without an end time is rechecked because an event announced its end: the API can lag behind, and
 * no other event follows. Undefined without such a recent event.
 */
export async function untilEndRecheck(db: Database, callId: string, now: Date): Promise<number | undefined> {
  const delays = recheckDelaysAfterEvent;
  const call = { kind: 'call', key: callId } as const;
  const announcedAt = await lastDelivery(db, call, delays.at(-1) ?? 0, now, 'AccountRealTimeCalls');
  return announcedAt && nextRecheck(delays, announcedAt, now);
}

/**
 * Seconds until an empty thread is rechecked, once after each event that referred to it: the API may lag behind the
 * event by more than the spaced reads. Undefined without a recent event.
 */
export async function untilMissingThreadRecheck(db: Database, key: string, now: Date): Promise<number | undefined> {
  const announcedAt = await lastDelivery(db, { kind: 'thread', key }, missingThreadSeconds, now);
  return announcedAt && nextRecheck([missingThreadSeconds], announcedAt, now);
}

/**
 * Whether only gap detection asked for this thread: no recent event or send of ours suggests that it exists. "Not
 * found" is then an answer, not a failed read.
 */
export async function isOnlyCandidate(db: Database, key: string): Promise<boolean> {
  const { line, number, participants } = threadOf(key);
  if (participants.length > 0) return false;
  const candidates = await query(
    db,
    sql`select from ops.thread_candidates where line = ${line} and number = ${number} and probed_at is not null and not exists (
       select from ops.sends where line = ${line} and number = ${number}
         and dispatched_at > now() - ${missingThreadSeconds} * interval '1 second')`,
  );
  if (candidates.length === 0) return false;
  return (await lastDelivery(db, { kind: 'thread', key }, missingThreadSeconds, new Date())) === undefined;
}

/** Seconds after the first refusal at which a target is read again. Later it's read once a day, or less often. */
const refusedDelays: readonly number[] = [60, 600, 3_600];
const daySeconds = 86_400;

/** How the service refused a read: for lack of permission, or as a request that it doesn't accept. */
export type RefusedState = 'forbidden' | 'refused';

/**
 * Seconds until a refused target is read again, because no event announces a new permission. After the first hour, at
 * least a day. A forbidden call waits as long as it's old, so that a long forbidden history costs few reads. A
 * malformed target, which may be forged, waits as long as it has been refused.
 */
export function untilRefusedRecheck(claim: Claim, state: RefusedState, now: Date): number {
  const { kind, key, refusedSeconds = 0 } = claim;
  // A read may run slightly before its due time.
  const next = refusedDelays.find((delay) => delay > Math.round(refusedSeconds));
  if (next !== undefined) return next - refusedSeconds;
  if (state === 'refused') return Math.max(daySeconds, refusedSeconds);
  const ageSeconds = kind === 'thread' ? 0 : (now.getTime() - momentOf(key).getTime()) / 1_000;
  return Number.isFinite(ageSeconds) ? Math.max(daySeconds, ageSeconds) : daySeconds;
}
