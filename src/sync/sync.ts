import pLimit, { type LimitFunction } from 'p-limit';
import { type QueueName, queueSettings } from '../../config/queues.ts';
import { createBatch, oneAtATime } from '../batch.ts';
import { bumpTargets, type Pauses } from '../inbox/bumps.ts';
import {
  type Claim,
  claimDue,
  claimTargets,
  claimUnconfirmed,
  failTarget,
  giveBack,
  type TargetState,
} from '../inbox/claims.ts';
import { createLeases } from '../inbox/leases.ts';
import { kindsOfQueues, queueOf } from '../inbox/ringer.ts';
import { parkStream, resumeStreams } from '../inbox/streams.ts';
import { priorities, type Ring, shownTarget, type Target, type TargetKind } from '../inbox/target.ts';
import type { Log } from '../log.ts';
import { isNotFound, ServiceError } from '../service/client.ts';
import type { SealLink } from '../warehouse/columns.ts';
import type { Database } from '../warehouse/database.ts';
import { heldCalls } from '../warehouse/entities/calls/held-call.ts';
import { threadOf } from '../warehouse/entities/texts/conversations.ts';
import { heldThread } from '../warehouse/entities/texts/held-thread.ts';
import { createCallLister } from './coverage/listing.ts';
import {
  type CallReading,
  provenance,
  type Reading,
  type ReadingRoom,
  type TargetReader,
  type Unshown,
} from './finding.ts';
import { createDoubts } from './looks/doubts.ts';
import { missingThread } from './looks/gone-threads.ts';
import { groupsOfParty } from './looks/named-groups.ts';
import { untilRefusedAgain } from './looks/refused.ts';
import { soonest } from './looks/schedule.ts';
import { outcomeOf } from './outcome.ts';
import { readRecordings, readTranscripts, refusedArtefacts } from './readers/artefacts.ts';
import { createCallReader } from './readers/call.ts';
import { readLines, readUsers } from './readers/directory.ts';
import { createThreadReader } from './readers/thread.ts';
import { createThreadPages } from './thread-pages.ts';
import { createAllowance } from './unconfirmed.ts';
import { createWriter, type Written } from './writer.ts';

/** A read that did not find what is held is followed by as many more as it takes to give that up. */
const nextSpacedMiss = { kind: 'retry', afterMs: 60_000, countsAsAttempt: true, isMiss: true } as const;
const mostMisses = 4;

/** What was read but could not be written is tried again after so long. */
const unwrittenPauseMs = 5_000;

/** A claimed target that was read, or could not be. */
type Read = { readonly claim: Claim } & (
  | { readonly reading: Reading | CallReading | Unshown }
  | { readonly error: unknown }
);

/** How a target's turn ended. */
export type Turn = 'mirrored' | 'nothing_owed' | 'later' | 'parked' | 'gone' | 'forbidden' | 'refused';

/** The same, and whether the read showed nothing where it was sent. */
interface Ended {
  readonly turn: Turn;
  readonly isMissed: boolean;
}

export interface Sync {
  /**
   * Reads a target if that is owed, and mirrors what it finds. Never rejects for what the service answers: that is
   * kept in the target's row. Rejects when the database cannot be reached; the sweep then rings again.
   */
  turn(target: Target, signal: AbortSignal): Promise<Turn>;
  /** The same for whatever is due longest among what the workers of a queue read; `nothing_owed` when nothing is due. */
  next(queue: QueueName, signal: AbortSignal): Promise<Turn>;
  /** The same for up to so many of the unconfirmed targets that wait behind all others, of what the workers of some queues read. */
  unconfirmed(queues: readonly QueueName[], most: number): Promise<{ readonly read: number; readonly missed: number }>;
  /** Resolves when nothing waits for its commit. */
  idle(): Promise<void>;
}

export interface SyncParts extends Omit<ReadingRoom, 'doubts'> {
  readonly log: Log;
  readonly pauses: Pauses;
  readonly onRings: (rings: readonly Ring[]) => void;
  /** Without it no link is kept. */
  readonly sealLink?: SealLink | undefined;
  /** Told how every turn ended. */
  readonly onTurn?: (kind: TargetKind, turn: Turn, seconds: number) => void;
}

export function createSync(parts: SyncParts): Sync {
  const { db, log, pauses, onRings } = parts;
  const readers: Readonly<Record<TargetKind, TargetReader>> = {
    thread: createThreadReader(createThreadPages()),
    call: createCallReader(createCallLister(parts)),
    recordings: readRecordings,
    transcripts: readTranscripts,
    users: readUsers,
    lines: readLines,
  };
  const room: ReadingRoom = { ...parts, doubts: createDoubts(parts) };
  const writer = createWriter(db, pauses, onRings, parts.sealLink);
  const leases = createLeases(db);
  const claims = createBatch<Target, Claim | undefined>(async (targets) => {
    const claimed = new Map(
      (await admitted(await claimTargets(db, targets))).map((claim) => [`${claim.kind} ${claim.key}`, claim]),
    );
    return targets.map(({ kind, key }) => claimed.get(`${kind} ${key}`));
  }, oneAtATime);
  const dueClaims = new Map(
    [...kindsOfQueues].map(([queue, kinds]) => [
      queue,
      createBatch<void, Claim | undefined>(
        async ({ length }) => admitted(await claimDue(db, kinds, length)),
        oneAtATime,
      ),
    ]),
  );

  const reads = Object.fromEntries(
    Object.entries(queueSettings).map(([name, settings]) => [name, pLimit(settings.reads)]),
  ) as Readonly<Record<QueueName, LimitFunction>>;

  const allowance = createAllowance();
  /** Claims whose read takes a place of the allowance. */
  const allowed = new WeakSet<Claim>();

  /** Holds claims, but for those of unconfirmed targets beyond the allowance, which from now on wait behind all others. */
  async function admitted(claimed: readonly Claim[]): Promise<readonly Claim[]> {
    const isAdmitted = (claim: Claim) => {
      if (!claim.isUnconfirmed) return true;
      if (!allowance.take()) return false;
      allowed.add(claim);
      return true;
    };
    const { now = [], later = [] } = Object.groupBy(claimed, (claim) => (isAdmitted(claim) ? 'now' : 'later'));
    if (later.length > 0) await giveBack(db, later, 'behind');
    return held(now);
  }

  function held(claimed: readonly Claim[]): readonly Claim[] {
    for (const claim of claimed) leases.hold(claim);
    return claimed;
  }

  async function read(claim: Claim, signal: AbortSignal): Promise<Read> {
    try {
      return { claim, reading: await readers[claim.kind](claim, room, signal) };
    } catch (error) {
      return { claim, error };
    }
  }

  /** Claims once there is a place among the queue's reads: the later, the more hints the one read answers. */
  async function turn(target: Target, signal: AbortSignal): Promise<Ended> {
    const found = await reads[queueOf[target.kind]](async () => {
      const claim = await claims.add(target);
      return claim && read(claim, signal);
    });
    return found ? end(found) : { turn: 'nothing_owed', isMissed: false };
  }

  /** Claims before there is a place, so that all who go on at the same time share one statement. */
  async function next(queue: QueueName, signal: AbortSignal): Promise<Turn> {
    const claim = await dueClaims.get(queue)?.add();
    if (!claim) return 'nothing_owed';
    return (await finish(claim, queue, signal)).turn;
  }

  function finish(claim: Claim, queue: QueueName, signal: AbortSignal): Promise<Ended> {
    return told(claim.kind, async () => end(await reads[queue](() => read(claim, signal))));
  }

  const never = new AbortController().signal;

  async function unconfirmedOf(queues: readonly QueueName[], most: number) {
    const kinds = queues.flatMap((queue) => kindsOfQueues.get(queue) ?? []);
    const claimed = held(await claimUnconfirmed(db, kinds, most));
    const ended = await Promise.all(claimed.map((claim) => finish(claim, queueOf[claim.kind], never)));
    return { read: ended.length, missed: ended.filter(({ turn, isMissed }) => isMissed || turn !== 'mirrored').length };
  }

  async function end(found: Read): Promise<Ended> {
    const { claim } = found;
    let isMissed = false;
    try {
      const ended = await ('reading' in found ? mirror(claim, found.reading) : readFailed(claim, found.error));
      isMissed = ended.isMissed;
      return ended;
    } finally {
      leases.release(claim);
      if (allowed.has(claim)) allowance.release(isMissed);
    }
  }

  async function mirror(claim: Claim, reading: Reading | CallReading | Unshown): Promise<Ended> {
    const isUnshown = 'unshown' in reading;
    let isFound: boolean;
    try {
      isFound = await (isUnshown ? settle(claim, 'gone', {}, reading.unshown) : settle(claim, 'active', reading));
    } catch (error) {
      log.error({ err: error, target: shownTarget(claim) }, 'A read could not be written; it is tried again');
      await failTarget(db, claim, { error: messageOf(error), afterMs: unwrittenPauseMs, countsAsAttempt: true });
      return { turn: 'later', isMissed: false };
    }
    await resumeAfter(claim);
    return { turn: isUnshown ? 'gone' : 'mirrored', isMissed: !isFound };
  }

  /** Whatever a probe was answered, its credential was taken. */
  async function resumeAfter({ kind, isProbe }: Claim): Promise<void> {
    if (!isProbe) return;
    await resumeStreams(db, [kind]);
    log.info({ kind }, 'The stream reads again');
  }

  async function readFailed(claim: Claim, error: unknown): Promise<Ended> {
    if (error instanceof ServiceError && error.code === 'aborted') {
      await giveBack(db, [claim]);
      return { turn: 'later', isMissed: false };
    }
    const decided = outcomeOf(error, claim, Math.random);
    // What is held, whoever named it now, is given up by spaced reads.
    const isSpared = decided.kind === 'settle' && decided.state === 'gone' && claim.misses < mostMisses;
    const isKept = isSpared && claim.isUnconfirmed && (await isHeld(db, claim));
    const outcome = isKept ? nextSpacedMiss : decided;
    const message = messageOf(error);
    switch (outcome.kind) {
      case 'retry':
        log.debug({ target: shownTarget(claim), err: error }, 'A read failed; it is tried again');
        await failTarget(db, claim, { error: message, ...outcome });
        if (isUnknownThread(claim, error)) onRings(await bumpTargets(db, await groupsOfParty(db, claim.key), pauses));
        return { turn: 'later', isMissed: outcome.isMiss === true };
      case 'park':
        if (!claim.isProbe) log.error({ kind: claim.kind, err: error }, 'The credential may not read this; it waits');
        await parkStream(db, claim.kind, { reason: message, missingScope: outcome.missingScope });
        await failTarget(db, claim, { error: message, afterMs: 0, countsAsAttempt: false });
        return { turn: 'parked', isMissed: false };
      case 'settle':
        // A person need not hear of each thing that a forged delivery named.
        log[claim.isUnconfirmed && outcome.state === 'gone' ? 'debug' : 'warn'](
          { target: shownTarget(claim), err: error },
          `The service does not show this: ${outcome.state}`,
        );
        await settle(claim, outcome.state, await refusedReading(claim, outcome.state, room), message);
        await resumeAfter(claim);
        return { turn: outcome.state, isMissed: true };
    }
  }

  function settle(claim: Claim, state: TargetState, written: Written, error?: string): Promise<boolean> {
    return writer.write({ claim, state, error, written });
  }

  async function told(kind: TargetKind, turn: () => Promise<Ended>): Promise<Ended> {
    const began = performance.now();
    const ended = await turn();
    parts.onTurn?.(kind, ended.turn, (performance.now() - began) / 1_000);
    return ended;
  }

  return {
    turn: async (target, signal) => (await told(target.kind, () => turn(target, signal))).turn,
    next,
    unconfirmed: unconfirmedOf,
    idle: () => writer.idle(),
  };
}

/** Whether the mirror holds a call, or anything of a thread. */
async function isHeld(db: Database, { kind, key }: Claim): Promise<boolean> {
  return kind === 'thread' ? heldThread(db, threadOf(key)).isHeld() : (await heldCalls(db, [key])).has(key);
}

/** Whether an event told of a thread that nothing is known of: it may mean a group. */
function isUnknownThread({ kind, priority, attempts }: Claim, error: unknown): boolean {
  const isLive = kind === 'thread' && priority === priorities.live;
  return isLive && attempts === 0 && isNotFound(error);
}

/** What a final refusal says about what is held, and when it is worth asking again. */
async function refusedReading(
  claim: Claim,
  state: 'gone' | 'forbidden' | 'refused',
  room: Pick<ReadingRoom, 'db' | 'directoryEverySeconds' | 'now'>,
): Promise<Written> {
  const refusedAgain = state === 'gone' ? undefined : untilRefusedAgain(claim, state, room.now());
  // No event ever points at a directory.
  const isDirectory = claim.kind === 'users' || claim.kind === 'lines';
  const lookAgainSeconds = isDirectory ? soonest([refusedAgain, room.directoryEverySeconds]) : refusedAgain;
  if (isDirectory || state === 'refused') return { lookAgainSeconds };
  if (claim.kind === 'recordings' || claim.kind === 'transcripts') {
    const refused = refusedArtefacts(claim, state);
    return (held) => ({ ...refused(held), lookAgainSeconds });
  }
  if (state === 'forbidden') return { lookAgainSeconds };
  if (claim.kind === 'call') {
    return { finding: { kind: 'call_gone', read: { callId: claim.key, read: provenance(claim, 'calls.get') } } };
  }
  return missingThread(claim, room);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
