import { type Target, targetId, targetOfId } from './targets.ts';

/**
 * The targets of the deliveries that this process accepted in the last quarter of an hour, in memory. They are read
 * again when the database went back in time: nothing else finds the texts of numbers that never wrote before.
 */
export interface AcceptedTargets {
  add(targets: readonly Target[]): void;
  targets(): Target[];
}

const keptMs = 15 * 60_000;
const maxKept = 50_000;

export function createAcceptedTargets(now = Date.now): AcceptedTargets {
  // The oldest come first.
  const kept = new Map<string, number>();

  return {
    add(targets) {
      const at = now();
      for (const id of targets.map(targetId)) {
        kept.delete(id);
        kept.set(id, at);
      }
      for (const [id, acceptedAt] of kept) {
        if (kept.size <= maxKept && acceptedAt >= at - keptMs) break;
        kept.delete(id);
      }
    },
    targets: () => [...kept.keys()].flatMap((id) => targetOfId(id) ?? []),
  };
}
