import { ServiceError } from '../api-client/client.ts';
import type { Database } from '../db/database.ts';
import type { Log } from '../shared/log.ts';
import { claimPoll } from './coverage/coverage.ts';
import type { Reconciler } from './coverage/reconcile.ts';
import type { GapDetection } from './gaps/gap-detection.ts';

/*
 * Without a public address the service announces nothing. So it's asked every 15 seconds which calls ended and how many
 * unread texts each line has. A round makes two or three requests and at most `maxReads` reads of threads. What it
 * finds is read as if a webhook had announced it. A stream whose subscription is in place is polled only while nothing
 * arrives.
 */

/** Seconds between two polls, of all processes together. */
const everySeconds = 15;
/** Ended calls may be listed late, so each poll repeats the minutes before the previous one. */
const overlapSeconds = 300;
/** How far the first poll of a process goes back: the running hour is compared only after its end. */
const firstSeconds = 7_200;

const maxRequestsPerMinute = 120;
/** Together with gap detection and the directories, four polls then make at most 110 requests a minute. */
const maxReads = 16;
/** Even if calls and back-fills use up the requests of a minute, a round may read this many threads. */
const minReads = 4;

/** How many threads a round may read after so many requests in the last minute. */
export function readsOfRound(requestsOfLastMinute: number): number {
  return Math.max(minReads, Math.min(maxReads, maxRequestsPerMinute - maxReads - requestsOfLastMinute));
}

export type Polling = ReturnType<typeof createPolling>;

/** `unannounced` resolves to the streams whose events no webhook announces. */
export function createPolling({
  db,
  log,
  reconciler,
  gapDetection,
  unannounced,
}: {
  readonly db: Database;
  readonly log: Log;
  readonly reconciler: Pick<Reconciler, 'mirrorEnded'>;
  readonly gapDetection: Pick<GapDetection, 'pollUnread'>;
  readonly unannounced: () => Promise<readonly ('calls' | 'texts')[]>;
}) {
  let polledUntil = 0;
  let streams: readonly ('calls' | 'texts')[] | undefined;
  let isFailing = false;

  async function pollCalls(to: number, signal: AbortSignal): Promise<void> {
    const from = Math.max(polledUntil, to - firstSeconds) - overlapSeconds;
    try {
      await reconciler.mirrorEnded({ from, to }, signal);
      polledUntil = to;
      isFailing = false;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      if (!isFailing) log.warn({ err: error }, 'The calls that ended cannot be polled at present');
      isFailing = true;
    }
  }

  return {
    /** As of the last round. */
    unannounced: async () => streams ?? unannounced(),
    isAnyUnannounced: () => streams?.length !== 0,
    /** Polls unless another process did so lately. Rejects only when the database can't be reached. */
    async round(signal: AbortSignal): Promise<void> {
      streams = await unannounced();
      const at = streams.length > 0 ? await claimPoll(db, everySeconds) : undefined;
      if (!at) return;
      if (streams.includes('calls')) await pollCalls(Math.floor(at.getTime() / 1_000), signal);
      if (streams.includes('texts')) await gapDetection.pollUnread(signal);
    },
  };
}
