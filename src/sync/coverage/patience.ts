import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { ServiceError } from '../../service/client.ts';

/** Told why a long errand waits, and for how long in milliseconds. */
export type OnWait = (error: ServiceError, ms: number) => void;

/** Milliseconds without a single answer after which it is left to whoever asked. */
const longestWait = 1_800_000;
/** Milliseconds of the first wait, and of the longest that is not asked for; each is twice the one before. */
const [firstPause, longestPause] = [2_000, 120_000];
/** What asks to come again later, also where nothing was ever answered: all else may be a wrong address. */
const asksForPatience = new Set(['rate_limited', 'server', 'circuit_open']);

/** Waits out a service that fails for a while, so that an errand of hours does not end at the first throttle. */
export interface Patience {
  /**
   * Asks until there is an answer. Rejects with what a wait would not cure, with the last failure of half an hour without
   * an answer, and when `signal` fires.
   */
  outlast<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createPatience(onWait: OnWait, now = () => performance.now(), pauseFor = sleepFor): Patience {
  let isAnswered = false;

  function isWorthWaiting(error: unknown): error is ServiceError {
    if (!(error instanceof ServiceError) || error.advice !== 'retry') return false;
    return isAnswered || asksForPatience.has(error.code);
  }

  return {
    async outlast(ask, signal) {
      const began = now();
      const answer = await pRetry(ask, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 0,
        async onFailedAttempt({ error, attemptNumber }) {
          if (signal.aborted || !isWorthWaiting(error)) throw error;
          const pause = Math.min(firstPause * 2 ** (attemptNumber - 1), longestPause);
          const ms = Math.max(error.retryAfterMs ?? 0, pause);
          if (now() + ms - began > longestWait) throw error;
          onWait(error, ms);
          await pauseFor(ms, signal);
        },
      });
      isAnswered = true;
      return answer;
    },
  };
}

/** Rejects when the signal fires. */
async function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}
