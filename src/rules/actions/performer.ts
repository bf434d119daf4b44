import { claimActions, settleReplies } from './pending.ts';
import { type ActionParts, performAction } from './perform.ts';

/** Does what matched rules asked for. Any number of processes may: each action has one of them at a time. */
export interface Performer {
  /** Does all whose turn it is; answers with how many turns were taken. */
  round(signal: AbortSignal): Promise<number>;
}

const mostAtOnce = 8;

/** `areKnown` tells whether any rules are in force: until then, actions wait. */
export function createPerformer(parts: ActionParts & { readonly areKnown: () => boolean }): Performer {
  return {
    async round(signal) {
      let turns = 0;
      while (!signal.aborted) {
        await settleReplies(parts.db);
        if (!parts.areKnown()) break;
        const claimed = await claimActions(parts.db, mostAtOnce);
        if (claimed.length === 0) break;
        await Promise.all(claimed.map((action) => performAction(parts, action, signal)));
        turns += claimed.length;
      }
      return turns;
    },
  };
}
