import pLimit, { type LimitFunction } from 'p-limit';
import { type QueueName, queueSettings } from '../../config/queues.ts';
import { createBatch, oneAtATime } from '../batch.ts';
import { bumpTargets, type Pauses } from '../inbox/bumps.ts';
import { type Claim, claimDue, claimTargets, failTarget, type TargetState } from '../inbox/claims.ts';
import { createLeases } from '../inbox/leases.ts';
import { kindsOfQueues, queueOf } from '../inbox/ringer.ts';
import { parkStream, resumeStreams } from '../inbox/streams.ts';
import { priorities, type Ring, shownTarget, type Target, type TargetKind } from '../inbox/target.ts';
import type { Log } from '../log.ts';
import { isNotFound } from '../service/client.ts';
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
import { createWriter, type Written } from './writer.ts';

/** What was read but could not be written is tried again after so long. */
const unwrittenPauseMs = 5_000;

/** A claimed target that was read, or could not be. */
type Read = { readonly claim: Claim } & (
  | { readonly reading: Reading | CallReading | Unshown }
  | { readonly error: unknown }
);

/** How a target's turn ended. */
export type Turn = 'mirrored' | 'nothing_owed' | 'later' | 'parked' | 'gone' | 'forbidden' | 'refused';

export interface Sync {
  /**
   * Reads a target if that is owed, and mirrors what it finds. Never rejects for what the service answers: that is
   * kept in the target's row. Rejects when the database cannot be reached; the sweep then rings again.
   */
  turn(target: Target, signal: AbortSignal): Promise<Turn>;
  /** The same for whatever is due longest among what the workers of a queue read; `nothing_owed` when nothing is due. */
  next(queue: QueueName, signal: AbortSignal): Promise<Turn>;
  /** Resolves when nothing waits for its commit. */
  idle(): Promise<void>;
}

export interface SyncParts extends Omit<ReadingRoom, 'doubts'> {
  readonly log: Log;
  readonly pauses: Pauses;
  readonly onRings: (rings: readonly Ring[]) => void;
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
  const writer = createWriter(db, pauses, onRings);
  const leases = createLeases(db);
  const claims = createBatch<Target, Claim | undefined>(async (targets) => {
    const claimed = new Map(
      held(await claimTargets(db, targets)).map((claim) => [`${claim.kind} ${claim.key}`, claim]),
    );
    return targets.map(({ kind, key }) => claimed.get(`${kind} ${key}`));
  }, oneAtATime);
  const dueClaims = new Map(
    [...kindsOfQueues].map(([queue, kinds]) => [
      queue,
      createBatch<void, Claim | undefined>(async ({ length }) => held(await claimDue(db, kinds, length)), oneAtATime),
    ]),
  );

  const reads = Object.fromEntries(
    Object.entries(queueSettings).map(([name, settings]) => [name, pLimit(settings.reads)]),
  ) as Readonly<Record<QueueName, LimitFunction>>;

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
  async function turn(target: Target, signal: AbortSignal): Promise<Turn> {
    const found = await reads[queueOf[target.kind]](async () => {
      const claim = await claims.add(target);
      return claim && read(claim, signal);
    });
    return found ? end(found) : 'nothing_owed';
  }

  /** Claims before there is a place, so that all who go on at the same time share one statement. */
  async function next(queue: QueueName, signal: AbortSignal): Promise<Turn> {
    const claim = await dueClaims.get(queue)?.add();
    if (!claim) return 'nothing_owed';
    return told(claim.kind, async () => end(await reads[queue](() => read(claim, signal))));
  }

  async function end(found: Read): Promise<Turn> {
    const { claim } = found;
    try {
      return await ('reading' in found ? mirror(claim, found.reading) : readFailed(claim, found.error));
    } finally {
      leases.release(claim);
    }
  }

  async function mirror(claim: Claim, reading: Reading | CallReading | Unshown): Promise<Turn> {
    try {
      await ('unshown' in reading ? settle(claim, 'gone', {}, reading.unshown) : settle(claim, 'active', reading));
    } catch (error) {
      log.error({ err: error, target: shownTarget(claim) }, 'A read could not be written; it is tried again');
      await failTarget(db, claim, { error: messageOf(error), afterMs: unwrittenPauseMs, countsAsAttempt: true });
      return 'later';
    }
    await resumeAfter(claim);
    return 'unshown' in reading ? 'gone' : 'mirrored';
  }

  /** Whatever a probe was answered, its credential was taken. */
  async function resumeAfter({ kind, isProbe }: Claim): Promise<void> {
    if (!isProbe) return;
    await resumeStreams(db, [kind]);
    log.info({ kind }, 'The stream reads again');
  }

  async function readFailed(claim: Claim, error: unknown): Promise<Turn> {
    const outcome = outcomeOf(error, claim, Math.random);
    const message = messageOf(error);
    switch (outcome.kind) {
      case 'retry':
        log.debug({ target: shownTarget(claim), err: error }, 'A read failed; it is tried again');
        await failTarget(db, claim, { error: message, ...outcome });
        if (isUnknownThread(claim, error)) onRings(await bumpTargets(db, await groupsOfParty(db, claim.key), pauses));
        return 'later';
      case 'park':
        if (!claim.isProbe) log.error({ kind: claim.kind, err: error }, 'The credential may not read this; it waits');
        await parkStream(db, claim.kind, { reason: message, missingScope: outcome.missingScope });
        await failTarget(db, claim, { error: message, afterMs: 0, countsAsAttempt: false });
        return 'parked';
      case 'settle':
        log.warn({ target: shownTarget(claim), err: error }, `The service does not show this: ${outcome.state}`);
        await settle(claim, outcome.state, await refusedReading(claim, outcome.state, room), message);
        await resumeAfter(claim);
        return outcome.state;
    }
  }

  function settle(claim: Claim, state: TargetState, written: Written, error?: string): Promise<void> {
    return writer.write({ claim, state, error, written });
  }

  async function told(kind: TargetKind, turn: () => Promise<Turn>): Promise<Turn> {
    const began = performance.now();
    const ended = await turn();
    parts.onTurn?.(kind, ended, (performance.now() - began) / 1_000);
    return ended;
  }

  return {
    turn: (target, signal) => told(target.kind, () => turn(target, signal)),
    next,
    idle: () => writer.idle(),
  };
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
