import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../shared/log.ts';
import { type Loop, startLoop } from '../shared/loop.ts';

/*
 * A forged delivery can refer to targets that don't exist, and each of them costs reads. Before its first read, such a
 * target looks like a new call or thread. So reads that find nothing are limited, and real traffic hardly has any: a
 * worker process makes at most `maxMissed` a minute.
 *
 * Beyond that limit, and always for deliveries with many references, unconfirmed targets move behind all others when
 * they are claimed. They are read a few at a time, newest first, with a pause after each miss: at most 4 misses a
 * second.
 */

/** More than all handlers of a process read at a time: no read is delayed while every target is found. */
const maxMissed = 360;
const rememberedMs = 60_000;

/** Concurrent reads; doubled while every target is found. */
const minConcurrent = 4;
const maxConcurrent = 16;
const restMs = 250;
/** Milliseconds between two polls that nothing triggered: `workers/due-work.ts` triggers one when deferred reads are due. */
const idleMs = 300_000;

/** Limits the reads of unconfirmed targets that are running or have lately found nothing. */
export function createAllowance() {
  let taken = 0;
  const free = () => {
    taken -= 1;
  };
  return {
    /** Takes a place for a read; false if none is free. */
    take(): boolean {
      if (taken >= maxMissed) return false;
      taken += 1;
      return true;
    },
    /** Frees the place: at once, or after a minute if the read found nothing. */
    release(isMissed: boolean): void {
      if (isMissed) setTimeout(free, rememberedMs).unref();
      else free();
    },
  };
}

/** Starts to read unconfirmed targets that are due. `read` returns how many it read, and how many weren't mirrored. */
export function startUnconfirmedReads(
  read: (max: number) => Promise<{ read: number; missed: number }>,
  log: Log,
): Loop {
  async function drain(signal: AbortSignal): Promise<void> {
    let width = minConcurrent;
    while (!signal.aborted) {
      const done = await read(width);
      if (done.read === 0) return;
      width = done.missed > 0 ? minConcurrent : Math.min(maxConcurrent, Math.max(minConcurrent, 2 * done.read));
      await sleep(done.missed * restMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return startLoop({ name: 'Reading unconfirmed targets', everyMs: idleMs, log, job: drain });
}
