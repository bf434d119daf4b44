import { forgetOldest } from '../../bounded.ts';

/*
 * A message can come without what others have. By the time that it is looked for again, newer ones may have pushed it
 * beyond the pages that a usual read looks at: that look goes down to it, once. In memory alone: what a restart forgets,
 * the reads of settled threads find.
 */

/** Threads whose messages are remembered; beyond them the oldest are forgotten. */
const mostThreads = 10_000;
/** Timers fire a little early. */
const earlyMs = 1_000;

interface Lacking {
  readonly ids: ReadonlySet<string>;
  /** Milliseconds since 1970: when they are to be looked for. */
  readonly dueAt: number;
}

export interface LackingMessages {
  /** What a read of a thread that begins now is to list, wherever it stands. */
  dueOf(key: string, now: Date): ReadonlySet<string>;
  /** Seconds until what waits is to be looked for; undefined when nothing does. */
  waitsFor(key: string, now: Date): number | undefined;
  /** A read has looked for what was due, and has listed these in any case. */
  looked(key: string, listed: ReadonlySet<string>, now: Date): void;
  /** Messages came without what others have; they are looked for so many seconds from now, or with what waits already. */
  add(key: string, messageIds: readonly string[], seconds: number, now: Date): void;
}

const none: ReadonlySet<string> = new Set();

function isDue({ dueAt }: Lacking, now: Date): boolean {
  return dueAt <= now.getTime() + earlyMs;
}

export function createLackingMessages(): LackingMessages {
  const known = new Map<string, Lacking>();

  return {
    dueOf(key, now) {
      const lacking = known.get(key);
      return lacking && isDue(lacking, now) ? lacking.ids : none;
    },
    waitsFor(key, now) {
      const lacking = known.get(key);
      return lacking && Math.max(0, (lacking.dueAt - now.getTime()) / 1_000);
    },
    looked(key, listed, now) {
      const lacking = known.get(key);
      if (!lacking) return;
      const left = isDue(lacking, now) ? none : lacking.ids.difference(listed);
      if (left.size === 0) known.delete(key);
      else known.set(key, { ...lacking, ids: left });
    },
    add(key, messageIds, seconds, now) {
      const before = known.get(key);
      const dueAt = before?.dueAt ?? now.getTime() + seconds * 1_000;
      known.delete(key);
      known.set(key, { ids: new Set(messageIds).union(before?.ids ?? none), dueAt });
      forgetOldest(known, mostThreads);
    },
  };
}
