import pLimit, { type LimitFunction } from 'p-limit';
import { type QueueName, queueSettings } from '../../config/queues.ts';
import { isNotFound, meaningOfRefusedKey, ServiceError } from '../api-client/client.ts';
import type { Database } from '../db/database.ts';
import {
  type Claim,
  claimDue,
  claimTargets,
  claimUnconfirmed,
  createLeases,
  failTarget,
  releaseClaims,
} from '../inbox/claims.ts';
import type { DueFloor } from '../inbox/due-floor.ts';
import { kindsOfQueues, queueOf } from '../inbox/notifier.ts';
import { parkKind, resumeKinds } from '../inbox/parking.ts';
import { markDirty, maskedTarget, priorities, type Target, type TargetKind, targetId } from '../inbox/targets.ts';
import { createBatch, oneAtATime } from '../shared/batch.ts';
import type { Log } from '../shared/log.ts';
import { threadOf } from '../shared/thread.ts';
import { heldThread } from '../warehouse/conversations.ts';
import { isDirectory, ofEachList } from '../warehouse/directory.ts';
import { heldCall } from '../warehouse/held-calls.ts';
import { provenance, type ReadContext, type ReadResult, type TargetReader } from './read-result.ts';
import { readRecordings, readTranscripts, refusedArtefacts } from './readers/read-artefacts.ts';
import { readCall } from './readers/read-call.ts';
import { readerOfList } from './readers/read-list.ts';
import { createThreadReader, groupsOfParty } from './readers/read-thread.ts';
import { directoryEverySeconds, soonest, untilMissingThreadRecheck, untilRefusedRecheck } from './rechecks.ts';
import { decideRetry } from './retry-policy.ts';
import { createAllowance } from './unconfirmed-targets.ts';
import { createWriter, type WriterDeps } from './writer.ts';

/** The decision after a miss of a held, unconfirmed target, for the first four misses. */
const nextSpacedMiss = { kind: 'retry', afterMs: 60_000, countsAsAttempt: true, isMiss: true } as const;
const maxMisses = 4;

/** Milliseconds before a target is read again if its result couldn't be written. */
const unwrittenPauseMs = 5_000;

/** A job came late if its target had been due for so many milliseconds. */
const lateMs = 50;

/** How a read ended. `not_pending`: the target wasn't pending. */
export type ReadOutcome = 'mirrored' | 'not_pending' | 'later' | 'parked' | 'gone' | 'forbidden' | 'refused';

interface EndedRead {
  readonly outcome: ReadOutcome;
  /** The read didn't find its target. */
  readonly isMissed: boolean;
}

/** How the read for a job ended. */
export interface JobRead extends Pick<EndedRead, 'outcome'> {
  /** The target had been due for a while, or another handler had read it: jobs arrive too slowly. */
  readonly isLate: boolean;
}

type FetchedRead = { readonly claim: Claim } & ({ readonly result: ReadResult } | { readonly error: unknown });

export type Sync = ReturnType<typeof createSync>;

export interface SyncDeps extends ReadContext, WriterDeps {
  readonly log: Log;
  /** Where scans for due targets begin. */
  readonly floor?: DueFloor;
  /** Called with the outcome of every read. */
  readonly onRead?: (kind: TargetKind, outcome: ReadOutcome, seconds: number) => void;
}

export function createSync(deps: SyncDeps) {
  const { db, log, notify } = deps;
  const readers: Readonly<Record<TargetKind, TargetReader>> = {
    thread: createThreadReader(),
    call: readCall,
    recordings: readRecordings,
    transcripts: readTranscripts,
    ...ofEachList((_, kind) => readerOfList(kind)),
  };
  const writer = createWriter(deps);
  const leases = createLeases(db);
  const claims = createBatch<Target, Claim | undefined>(async (targets) => {
    const claimed = new Map((await admit(await claimTargets(db, targets))).map((claim) => [targetId(claim), claim]));
    return targets.map((each) => claimed.get(targetId(each)));
  }, oneAtATime);
  const dueClaims = new Map(
    [...kindsOfQueues].map(([queue, kinds]) => [
      queue,
      createBatch<void, Claim | undefined>(
        async ({ length }) => admit(await claimDue(db, kinds, length, deps.floor)),
        oneAtATime,
      ),
    ]),
  );

  const limits = Object.fromEntries(
    Object.entries(queueSettings).map(([name, settings]) => [name, pLimit(settings.reads)]),
  ) as Readonly<Record<QueueName, LimitFunction>>;

  const allowance = createAllowance();
  /** Claims whose read takes a place of the allowance. */
  const allowed = new WeakSet<Claim>();

  /**
   * Leases the claims. Unconfirmed targets beyond the allowance are released and wait behind all others from now on.
   */
  async function admit(claimed: readonly Claim[]): Promise<readonly Claim[]> {
    const isAdmitted = (claim: Claim) => {
      if (!claim.isUnconfirmed) return true;
      if (!allowance.take()) return false;
      allowed.add(claim);
      return true;
    };
    const { now = [], later = [] } = Object.groupBy(claimed, (claim) => (isAdmitted(claim) ? 'now' : 'later'));
    // A failed release must not prevent the reads that already took their places.
    if (later.length > 0)
      await releaseClaims(db, later, { defer: true }).catch(() =>
        later.forEach((claim) => void leases.giveBack(claim)),
      );
    return lease(now);
  }

  function lease(claimed: readonly Claim[]): readonly Claim[] {
    for (const claim of claimed) leases.hold(claim);
    return claimed;
  }

  async function fetch(claim: Claim, signal: AbortSignal): Promise<FetchedRead> {
    try {
      return { claim, result: await readers[claim.kind](claim, deps, signal) };
    } catch (error) {
      return { claim, error };
    }
  }

  /** Claims once the queue's limit lets it read: the later the claim, the more references this one read covers. */
  async function readTarget(target: Target, signal: AbortSignal): Promise<EndedRead & JobRead> {
    const fetched = await limits[queueOf(target.kind)](async () => {
      const claim = await claims.add(target);
      return claim && fetch(claim, signal);
    });
    if (!fetched) return { outcome: 'not_pending', isMissed: false, isLate: true };
    return { ...(await end(fetched)), isLate: fetched.claim.lateMs > lateMs };
  }

  /**
   * Reads the target of a queue that has been due longest; `not_pending` if none is due. Claims before the limit, so
   * that handlers that continue at the same time share one statement.
   */
  async function readNext(queue: QueueName, signal: AbortSignal): Promise<ReadOutcome> {
    const claim = await dueClaims.get(queue)?.add();
    if (!claim) return 'not_pending';
    return (await readClaimed(claim, queue, signal)).outcome;
  }

  function readClaimed(claim: Claim, queue: QueueName, signal: AbortSignal): Promise<EndedRead> {
    return timed(claim.kind, async () => end(await limits[queue](() => fetch(claim, signal))));
  }

  const never = new AbortController().signal;

  /** Reads up to `max` deferred targets of some queues. */
  async function readUnconfirmed(queues: readonly QueueName[], max: number) {
    const kinds = queues.flatMap((queue) => kindsOfQueues.get(queue) ?? []);
    const claimed = lease(await claimUnconfirmed(db, kinds, max));
    const ended = await Promise.all(claimed.map((claim) => readClaimed(claim, queueOf(claim.kind), never)));
    const missed = ended.filter(({ outcome, isMissed }) => isMissed || outcome !== 'mirrored');
    return { read: ended.length, missed: missed.length };
  }

  async function end(fetched: FetchedRead): Promise<EndedRead> {
    const { claim } = fetched;
    let isMissed = false;
    try {
      const ended = await ('result' in fetched ? mirror(claim, fetched.result) : readFailed(claim, fetched.error));
      isMissed = ended.isMissed;
      leases.release(claim);
      return ended;
    } catch (error) {
      leases.giveBack(claim);
      throw error;
    } finally {
      if (allowed.delete(claim)) allowance.release(isMissed);
    }
  }

  async function mirror(claim: Claim, result: ReadResult): Promise<EndedRead> {
    let isFound: boolean;
    try {
      isFound = await writer.write({ claim, state: 'active', result });
    } catch (error) {
      log.error({ err: error, ...subjectOf(claim) }, 'The result of a read could not be written; it is read again');
      await failTarget(db, claim, { error: messageOf(error), afterMs: unwrittenPauseMs, countsAsAttempt: true });
      return { outcome: 'later', isMissed: false };
    }
    log.debug(subjectOf(claim), 'A read was mirrored');
    await resumeAfterProbe(claim);
    return { outcome: 'mirrored', isMissed: !isFound };
  }

  /** An answer to a probe, even a refusal of this target, shows that the service accepts the credential. */
  async function resumeAfterProbe(claim: Claim): Promise<void> {
    const { kind, isProbe } = claim;
    if (!isProbe) return;
    await resumeKinds(db, [kind]);
    log.info({ ...subjectOf(claim), kind }, 'The credential is accepted again: reading resumes');
  }

  async function readFailed(claim: Claim, error: unknown): Promise<EndedRead> {
    if (error instanceof ServiceError && error.code === 'aborted') {
      await releaseClaims(db, [claim]);
      return { outcome: 'later', isMissed: false };
    }
    const decided = decideRetry(error, claim, Math.random);
    // A delivery may be forged, so it must not shorten the spaced reads of a held target.
    const isEarly = decided.kind === 'finish' && decided.state === 'gone' && claim.misses < maxMisses;
    const isSpared = isEarly && claim.isUnconfirmed && (await isHeld(db, claim));
    const decision = isSpared ? nextSpacedMiss : decided;
    const message = messageOf(error);
    switch (decision.kind) {
      case 'retry':
        log.debug({ ...subjectOf(claim), err: error }, 'A read failed; it is retried');
        await failTarget(db, claim, { error: message, ...decision });
        if (isUnknownThread(claim, error)) notify(await markDirty(db, await groupsOfParty(db, claim.key)));
        return { outcome: 'later', isMissed: decision.isMiss === true };
      case 'park':
        if (!claim.isProbe) {
          const { sentence, remedy } = meaningOfRefusedKey(decision.missingScope);
          log.error(
            { ...subjectOf(claim), kind: claim.kind, err: error },
            `${sentence} ${remedy} Such reads wait for it`,
          );
        }
        await parkKind(db, claim.kind, { ...decision, reason: detailOf(error) });
        await failTarget(db, claim, { error: message, afterMs: 0, countsAsAttempt: false });
        return { outcome: 'parked', isMissed: false };
      case 'finish':
        // Forged deliveries must not fill the log with warnings.
        log[claim.isUnconfirmed && decision.state === 'gone' ? 'debug' : 'warn'](
          { ...subjectOf(claim), err: error },
          `The service does not return this target: ${decision.state}`,
        );
        await writer.write({
          claim,
          state: decision.state,
          result: await refusedResult(claim, decision.state, deps),
          error: message,
        });
        await resumeAfterProbe(claim);
        return { outcome: decision.state, isMissed: true };
    }
  }

  async function timed<Read extends EndedRead>(kind: TargetKind, read: () => Promise<Read>): Promise<Read> {
    const began = performance.now();
    const ended = await read();
    deps.onRead?.(kind, ended.outcome, (performance.now() - began) / 1_000);
    return ended;
  }

  return {
    /**
     * Reads a target if it's pending, and mirrors the result. Never rejects for an answer of the service: the target's
     * row keeps the outcome. Rejects if the database can't be reached; the sweep then reads the target again.
     */
    read: (target: Target, signal: AbortSignal): Promise<JobRead> =>
      timed(target.kind, () => readTarget(target, signal)),
    readNext,
    readUnconfirmed,
    /** Resolves when all results are committed. */
    idle: () => writer.idle(),
  };
}

/** The target of a read, and the delivery that caused it, for the log. */
function subjectOf(claim: Claim) {
  return { target: maskedTarget(claim), delivery: claim.deliveryId };
}

/** Whether the mirror holds a call, or anything of a thread. */
async function isHeld(db: Database, { kind, key }: Claim): Promise<boolean> {
  return kind === 'thread' ? heldThread(db, threadOf(key)).isHeld() : (await heldCall(db, key)) !== undefined;
}

/** Whether an event referred to a thread that doesn't exist: it may have meant a group of the same party. */
function isUnknownThread({ kind, priority, misses }: Claim, error: unknown): boolean {
  return kind === 'thread' && priority === priorities.live && misses === 0 && isNotFound(error);
}

/** The result of a final refusal: its change to the mirror, and when the target is read again. */
async function refusedResult(
  claim: Claim,
  state: 'gone' | 'forbidden' | 'refused',
  { db, now }: ReadContext,
): Promise<ReadResult> {
  const { kind, key } = claim;
  const untilRefused = state === 'gone' ? undefined : untilRefusedRecheck(claim, state, now());
  // No event refers to a list.
  if (isDirectory(kind)) return { recheckSeconds: soonest([untilRefused, directoryEverySeconds[kind]]) };
  if (state === 'refused') return { recheckSeconds: untilRefused };
  switch (kind) {
    case 'recordings':
    case 'transcripts':
      return { whenHeld: (held) => ({ ...refusedArtefacts(claim, state, held), recheckSeconds: untilRefused }) };
    case 'call':
      if (state === 'forbidden') return { recheckSeconds: untilRefused };
      return { entity: { kind: 'call_gone', read: { callId: key, read: provenance(claim, 'calls.get') } } };
    case 'thread':
      if (state === 'forbidden') return { recheckSeconds: untilRefused };
      return {
        entity: { kind: 'thread_gone', read: { thread: threadOf(key), read: provenance(claim, 'conversations.read') } },
        recheckSeconds: await untilMissingThreadRecheck(db, key, now()),
      };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a refusal says beyond its code, whose meaning is told with it. */
function detailOf(error: unknown): string {
  return (error instanceof ServiceError && error.detail) || messageOf(error);
}
