import type { Claim } from '../../inbox/claims.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { threadOf } from '../../warehouse/entities/texts/conversations.ts';
import { heldThread } from '../../warehouse/entities/texts/held-thread.ts';
import { provenance, type Reading, type ReadingRoom } from '../finding.ts';
import { nextLook, soonest } from './schedule.ts';
import { secondsSinceTold } from './told.ts';

/*
 * Not found, or an empty list, is also what a service answers that is out of order, or whose event outran its thread by
 * more than the spaced reads. So a thread that is gone is looked at again. One that was held: soon, and then ever more
 * seldom, so that those which were really deleted cost next to nothing. Any other: once after an event told of it, for
 * whoever learnt our address can tell of threads that never were; and never where it was only guessed at.
 */

/** Seconds after an event that told of it, or after it went, at which a thread is looked at again. */
const firstLook = 900;
/** The looks after it went; from then on, after as long as it has been gone. */
const looks: readonly number[] = [firstLook, 3_600, 86_400];

/** Only so many of the newest deliveries are looked through for one that tells of a thread. */
const mostDeliveries = 10_000;
const lately = { most: mostDeliveries, withinSeconds: firstLook };

/** The end of the spaced reads of a thread that none of them found. */
export async function missingThread(claim: Claim, room: Pick<ReadingRoom, 'db' | 'now'>): Promise<Reading> {
  const read = provenance(claim, 'conversations.read');
  return {
    finding: { kind: 'thread_gone', read: { thread: threadOf(claim.key), read } },
    lookAgainSeconds: await untilGoneAgain(claim.key, room),
  };
}

/** Seconds until a thread of which nothing is shown is worth another look; undefined when it is not. */
export async function untilGoneAgain(
  key: string,
  { db, now }: Pick<ReadingRoom, 'db' | 'now'>,
): Promise<number | undefined> {
  const at = now();
  const ago = (seconds: number) => new Date(at.getTime() - seconds * 1_000);
  const secondsGone = await heldThread(db, threadOf(key)).secondsGone();
  const told = await secondsSinceTold(db, { kind: 'thread', key }, lately);
  const afterEvent = told === undefined ? undefined : nextLook([firstLook], ago(told), at);
  if (secondsGone === undefined) return afterEvent;
  return soonest([afterEvent, nextLook(looks, ago(secondsGone), at) ?? secondsGone]);
}

/**
 * Whether a thread was asked for as a candidate, and lately neither an event told of it nor a text of ours went there: of
 * a line that misses texts, candidates are asked for as soon as what happens now.
 */
export async function isOnlyGuessedAt(db: Database, key: string): Promise<boolean> {
  const { line, number, participants } = threadOf(key);
  if (participants.length > 0) return false;
  const candidates = await query(
    db,
    `select from ops.thread_candidates where line = $1 and number = $2 and probed_at is not null and not exists (
       select from ops.sends where line = $1 and number = $2 and dispatched_at > now() - $3 * interval '1 second')`,
    [line, number, firstLook],
  );
  if (candidates.length === 0) return false;
  return (await secondsSinceTold(db, { kind: 'thread', key }, lately)) === undefined;
}
