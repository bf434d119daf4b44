import type { Target, TargetKind } from './targets.ts';

/**
 * The targets of deliveries that this process accepted lately, in memory. When the database goes back in time, they are read
 * again: nothing else finds the texts of numbers that never wrote before.
 */
export interface AcceptedTargets {
  add(targets: readonly Target[]): void;
  /** Those accepted since a moment (Unix milliseconds). */
  since(ms: number): Target[];
  /** Those added since the last call, each as "kind key" with its moment, for a copy that outlives the process. */
  takeNew(): ReadonlyMap<string, number>;
  forget(isForgotten: (target: Target) => boolean): void;
}

const keptMs = 15 * 60_000;
const maxKept = 50_000;

export function createAcceptedTargets(now = Date.now): AcceptedTargets {
  // The oldest come first.
  const kept = new Map<string, number>();
  let added = new Map<string, number>();

  return {
    add(targets) {
      const at = now();
      for (const { kind, key } of targets) {
        const id = `${kind} ${key}`;
        kept.delete(id);
        kept.set(id, at);
        if (added.size < maxKept) added.set(id, at);
      }
      for (const [id, acceptedAt] of kept) {
        if (kept.size <= maxKept && acceptedAt >= at - keptMs) break;
        kept.delete(id);
      }
    },
    since: (ms) => [...kept].flatMap(([id, at]) => (at >= ms ? [targetOfId(id)] : [])),
    takeNew() {
      const taken = added;
      added = new Map();
      return taken;
    },
    forget(isForgotten) {
      for (const held of [kept, added]) for (const id of held.keys()) if (isForgotten(targetOfId(id))) held.delete(id);
    },
  };
}

/** The target of a "kind key". */
export function targetOfId(id: string): Target {
  const space = id.indexOf(' ');
  return { kind: id.slice(0, space) as TargetKind, key: id.slice(space + 1) };
}
