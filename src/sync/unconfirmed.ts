import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';

/*
 * Whoever learns the address of the receiver can name things that do not exist, and each costs reads. A new call or thread
 * of the account cannot be told from those until it is read. So what bounds them is the reads that find nothing: real
 * traffic has next to none. One worker process makes at most `maxMissed` of them a minute at once; from then on, and for
 * deliveries with many references at all times, unconfirmed targets are read behind all others, a few at a time, with a
 * rest after each that was not found: 4 a second.
 */

/** More than all handlers of a process may have in hand, so that none waits while nothing is missing. */
const maxMissed = 360;
const rememberedMs = 60_000;

/** So many are read at the same time, and up to four times as many while all of them are found. */
const minBehind = 4;
const maxBehind = 16;
const restMs = 250;
/** Between two looks for what is due, while nothing is. */
const idleMs = 500;

/** How many reads of unconfirmed targets may be in hand, or have lately found nothing. */
export interface Allowance {
  /** Takes a place for a read, or answers false. */
  take(): boolean;
  /** Gives the place back, after a minute when the read found nothing. */
  release(isMissed: boolean): void;
}

export function createAllowance(places = maxMissed, heldMs = rememberedMs): Allowance {
  let taken = 0;
  const free = () => {
    taken -= 1;
  };
  return {
    take() {
      if (taken >= places) return false;
      taken += 1;
      return true;
    },
    release(isMissed) {
      if (isMissed) setTimeout(free, heldMs).unref();
      else free();
    },
  };
}

/** Reads up to `most` unconfirmed targets, and answers with how many of them there were and how many were not mirrored. */
export type ReadUnconfirmed = (most: number) => Promise<{ read: number; missed: number }>;

/** Reads what is unconfirmed and due until it is stopped: without a rest while everything is found. */
export function drainUnconfirmed(read: ReadUnconfirmed, log: Log, signal: AbortSignal): Promise<void> {
  let isFailing = false;
  let width = minBehind;

  async function round(): Promise<number> {
    try {
      const done = await read(width);
      isFailing = false;
      width = done.missed > 0 ? minBehind : Math.min(maxBehind, Math.max(minBehind, 2 * done.read));
      return done.read === 0 ? idleMs : done.missed * restMs;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'Unconfirmed targets could not be claimed; it is tried again');
      isFailing = true;
      return idleMs;
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const rest = await round();
      if (rest > 0) await sleep(rest, undefined, { signal }).catch(() => undefined);
    }
  }

  return run();
}
