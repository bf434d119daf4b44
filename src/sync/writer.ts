import { createBatch, oneAtATime } from '../batch.ts';
import type { Bump, Pauses } from '../inbox/bumps.ts';
import { type Claim, type Settlement, settleTargets, type TargetState } from '../inbox/claims.ts';
import { type Priority, priorities, type Ring } from '../inbox/target.ts';
import type { SealLink } from '../warehouse/columns.ts';
import { type Database, inTransaction, type Transaction } from '../warehouse/database.ts';
import { markCallsGone, writeCalls } from '../warehouse/entities/calls/calls.ts';
import { type HeldCall, heldCalls } from '../warehouse/entities/calls/held-call.ts';
import { writeRecordings } from '../warehouse/entities/calls/recordings.ts';
import { writeTranscripts } from '../warehouse/entities/calls/transcripts.ts';
import { writeLines } from '../warehouse/entities/directory/lines.ts';
import { writeUsers } from '../warehouse/entities/directory/users.ts';
import { markThreadsGone, writeThreads } from '../warehouse/entities/texts/conversations.ts';
import { beginHistory } from '../warehouse/history.ts';
import { doubtHoursOf } from './coverage/coverage.ts';
import type { Finding, Reading } from './finding.ts';

/** What is written of a read; of a call's, once it is known what the mirror holds of it. */
export type Written = Partial<Reading> | ((held: HeldCall | undefined) => Partial<Reading>);

/** A read to be mirrored and settled in one transaction. */
export interface Mirroring {
  readonly claim: Claim;
  readonly state: TargetState;
  readonly error?: string | undefined;
  readonly written: Written;
}

/** What a read comes to in the light of what is held. */
interface Concluded {
  readonly finding: Finding | undefined;
  readonly settlement: Settlement;
  readonly isFound: boolean;
  readonly followUps: readonly Bump[];
}

/** The one way into the warehouse: reads of many workers share a transaction, and one statement per table. */
export interface Writer {
  /**
   * Resolves after the commit, to whether the read showed that its target exists. A read that cannot be written rejects
   * alone; the others of its batch stand.
   */
  write(mirroring: Mirroring): Promise<boolean>;
  idle(): Promise<void>;
}

export function createWriter(
  db: Database,
  pauses: Pauses,
  onRings: (rings: readonly Ring[]) => void,
  sealLink?: SealLink,
): Writer {
  async function commit(mirrorings: readonly Mirroring[]): Promise<boolean[]> {
    const concluded = await conclude(db, mirrorings);
    const rings = await inTransaction(db, async (tx) => {
      await writeFindings(tx, findingsOf(concluded, priorities.live), sealLink);
      const history = findingsOf(concluded, priorities.history);
      if (history.length > 0) {
        await beginHistory(tx);
        await writeFindings(tx, history, sealLink);
      }
      return settleTargets(
        tx,
        concluded.map(({ settlement }) => settlement),
        concluded.flatMap(({ followUps }) => followUps),
        pauses,
      );
    });
    onRings(rings);
    return concluded.map(({ isFound }) => isFound);
  }

  const batch = createBatch<Mirroring, boolean | Error>(async (mirrorings) => {
    try {
      return await commit(mirrorings);
    } catch (error) {
      if (mirrorings.length === 1) throw error;
      // One of them cannot be written: each for itself, so that it fails alone.
      return Promise.all(mirrorings.map((each) => commit([each]).then(([isFound = false]) => isFound, asError)));
    }
  }, oneAtATime);

  return {
    async write(mirroring) {
      const written = await batch.add(mirroring);
      if (written instanceof Error) throw written;
      return written;
    },
    idle: () => batch.idle(),
  };
}

/** One question for the whole batch, outside of its transaction: what others write meanwhile, they bump again. */
async function conclude(db: Database, mirrorings: readonly Mirroring[]): Promise<Concluded[]> {
  const asked = mirrorings.filter(({ written }) => typeof written === 'function').map(({ claim }) => claim.key);
  const held = asked.length > 0 ? await heldCalls(db, asked) : undefined;
  return mirrorings.map(({ claim, state, error, written }) => {
    const call = held?.get(claim.key);
    const reading = typeof written === 'function' ? written(call) : written;
    const { finding, followUps = [], lookAgainSeconds } = reading;
    const isFound = state === 'active' && shows(finding, call);
    return {
      finding,
      isFound,
      settlement: { ...claim, state, error, lookAgainSeconds, isFound },
      followUps: followUps.map((bump) => ({ priority: claim.priority, ...bump })),
    };
  });
}

/** Whether what was read shows that its target exists: a thread that never was lists nothing, as one that is empty does. */
function shows(finding: Finding | undefined, call: HeldCall | undefined): boolean {
  switch (finding?.kind) {
    case 'thread':
      return finding.read.messages.length > 0 || (finding.strayed ?? []).length > 0;
    case 'transcripts':
      return finding.read.transcripts.length > 0 || call !== undefined;
    case 'call_gone':
    case 'thread_gone':
      return false;
    default:
      return true;
  }
}

function findingsOf(concluded: readonly Concluded[], priority: Priority): Finding[] {
  return concluded.flatMap(({ finding, settlement }) => (finding && settlement.priority === priority ? [finding] : []));
}

async function writeFindings(
  tx: Transaction,
  findings: readonly Finding[],
  sealLink: SealLink | undefined,
): Promise<void> {
  const of = <K extends Finding['kind']>(kind: K) =>
    findings.filter((each): each is Finding & { kind: K } => each.kind === kind);
  const threads = of('thread');
  const calls = of('call');
  const goneCalls = of('call_gone');
  const goneThreads = of('thread_gone');
  const recordings = of('recordings');
  const transcripts = of('transcripts');
  if (threads.length > 0)
    await writeThreads(
      tx,
      threads.flatMap(({ read, strayed = [] }) => [read, ...strayed].map((each) => ({ ...each, sealLink }))),
    );
  if (calls.length > 0)
    await writeCalls(
      tx,
      calls.map(({ read }) => read),
    );
  if (goneCalls.length > 0) {
    await markCallsGone(
      tx,
      goneCalls.map(({ read }) => read),
    );
    await doubtHoursOf(
      tx,
      goneCalls.map(({ read }) => read.callId),
    );
  }
  if (goneThreads.length > 0)
    await markThreadsGone(
      tx,
      goneThreads.map(({ read }) => read),
    );
  if (recordings.length > 0)
    await writeRecordings(
      tx,
      recordings.map(({ read }) => ({ ...read, sealLink })),
    );
  if (transcripts.length > 0)
    await writeTranscripts(
      tx,
      transcripts.map(({ read }) => read),
    );
  for (const { read } of of('users')) await writeUsers(tx, read);
  for (const { read } of of('lines')) await writeLines(tx, read);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
