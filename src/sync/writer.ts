import type { RetentionDays } from '../../config/settings.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { type Claim, type FinishedTarget, finishTargets, type TargetState } from '../inbox/claims.ts';
import { type DirtyTarget, type DueTarget, priorities, type TargetKind } from '../inbox/targets.ts';
import { createBatch, oneAtATime } from '../shared/batch.ts';
import { endpointsOf, markCallsGone } from '../warehouse/calls.ts';
import { markThreadsGone, writeThreads } from '../warehouse/conversations.ts';
import { directory } from '../warehouse/directory.ts';
import { hasErasures } from '../warehouse/erasure/erased.ts';
import { type HeldCall, type HeldCalls, heldCallOf, holdCalls } from '../warehouse/held-calls.ts';
import type { LinkSealer } from '../warehouse/links.ts';
import { writeRecordings } from '../warehouse/recordings.ts';
import { writeTranscripts } from '../warehouse/transcripts.ts';
import { type Follow, following } from '../warehouse/what-follows.ts';
import { writeCalls } from '../warehouse/write-calls.ts';
import type { EntityRead, ReadResult } from './read-result.ts';

/*
 * What happens when reads are mirrored, in one transaction:
 *
 *   hold erasures ─▶ lock the calls ─▶ write threads, calls, recordings, transcripts, lists ─▶ record what follows ─▶ finish
 *                                            └──────────────── follow(…) ────────────────────▲
 *
 * A function that writes also computes what follows from its write, and hands that to `follow`. `following` records it:
 * triggers of rules (`ops.rule_events`), and days whose reports changed (`ops.rollup_markers`, `ops.send_markers`).
 * Finishing makes the follow-up reads due, such as the recordings of a call. After the commit, the notifier enqueues
 * them. Postgres has no triggers for this.
 */

/** A read to write and to finish in one transaction. */
export interface FinishedRead {
  readonly claim: Claim;
  readonly state: TargetState;
  readonly error?: string | undefined;
  readonly result: ReadResult;
}

interface Resolved {
  readonly entity: EntityRead | undefined;
  readonly finished: FinishedTarget;
  readonly isFound: boolean;
  readonly followUps: readonly DirtyTarget[];
}

export interface WriterDeps {
  readonly db: Database;
  readonly notify: (due: readonly DueTarget[]) => void;
  /** Undefined: links aren't stored. */
  readonly sealer?: LinkSealer | undefined;
  /** For how many days content is stored. */
  readonly retentionDays?: RetentionDays;
  /** Called in the transaction that marks calls deleted. */
  readonly onCallsGone?: (tx: Transaction, callIds: readonly string[]) => Promise<void>;
}

/** Writes reads into the warehouse: concurrent reads share one transaction, with one statement per table. */
export function createWriter(deps: WriterDeps) {
  const { db, notify } = deps;

  async function commit(reads: readonly FinishedRead[]): Promise<boolean[]> {
    const { due, found } = await inTransaction(db, async (tx) => {
      await hasErasures(tx);
      const held = await hold(tx, reads);
      const resolved = reads.map((read) => resolve(read, held));
      const { news = [], history = [] } = Object.groupBy(resolved, ({ finished }) =>
        finished.priority === priorities.history ? 'history' : 'news',
      );
      const write = (some: readonly Resolved[], isHistory: boolean) =>
        following(tx, (follow) => writeEntities(tx, follow, entitiesOf(some), held, deps), { isHistory });
      await write(news, false);
      await write(history, true);
      return {
        due: await finishTargets(
          tx,
          resolved.map(({ finished }) => finished),
          resolved.flatMap(({ followUps }) => followUps),
        ),
        found: resolved.map(({ isFound }) => isFound),
      };
    });
    notify(due);
    return found;
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
     * Resolves after the commit, to whether the read proved that its target exists. If a batch can't be written, each
     * read is written alone, and only reads that fail again reject.
     */
    async write(read: FinishedRead): Promise<boolean> {
      const written = await batch.add(read);
      if (written instanceof Error) throw written;
      return written;
    },
    idle: () => batch.idle(),
  };
}

/** A read that failed twice or ended its process is written alone, so that other reads don't fail with it. */
function isApart({ claim }: FinishedRead): 'apart' | 'together' {
  return claim.attempts > 1 ? 'apart' : 'together';
}

/** Locks the calls of the reads. */
async function hold(tx: Transaction, reads: readonly FinishedRead[]): Promise<HeldCalls> {
  const aboutCalls = reads.filter(({ claim }) => isAboutCall.has(claim.kind));
  return holdCalls(
    tx,
    aboutCalls.map(({ claim }) => claim.key),
    aboutCalls.flatMap(({ result }) => (result.entity?.kind === 'call' ? endpointsOf(result.entity.read.call) : [])),
  );
}

const isAboutCall: ReadonlySet<TargetKind> = new Set(['call', 'recordings', 'transcripts']);

function resolve({ claim, state, error, result }: FinishedRead, { calls }: HeldCalls): Resolved {
  const row = calls.get(claim.key)?.call;
  const held = row && heldCallOf(row);
  const { entity, followUps = [], recheckSeconds } = { ...result, ...result.whenHeld?.(held) };
  const isFound = state === 'active' && provesTarget(entity, held);
  return {
    entity,
    isFound,
    finished: { ...claim, state, error, recheckSeconds, isFound },
    followUps: followUps.map((target) => ({ priority: claim.priority, deliveryId: claim.deliveryId, ...target })),
  };
}

/** An empty list proves nothing: an emptied thread and one that never existed look the same. */
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

function entitiesOf(resolved: readonly Resolved[]): EntityRead[] {
  return resolved.flatMap(({ entity }) => entity ?? []);
}

/** Writes what was read. */
async function writeEntities(
  tx: Transaction,
  follow: Follow,
  entities: readonly EntityRead[],
  held: HeldCalls,
  { sealer, retentionDays = {}, onCallsGone }: WriterDeps,
): Promise<void> {
  const readsOf = <K extends EntityRead['kind']>(kind: K) =>
    entities.flatMap((each) => (each.kind === kind ? [each.read] : [])) as Extract<EntityRead, { kind: K }>['read'][];
  const stored = <Read>(reads: readonly Read[], days: number | undefined) =>
    reads.map((each) => ({ ...each, sealer, retentionDays: days }));
  const threads = entities.flatMap((each) => (each.kind === 'thread' ? [each.read, ...(each.groups ?? [])] : []));
  const goneCalls = readsOf('call_gone');

  await writeThreads(tx, follow, stored(threads, retentionDays.texts));
  await writeCalls(tx, follow, readsOf('call'), held);
  await markCallsGone(tx, follow, goneCalls);
  if (goneCalls.length > 0) {
    await onCallsGone?.(
      tx,
      goneCalls.map(({ callId }) => callId),
    );
  }
  await markThreadsGone(tx, follow, readsOf('thread_gone'));
  await writeRecordings(tx, follow, stored(readsOf('recordings'), retentionDays.recordings), held);
  await writeTranscripts(tx, follow, stored(readsOf('transcripts'), retentionDays.transcripts), held);
  for (const each of entities) {
    if (each.kind === 'list') await directory[each.list].write(tx, follow, each.read);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
