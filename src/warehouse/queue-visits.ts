import {
  type CallColumns,
  elapsed,
  endsOf,
  type InterpretedLeg,
  interpretLeg,
  isTelephone,
  type LegColumns,
  latest,
  whole,
} from './call-facts.ts';

/** A queue or huntgroup. `endpoint` is its number, or its name if it has none. */
export interface Group {
  readonly kind: 'queue' | 'huntgroup';
  readonly endpoint: string;
}

/** The outcome of a call, as in `reporting.fct_call`. */
export interface Outcome {
  readonly outcome: string;
  readonly waitSeconds: number | null;
  readonly waitBasis: string;
}

/** A call's visit to a group: how it ended, and how long the caller waited there. */
export interface QueueVisit extends Group, Outcome {
  /** Unix milliseconds. Null: unknown. */
  readonly enteredAt: number | null;
  /** The group that an overflowed visit continued in: `queue:601`. */
  readonly nextQueue: string | null;
}

/**
 * A call's visits to queues and huntgroups, in order. Pure. A visit ends with the next leg; telephones
 * that only rang don't count. If no leg shows a group, there is one visit for each group that the call is otherwise
 * known to have entered: `entered`, and its own called end. A single such visit gets the outcome and the wait of the
 * call.
 */
export function queueVisits(
  call: CallColumns & Outcome,
  legs: readonly LegColumns[],
  entered: readonly Group[],
): QueueVisit[] {
  const interpreted = legs.map(interpretLeg);
  const visits = visitsByLegs(call, interpreted);
  if (visits.length > 0) return visits;
  const groups = new Map(
    [...entered, ...endsOf(call, interpreted).flatMap(groupsOf)].map((each) => [keyOf(each), each]),
  );
  const { outcome, waitSeconds, waitBasis } = call;
  const ended = groups.size === 1 ? { outcome, waitSeconds, waitBasis } : unknownEnd;
  return [...groups.keys()]
    .toSorted()
    .flatMap((key) => groups.get(key) ?? [])
    .map((group) => ({ ...group, ...ended, enteredAt: null, nextQueue: null }));
}

const unknownEnd: Outcome = { outcome: 'unknown', waitSeconds: null, waitBasis: 'unknown' };

function visitsByLegs(call: CallColumns & Outcome, legs: readonly InterpretedLeg[]): QueueVisit[] {
  const path = legs.filter(({ called, isAnswered }) => !isTelephone(called) || isAnswered);
  const firstAnswer = path.findIndex(({ called }) => isTelephone(called));
  const callEnd = call.endedAt ?? latest(legs.map(({ endedAt }) => endedAt));
  return path.flatMap((leg, at) => {
    const next = path[at + 1];
    // Somebody answered earlier and transferred the caller: the outcome of the call says nothing about this visit.
    const isAfterAnswer = call.outcome === 'answered' && firstAnswer >= 0 && firstAnswer < at;
    const { outcome, until } = next ? wayOut(next) : lastEnd(isAfterAnswer ? 'missed' : call.outcome, callEnd);
    const waitSeconds = whole(elapsed(leg.startedAt, until));
    const [nextGroup] = next ? groupsOf(next) : [];
    return groupsOf(leg).map((group) => ({
      ...{ ...group, enteredAt: leg.startedAt, outcome, waitSeconds },
      waitBasis: waitSeconds === null ? 'unknown' : 'legs',
      nextQueue: nextGroup ? keyOf(nextGroup) : null,
    }));
  });
}

interface End {
  readonly outcome: string;
  /** When the waiting ended. Null or undefined: unknown. */
  readonly until: number | null | undefined;
}

/** How a visit ended, given the leg that follows. */
function wayOut(next: InterpretedLeg): End {
  if (isTelephone(next.called)) return { outcome: 'answered', until: next.talkAt };
  if (!next.isTyped) return { outcome: 'unknown', until: undefined };
  const until = next.startedAt;
  if (groupsOf(next).length > 0) return { outcome: 'overflowed', until };
  return { outcome: next.called === 'mailbox' ? 'voicemail' : 'left', until };
}

/** How a visit ended if no leg follows. */
function lastEnd(outcome: string, callEnd: number | undefined): End {
  const isWaitedOut = ['abandoned', 'short_abandoned', 'missed'].includes(outcome);
  return { outcome, until: isWaitedOut ? callEnd : undefined };
}

/** The group that was called, if any. */
function groupsOf({ called, endpoint }: InterpretedLeg): Group[] {
  return (called === 'queue' || called === 'huntgroup') && endpoint !== '' ? [{ kind: called, endpoint }] : [];
}

/** As in `dim_queue`. */
function keyOf({ kind, endpoint }: Group): string {
  return `${kind}:${endpoint}`;
}
