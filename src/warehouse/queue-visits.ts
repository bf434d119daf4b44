import {
  type CallColumns,
  endsOf,
  isTelephone,
  type LegColumns,
  latest,
  type Step,
  span,
  stepOf,
  whole,
} from './call-facts.ts';

/** A queue or huntgroup; `endpoint` is its number, or its name where it has none. */
export interface Group {
  readonly kind: 'queue' | 'huntgroup';
  readonly endpoint: string;
}

/** What became of a call, as `reporting.fct_call` says it. */
export interface Outcome {
  readonly outcome: string;
  readonly waitSeconds: number | null;
  readonly waitBasis: string;
}

/** A visit of a call to a group: how it ended, and how long the caller waited there. */
export interface QueueVisit extends Group, Outcome {
  /** Unix milliseconds; null: not known. */
  readonly enteredAt: number | null;
  /** Where an overflowed visit went on: `queue:601`. */
  readonly nextQueue: string | null;
}

/**
 * The visits of a call to queues and huntgroups, in their order. Pure. The legs tell them: what follows a leg to a group, telephones
 * that only rang left out, is how that visit ended. A call whose legs show no group has one visit for each group that it is otherwise
 * known to have entered: `entered`, and its own called end. It has the outcome and the wait of the call if there is only one.
 */
export function queueVisits(
  call: CallColumns & Outcome,
  legs: readonly LegColumns[],
  entered: readonly Group[],
): QueueVisit[] {
  const steps = legs.map(stepOf);
  const visits = visitsByLegs(call, steps);
  if (visits.length > 0) return visits;
  const groups = new Map([...entered, ...endsOf(call, steps).flatMap(groupsOf)].map((each) => [keyOf(each), each]));
  const { outcome, waitSeconds, waitBasis } = call;
  const ended = groups.size === 1 ? { outcome, waitSeconds, waitBasis } : unknownEnd;
  return [...groups.keys()]
    .toSorted()
    .flatMap((key) => groups.get(key) ?? [])
    .map((group) => ({ ...group, ...ended, enteredAt: null, nextQueue: null }));
}

const unknownEnd: Outcome = { outcome: 'unknown', waitSeconds: null, waitBasis: 'unknown' };

function visitsByLegs(call: CallColumns & Outcome, steps: readonly Step[]): QueueVisit[] {
  const path = steps.filter(({ called, isAnswered }) => !isTelephone(called) || isAnswered);
  const firstAnswer = path.findIndex(({ called }) => isTelephone(called));
  const callEnd = call.endedAt ?? latest(steps.map(({ endedAt }) => endedAt));
  return path.flatMap((step, at) => {
    const next = path[at + 1];
    // Somebody answered before and passed the caller on, so that the outcome of the call tells nothing of this visit.
    const isAfterAnswer = call.outcome === 'answered' && firstAnswer >= 0 && firstAnswer < at;
    const { outcome, until } = next ? wayOut(next) : lastEnd(isAfterAnswer ? 'missed' : call.outcome, callEnd);
    const waitSeconds = whole(span(step.startedAt, until));
    const [nextGroup] = next ? groupsOf(next) : [];
    return groupsOf(step).map((group) => ({
      ...{ ...group, enteredAt: step.startedAt, outcome, waitSeconds },
      waitBasis: waitSeconds === null ? 'unknown' : 'legs',
      nextQueue: nextGroup ? keyOf(nextGroup) : null,
    }));
  });
}

interface End {
  readonly outcome: string;
  /** When the waiting ended; null or undefined: not known. */
  readonly until: number | null | undefined;
}

/** How a visit ended that this step follows. */
function wayOut(next: Step): End {
  if (isTelephone(next.called)) return { outcome: 'answered', until: next.talkAt };
  if (!next.isTyped) return { outcome: 'unknown', until: undefined };
  const until = next.startedAt;
  if (groupsOf(next).length > 0) return { outcome: 'overflowed', until };
  return { outcome: next.called === 'mailbox' ? 'voicemail' : 'left', until };
}

/** How a visit ended that nothing follows. */
function lastEnd(outcome: string, callEnd: number | undefined): End {
  const isWaitedOut = ['abandoned', 'short_abandoned', 'missed'].includes(outcome);
  return { outcome, until: isWaitedOut ? callEnd : undefined };
}

/** The group that was called, if one was. */
function groupsOf({ called, endpoint }: Step): Group[] {
  return (called === 'queue' || called === 'huntgroup') && endpoint !== '' ? [{ kind: called, endpoint }] : [];
}

/** As in `dim_queue`. */
function keyOf({ kind, endpoint }: Group): string {
  return `${kind}:${endpoint}`;
}
