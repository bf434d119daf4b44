import type { CallSummary } from '../../api-client/client.ts';
import { type Database, inTransaction, query, type Transaction } from '../../db/database.ts';
import { type DirtyTarget, type DueTarget, markDirty, type Priority, type ReadPauses } from '../../inbox/targets.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import type { Provenance } from '../../warehouse/upsert.ts';
import { type CallWrite, following } from '../../warehouse/what-follows.ts';
import { writeCalls } from '../../warehouse/write-calls.ts';
import { countUnannounced } from './coverage.ts';
import { type CallLister, type Listing, secondOf } from './listing.ts';

export interface MirrorOptions {
  /** Priority for reading legs, recordings and transcripts of new and changed calls; undefined: they are not read. */
  readonly readPriority: Priority | undefined;
  /** Also reads unchanged calls whose legs were never read. */
  readonly readsMissingLegs?: boolean;
  /** Counts calls that no webhook announced. */
  readonly isWatched: boolean;
}

/** Mirrors a page of call history and commits. Resolves to the targets to enqueue and how many calls were new or changed. */
export function mirrorPage(
  db: Database,
  calls: readonly CallSummary[],
  read: Provenance,
  { readPriority, readsMissingLegs = false, isWatched, pauses }: MirrorOptions & { readonly pauses: ReadPauses },
): Promise<{ due: DueTarget[]; changed: number }> {
  return inTransaction(db, async (tx) => {
    if (isWatched) await countUnannounced(tx, await unannounced(tx, calls));
    const reads = calls.map((call) => ({ call, read }));
    const writes = await following(tx, (follow) => writeCalls(tx, follow, reads), { isHistory: !isWatched });
    if (readPriority === undefined) return { due: [], changed: 0 };
    const toRead = writes.filter((each) => each.isChanged || (readsMissingLegs && lacksLegs(each)));
    const targets = toRead.map(({ callId }): DirtyTarget => ({ kind: 'call', key: callId, priority: readPriority }));
    return { due: await markDirty(tx, targets, pauses), changed: writes.filter(({ isChanged }) => isChanged).length };
  });
}

/** Lists a range and mirrors each page as it arrives. `changed` counts new and changed calls. */
export async function mirrorRange(
  { db, pauses, notify }: { db: Database; pauses: ReadPauses; notify: (due: readonly DueTarget[]) => void },
  lister: CallLister,
  range: TimeRange,
  options: MirrorOptions,
  signal: AbortSignal | undefined,
): Promise<Listing & { readonly changed: number }> {
  let changed = 0;
  const listing = await lister.list(
    range,
    async (page, read) => {
      const mirrored = await mirrorPage(db, page, read, { ...options, pauses });
      changed += mirrored.changed;
      notify(mirrored.due);
    },
    signal,
  );
  return { ...listing, changed };
}

/** The starts, in Unix seconds, of calls that nothing referred to before. */
async function unannounced(tx: Transaction, calls: readonly CallSummary[]): Promise<number[]> {
  const rows = await query<{ key: string }>(
    tx,
    `select key from ops.sync_targets where kind = 'call' and key = any($1)
     union all select call_id from warehouse.calls where call_id = any($1)`,
    [calls.map(({ id }) => id)],
  );
  const known = new Set(rows.map(({ key }) => key));
  return calls.filter(({ id }) => !known.has(id)).map(secondOf);
}

function lacksLegs({ after, isErased }: CallWrite): boolean {
  return after.legs_fetched_at == null && !isErased;
}
