import { createBatch } from '../batch.ts';
import type { Pauses } from '../inbox/bumps.ts';
import { type Claim, claimTargets, failTarget, type TargetState } from '../inbox/claims.ts';
import { parkStream, resumeStreams } from '../inbox/streams.ts';
import { type Ring, shownTarget, type Target, type TargetKind } from '../inbox/target.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { threadOf } from '../warehouse/entities/texts/conversations.ts';
import { provenance, type Reading, type ReadingRoom, type TargetReader } from './finding.ts';
import { outcomeOf } from './outcome.ts';
import { readRecordings, readTranscripts, refusedArtefacts } from './readers/artefacts.ts';
import { readCall } from './readers/call.ts';
import { readLines, readUsers } from './readers/directory.ts';
import { createThreadReader } from './readers/thread.ts';
import { createThreadPages } from './thread-pages.ts';
import { createWriter } from './writer.ts';

/** What was read but could not be written is tried again after so long. */
const unwrittenPauseMs = 5_000;

/** How a target's turn ended. */
export type Turn = 'mirrored' | 'nothing_owed' | 'later' | 'parked' | 'gone' | 'forbidden' | 'refused';

export interface Sync {
  /**
   * Reads a target if that is owed, and mirrors what it finds. Never rejects for what the service answers: that is
   * kept in the target's row. Rejects when the database cannot be reached; the sweep then rings again.
   */
  turn(target: Target, signal: AbortSignal): Promise<Turn>;
  /** Resolves when nothing waits for its commit. */
  idle(): Promise<void>;
}

export interface SyncParts extends ReadingRoom {
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
    call: readCall,
    recordings: readRecordings,
    transcripts: readTranscripts,
    users: readUsers,
    lines: readLines,
  };
  const writer = createWriter(db, pauses, onRings);
  const claims = createBatch<Target, Claim | undefined>(
    async (targets) => {
      const claimed = new Map((await claimTargets(db, targets)).map((claim) => [`${claim.kind} ${claim.key}`, claim]));
      return targets.map(({ kind, key }) => claimed.get(`${kind} ${key}`));
    },
    { inFlight: 2, most: 200 },
  );

  async function turn(target: Target, signal: AbortSignal): Promise<Turn> {
    const claim = await claims.add(target);
    if (!claim) return 'nothing_owed';
    let reading: Reading;
    try {
      reading = await readers[claim.kind](claim, parts, signal);
    } catch (error) {
      return readFailed(claim, error);
    }
    try {
      await settle(claim, 'active', reading);
    } catch (error) {
      log.error({ err: error, target: shownTarget(claim) }, 'A read could not be written; it is tried again');
      await failTarget(db, claim, { error: messageOf(error), afterMs: unwrittenPauseMs, countsAsAttempt: true });
      return 'later';
    }
    if (claim.isProbe) {
      await resumeStreams(db, [claim.kind]);
      log.info({ kind: claim.kind }, 'The stream reads again');
    }
    return 'mirrored';
  }

  async function readFailed(claim: Claim, error: unknown): Promise<Turn> {
    const outcome = outcomeOf(error, claim, Math.random);
    const message = messageOf(error);
    switch (outcome.kind) {
      case 'retry':
        log.debug({ target: shownTarget(claim), err: error }, 'A read failed; it is tried again');
        await failTarget(db, claim, { error: message, ...outcome });
        return 'later';
      case 'park':
        if (!claim.isProbe) log.error({ kind: claim.kind, err: error }, 'The credential may not read this; it waits');
        await parkStream(db, claim.kind, { reason: message, missingScope: outcome.missingScope });
        await failTarget(db, claim, { error: message, afterMs: 0, countsAsAttempt: false });
        return 'parked';
      case 'settle':
        log.warn({ target: shownTarget(claim), err: error }, `The service does not show this: ${outcome.state}`);
        await settle(claim, outcome.state, await refusedReading(claim, outcome.state, db), message);
        return outcome.state;
    }
  }

  function settle(claim: Claim, state: TargetState, reading: Partial<Reading>, error?: string): Promise<void> {
    const { finding, followUps = [], lookAgainSeconds } = reading;
    const { priority } = claim;
    const bumps = followUps.map((bump) => ({ priority, ...bump }));
    return writer.write({ finding, followUps: bumps, settlement: { ...claim, state, error, lookAgainSeconds } });
  }

  return {
    async turn(target, signal) {
      const began = performance.now();
      const ended = await turn(target, signal);
      parts.onTurn?.(target.kind, ended, (performance.now() - began) / 1_000);
      return ended;
    },
    idle: () => writer.idle(),
  };
}

/** What a final refusal says about what is held. */
async function refusedReading(
  claim: Claim,
  state: 'gone' | 'forbidden' | 'refused',
  db: Database,
): Promise<Partial<Reading>> {
  if (state === 'refused') return {};
  if (claim.kind === 'recordings' || claim.kind === 'transcripts') return refusedArtefacts(claim, state, db);
  if (state === 'forbidden') return {};
  if (claim.kind === 'call') {
    return { finding: { kind: 'call_gone', read: { callId: claim.key, read: provenance(claim, 'calls.get') } } };
  }
  if (claim.kind !== 'thread') return {};
  const read = provenance(claim, 'conversations.read');
  return { finding: { kind: 'thread_gone', read: { thread: threadOf(claim.key), read } } };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
