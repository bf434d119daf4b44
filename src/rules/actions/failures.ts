import { ServiceError } from '../../service/client.ts';
import type { Outcome, Pending } from './pending.ts';

const firstPauseMs = 2_000;
const longestPauseMs = 600_000;

/** After a day, what still cannot be asked for is given up; what comes to its turn later than that has one turn. */
const longestWaitMs = 24 * 3_600_000;

export const doneWithoutNote = { state: 'done', reason: 'repeated without the note, which may stand' } as const;

/** What else a turn leaves behind; without it, the action stands as it was claimed. */
type Trace = Partial<Pick<Outcome & { state: 'later' }, 'tries' | 'isBegun'>> & { readonly afterMs?: number };

/**
 * Puts an action off for as long again as it has waited, from two seconds to ten minutes, and longer where the service
 * says so, to the end of its day; or gives it up when it has waited for a day, in however few turns.
 */
export function later(
  { tries, wasBegun, waitedMs }: Pick<Pending, 'tries' | 'wasBegun' | 'waitedMs'>,
  reason: string,
  { afterMs = 0, ...trace }: Trace = {},
): Outcome {
  if (waitedMs >= longestWaitMs) return { state: 'failed', reason: `given up after a day: ${reason}` };
  const pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, waitedMs));
  const askedMs = Math.min(afterMs, longestWaitMs - waitedMs);
  return { state: 'later', afterMs: Math.max(askedMs, pauseMs), reason, tries, isBegun: wasBegun, ...trace };
}

/** What an error makes of a turn before its request has begun: nothing can have come of it. */
export function outcomeBeforeRequest(error: unknown, action: Pending): Outcome {
  return refusedBy(error) ?? later(action, reasonOf(error), { afterMs: pauseAskedBy(error) });
}

/**
 * What an error makes of a turn whose request has begun. What can be repeated is; a note that may stand is not, so it is
 * left to a person, or the resolve is repeated without it (section 4.2).
 */
export function outcomeOfRequest(error: unknown, action: Pending, hasNote: boolean): Outcome {
  if (!hasNote && wasCarriedOut(error)) return doneUnseen(action);
  // What is no answer of the service happened on our side of it: the transaction that records is tried again with the call.
  const mayStand = hasNote && !(error instanceof ServiceError && error.effect === 'none');
  if (mayStand && action.kind === 'comment')
    return { state: 'unclear', reason: `the note may stand: ${reasonOf(error)}` };
  return (
    refusedBy(error) ??
    later(action, mayStand ? `${reasonOf(error)}, and its note may stand` : reasonOf(error), {
      afterMs: pauseAskedBy(error),
      tries: action.tries + (hasLeft(error) ? 1 : 0),
      isBegun: action.wasBegun || mayStand,
    })
  );
}

/**
 * A success says that the service did it (sections 4.2 and 4.3), also where nobody can read what else it says; but a
 * proxy's page can pose as one.
 */
function wasCarriedOut(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== 'unreadable' || error.isPage) return false;
  // An error whose body does not decode is unreadable too.
  return error.status !== undefined && error.status >= 200 && error.status <= 299;
}

/** What the answer would have shown is not made up: no state is written down. */
function doneUnseen({ wasBegun }: Pick<Pending, 'wasBegun'>): Outcome {
  const reason = 'its answer could not be read';
  return { state: 'done', reason: wasBegun ? `${doneWithoutNote.reason}; ${reason}` : reason };
}

function refusedBy(error: unknown): Outcome | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { advice, code, message } = error;
  const isRefused = advice === 'refused' || advice === 'not_found' || advice === 'permission';
  return isRefused ? { state: 'failed', reason: `${code}: ${message}`.slice(0, 300) } : undefined;
}

/** An open circuit, a missing credential and a service that cannot be reached let no request out. */
function hasLeft(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.effect === 'unknown' || error.status !== undefined;
}

function pauseAskedBy(error: unknown): number {
  return (error instanceof ServiceError && error.retryAfterMs) || 0;
}

function reasonOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.message : String(error);
}
