import type { RetentionDays } from '../../config/settings.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { type Claim, type Settlement, settleTargets, type TargetState } from '../inbox/claims.ts';
import { type DirtyTarget, type DueTarget, type Priority, priorities, type ReadPauses } from '../inbox/targets.ts';
import { createBatch, oneAtATime } from '../shared/batch.ts';
import { workingOn } from '../shared/work.ts';
import { type HeldCall, heldCalls, markCallsGone, writeCalls } from '../warehouse/calls.ts';
import { markThreadsGone, writeThreads } from '../warehouse/conversations.ts';
import { writeLines } from '../warehouse/lines.ts';
import { writeRecordings } from '../warehouse/recordings.ts';
import { writeTranscripts } from '../warehouse/transcripts.ts';
import { beginHistory, type SealLink } from '../warehouse/upsert.ts';
import { writeUsers } from '../warehouse/users.ts';
import type { EntityRead, ReadResult } from './read-result.ts';

/** A read to write and to settle in one transaction. */
export interface FinishedRead {
  readonly claim: Claim;
  readonly state: TargetState;
  readonly error?: string | undefined;
  readonly result: PartialResult;
}

/** The result of a read; of a call's artefacts, as a function of the call row. */
export type PartialResult = Partial<ReadResult> | ((held: HeldCall | undefined) => Partial<ReadResult>);

interface Resolved {
  readonly entity: EntityRead | undefined;
  readonly settlement: Settlement;
  readonly isFound: boolean;
  readonly followUps: readonly DirtyTarget[];
}

export interface WriterDeps {
  readonly db: Database;
  readonly pauses: ReadPauses;
  readonly notify: (due: readonly DueTarget[]) => void;
  /** Undefined: links are not stored. */
  readonly sealLink?: SealLink | undefined;
  /** For how many days content is stored. */
  readonly retentionDays?: RetentionDays;
  /** Called in the transaction that marks calls deleted. */
  readonly onCallsGone?: (tx: Transaction, callIds: readonly string[]) => Promise<void>;
}

/** Writes reads into the warehouse: concurrent reads share one transaction, with one statement per table. */
export function createWriter(deps: WriterDeps) {
  const { db, pauses, notify } = deps;

  function commit(reads: readonly FinishedRead[]): Promise<boolean[]> {
    return workingOn(
      reads.map(({ claim }) => claim),
      () => commitAll(reads),
    );
  }

  async function commitAll(reads: readonly FinishedRead[]): Promise<boolean[]> {
    const resolved = await resolve(db, reads);
    const due = await inTransaction(db, async (tx) => {
      await writeEntities(tx, entitiesOf(resolved, priorities.live), deps);
      const history = entitiesOf(resolved, priorities.history);
      if (history.length > 0) {
        await beginHistory(tx);
        await writeEntities(tx, history, deps);
      }
      return settleTargets(
        tx,
        resolved.map(({ settlement }) => settlement),
        resolved.flatMap(({ followUps }) => followUps),
        pauses,
      );
    });
    notify(due);
    return resolved.map(({ isFound }) => isFound);
  }

  const batch = createBatch<FinishedRead, boolean | Error>(async (reads) => {
    const written = new Map<FinishedRead, boolean | Error>();
    const { apart = [], together = [] } = Object.groupBy(reads, isApart);
    for (const group of [together, ...apart.map((each) => [each])]) {
      const results = group.length > 1 ? await commit(group).catch(() => commitEach(group)) : await commitEach(group);
      group.forEach((read, at) => void written.set(read, results[at] ?? false));
    }
    return reads.map((read) => written.get(read) ?? false);
  }, oneAtATime);

  /** Writes each read alone. */
  function commitEach(reads: readonly FinishedRead[]): Promise<(boolean | Error)[]> {
    return Promise.all(reads.map((each) => commit([each]).then(([isFound = false]) => isFound, asError)));
  }

  return {
    /**
     * Resolves after the commit, to whether the read proved that its target exists. If a batch cannot be written, each read is
     * written alone, and only those that fail again reject.
     */
    async write(read: FinishedRead): Promise<boolean> {
      const written = await batch.add(read);
      if (written instanceof Error) throw written;
      return written;
    },
    idle: () => batch.idle(),
  };
}

/** What ended its process is written alone: if it does so again, nothing else is under suspicion. */
function isApart({ claim }: FinishedRead): 'apart' | 'together' {
  return claim.lostReads > 0 ? 'apart' : 'together';
}

/** Looks up the calls of the batch outside its transaction: a concurrent change of a call marks the target dirty again. */
async function resolve(db: Database, reads: readonly FinishedRead[]): Promise<Resolved[]> {
  const callIds = reads.filter(({ result }) => typeof result === 'function').map(({ claim }) => claim.key);
  const held = callIds.length > 0 ? await heldCalls(db, callIds) : undefined;
  return reads.map(({ claim, state, error, result }) => {
    const call = held?.get(claim.key);
    const { entity, followUps = [], recheckSeconds } = typeof result === 'function' ? result(call) : result;
    const isFound = state === 'active' && provesTarget(entity, call);
    return {
      entity,
      isFound,
      settlement: { ...claim, state, error, recheckSeconds, isFound },
      followUps: followUps.map((target) => ({ priority: claim.priority, deliveryId: claim.deliveryId, ...target })),
    };
  });
}

/** An empty list proves nothing: it cannot tell an emptied thread from one that never existed. */
function provesTarget(entity: EntityRead | undefined, call: HeldCall | undefined): boolean {
  switch (entity?.kind) {
    case 'thread':
      return entity.read.messages.length > 0 || (entity.groups ?? []).length > 0;
    case 'transcripts':
      return entity.read.transcripts.length > 0 || call !== undefined;
    case 'call_gone':
    case 'thread_gone':
      return false;
    default:
      return true;
  }
}

function entitiesOf(resolved: readonly Resolved[], priority: Priority): EntityRead[] {
  return resolved.flatMap(({ entity, settlement }) => (entity && settlement.priority === priority ? [entity] : []));
}

async function writeEntities(
  tx: Transaction,
  entities: readonly EntityRead[],
  { sealLink, retentionDays = {}, onCallsGone }: WriterDeps,
): Promise<void> {
  const readsOf = <K extends EntityRead['kind']>(kind: K) =>
    entities.flatMap((each) => (each.kind === kind ? [each.read] : [])) as Extract<EntityRead, { kind: K }>['read'][];
  const threads = entities.flatMap((each) => (each.kind === 'thread' ? [each.read, ...(each.groups ?? [])] : []));
  const calls = readsOf('call');
  const goneCalls = readsOf('call_gone');
  const goneThreads = readsOf('thread_gone');
  const recordings = readsOf('recordings');
  const transcripts = readsOf('transcripts');
  if (threads.length > 0) {
    const kept = { sealLink, retentionDays: retentionDays.texts };
    await writeThreads(
      tx,
      threads.map((each) => ({ ...each, ...kept })),
    );
  }
  if (calls.length > 0) await writeCalls(tx, calls);
  if (goneCalls.length > 0) {
    await markCallsGone(tx, goneCalls);
    await onCallsGone?.(
      tx,
      goneCalls.map(({ callId }) => callId),
    );
  }
  if (goneThreads.length > 0) await markThreadsGone(tx, goneThreads);
  if (recordings.length > 0) {
    await writeRecordings(
      tx,
      recordings.map((each) => ({ ...each, sealLink, retentionDays: retentionDays.recordings })),
    );
  }
  if (transcripts.length > 0) {
    await writeTranscripts(
      tx,
      transcripts.map((each) => ({ ...each, retentionDays: retentionDays.transcripts })),
    );
  }
  for (const read of readsOf('users')) await writeUsers(tx, read);
  for (const read of readsOf('lines')) await writeLines(tx, read);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
