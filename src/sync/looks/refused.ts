import type { Claim } from '../../inbox/claims.ts';
import { momentOf } from '../../warehouse/entities/calls/held-call.ts';

/*
 * A service that is out of order for a moment refuses what it shows a minute later, and no event tells of that, nor of a
 * role that was given. So what is refused is asked for again: soon, and then ever more seldom, so that what is refused for
 * good costs next to nothing.
 */

/** Seconds after the first of the refusals at which it is asked for again. */
const looks: readonly number[] = [60, 600, 3_600];
const daySeconds = 86_400;

/** How a read was refused. */
export type RefusedState = 'forbidden' | 'refused';

/** Seconds until something refused is worth another read. */
export function untilRefusedAgain(claim: Claim, state: RefusedState, now: Date): number {
  const refusedFor = claim.refusedSeconds ?? 0;
  // A look comes a little before its time as well as after it.
  const look = looks.find((each) => each > Math.round(refusedFor));
  return look === undefined ? seldom(claim, state, now) : look - refusedFor;
}

/**
 * A role that may not read a long history costs little when its calls are asked for after as long as they are old, and
 * what nobody understands, which may be all that a forged event named, after as long as it is refused.
 */
function seldom({ kind, key, refusedSeconds = 0 }: Claim, state: RefusedState, now: Date): number {
  if (state === 'refused') return Math.max(daySeconds, refusedSeconds);
  const ageSeconds = kind === 'thread' ? 0 : (now.getTime() - momentOf(key).getTime()) / 1_000;
  return Number.isFinite(ageSeconds) ? Math.max(daySeconds, ageSeconds) : daySeconds;
}
