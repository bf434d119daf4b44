import { bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import { priorities, type Ring } from '../../inbox/target.ts';
import type { Log } from '../../log.ts';
import { ServiceError } from '../../service/client.ts';
import { inTransaction } from '../../warehouse/database.ts';
import { claimHours, type DueHour, failHours, planHours, recordHours, releaseHours } from './coverage.ts';
import { fillCallGaps } from './gaps.ts';
import { type CallLister, createCallLister, type ListerParts } from './listing.ts';
import { mirrorSpan } from './mirroring.ts';
import { hoursOf, joinHours, type Span } from './spans.ts';

export interface ReconcileParts extends ListerParts {
  readonly log: Log;
  readonly pauses: Pauses;
  readonly onRings: (rings: readonly Ring[]) => void;
}

/** How a round went, in hours. */
export interface Round {
  readonly compared: number;
  readonly failed: number;
}

/** Compares call history with the service, hour by hour, and mends what the mirror lacks. */
export interface Reconciler {
  /** Compares the hours that are due, up to a few days of them. Rejects only when the database cannot be reached. */
  round(signal?: AbortSignal): Promise<Round>;
}

/** Neighbouring hours that one listing compares: after a downtime there are many. */
const mostJoined = 24;
const mostInRound = 72;

export function createReconciler(parts: ReconcileParts): Reconciler {
  const { db, log } = parts;
  const lister = createCallLister(parts);

  async function compare(span: Span, isWatched: boolean, signal: AbortSignal | undefined): Promise<boolean> {
    const hours = hoursOf(span);
    try {
      await compareSpan(parts, lister, span, isWatched, signal);
      return true;
    } catch (error) {
      if (signal?.aborted) {
        await releaseHours(db, hours);
        return false;
      }
      if (!(error instanceof ServiceError)) throw error;
      log.warn({ err: error, hours: hours.length }, 'Call history could not be compared; it is tried again');
      await failHours(db, hours, error.message);
      return false;
    }
  }

  return {
    async round(signal) {
      await planHours(db);
      await fillCallGaps(parts, lister, signal);
      const due = await claimHours(db, mostInRound);
      let compared = 0;
      for (const isWatched of [true, false]) {
        for (const span of spansOf(due.filter((each) => each.isWatched === isWatched))) {
          if (await compare(span, isWatched, signal)) compared += hoursOf(span).length;
        }
      }
      return { compared, failed: due.length - compared };
    },
  };
}

async function compareSpan(
  parts: ReconcileParts,
  lister: CallLister,
  span: Span,
  isWatched: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { db, log, pauses, onRings } = parts;
  const consequences = { readWith: isWatched ? priorities.live : priorities.history, isWatched };
  const { calls, doubt, mended } = await mirrorSpan(parts, lister, span, consequences, signal);
  const hours = hoursOf(span);
  const rings = await inTransaction(db, async (tx) => {
    const unlisted = await recordHours(tx, { hours, calls, doubt });
    return bumpTargets(
      tx,
      unlisted.map((key) => ({ kind: 'call', key })),
      pauses,
    );
  });
  onRings(rings);
  if (mended > 0 || doubt !== undefined) {
    log.info({ from: new Date(span.from * 1_000), hours: hours.length, mended, doubt }, 'Call history was compared');
  }
}

/** Neighbours together; an hour that was not proven when it was last compared goes alone, so that it holds up no other. */
function spansOf(due: readonly DueHour[]): Span[] {
  const begins = (hours: readonly DueHour[]) => hours.map(({ begin }) => begin);
  return [
    ...joinHours(begins(due.filter(({ attempts }) => attempts === 0)), mostJoined),
    ...joinHours(begins(due.filter(({ attempts }) => attempts > 0)), 1),
  ];
}
