import { setTimeout as sleep } from 'node:timers/promises';
import type { CallSummary } from '../../api-client/client.ts';
import { type Database, inTransaction, query, type Transaction } from '../../db/database.ts';
import { areReadsWaiting } from '../../inbox/claims.ts';
import { type DirtyTarget, type DueTarget, markDirty, type Priority } from '../../inbox/targets.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import type { Provenance } from '../../warehouse/upsert.ts';
import { type CallWrite, following } from '../../warehouse/what-follows.ts';
import { callsToWrite, writeCalls } from '../../warehouse/write-calls.ts';
import { countUnannounced } from './coverage.ts';
import { type CallLister, type Listing, secondOf } from './listing.ts';

export interface MirrorOptions {
  /** Priority for reading legs, recordings and transcripts of new and changed calls; undefined: they aren't read. */
  readonly readPriority: Priority | undefined;
  /** Also reads unchanged calls whose legs were never read. */
  readonly readsMissingLegs?: boolean;
  /** Counts calls that no webhook announced. */
  readonly isWatched: boolean;
  /** False: the service may still add calls to the range, and its hours are compared later. Default: true. */
  readonly isProof?: boolean;
}

/** How long a page waits at most for live reads, and how often it looks. */
const maxWaitMs = 1_000;
const waitMs = 200;

/**
 * Mirrors a page of call history and commits; waits first for live reads that lack a handler. Writes only calls that
 * are new or differ from the mirror. Resolves to the targets to enqueue, and how many calls were new or changed.
 */
export async function mirrorPage(
  db: Database,
  calls: readonly CallSummary[],
  read: Provenance,
  { readPriority, readsMissingLegs = false, isWatched }: MirrorOptions,
): Promise<{ due: DueTarget[]; changed: number }> {
  if (calls.length === 0) return { due: [], changed: 0 };
  for (let waitedMs = 0; waitedMs < maxWaitMs && (await areReadsWaiting(db)); waitedMs += waitMs) await sleep(waitMs);
  const all = calls.map((call) => ({ call, read }));
  return inTransaction(db, async (tx) => {
    const differing = await callsToWrite(tx, all, { withoutLegs: readsMissingLegs });
    const reads = all.filter(({ call }) => differing.has(call.id));
    const missing = calls.filter(({ id }) => differing.get(id) === false);
    const starts = isWatched ? await unannounced(tx, missing) : [];
    const writes = await following(tx, (follow) => writeCalls(tx, follow, reads), { isHistory: !isWatched });
    // This comes last, because the other pages of the hour wait for the row that it locks.
    await countUnannounced(tx, starts);
    if (readPriority === undefined) return { due: [], changed: 0 };
    const toRead = writes.filter((each) => each.isChanged || (readsMissingLegs && lacksLegs(each)));
    const targets = toRead.map(({ callId }): DirtyTarget => ({ kind: 'call', key: callId, priority: readPriority }));
    return { due: await markDirty(tx, targets), changed: writes.filter(({ isChanged }) => isChanged).length };
  });
}

/** Lists a range and mirrors each page as it arrives. `changed` counts new and changed calls. */
export async function mirrorRange(
  { db, notify }: { db: Database; notify: (due: readonly DueTarget[]) => void },
  lister: CallLister,
  range: TimeRange,
  options: MirrorOptions,
  signal: AbortSignal | undefined,
): Promise<Listing & { readonly changed: number }> {
  let changed = 0;
  const listing = await lister.list(
    range,
    async (page, read) => {
      const mirrored = await mirrorPage(db, page, read, options);
      changed += mirrored.changed;
      notify(mirrored.due);
    },
    signal,
    options.isProof,
  );
  return { ...listing, changed };
}

/** The starts, in Unix seconds, of calls that the mirror lacks and to which no target refers. */
async function unannounced(tx: Transaction, calls: readonly CallSummary[]): Promise<number[]> {
  if (calls.length === 0) return [];
  const rows = await query<{ key: string }>(
    tx,
    `select key from ops.sync_targets where kind = 'call' and key = any($1)`,
    [calls.map(({ id }) => id)],
  );
  const known = new Set(rows.map(({ key }) => key));
  return calls.filter(({ id }) => !known.has(id)).map(secondOf);
}

function lacksLegs({ after, isErased }: CallWrite): boolean {
  return after.legs_fetched_at == null && !isErased;
}
