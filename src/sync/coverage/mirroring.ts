import { type Bump, bumpTargets, type Pauses } from '../../inbox/bumps.ts';
import type { Priority, Ring } from '../../inbox/target.ts';
import type { CallSummary } from '../../service/entities/call.ts';
import type { Provenance } from '../../warehouse/columns.ts';
import { type Database, inTransaction, query, type Transaction } from '../../warehouse/database.ts';
import { writeCalls } from '../../warehouse/entities/calls/calls.ts';
import { beginHistory } from '../../warehouse/history.ts';
import { countUnannounced } from './coverage.ts';
import type { CallLister, Listing } from './listing.ts';
import { type Span, secondOf } from './spans.ts';

/** What becomes of listed calls that are new or changed. */
export interface Consequences {
  /** Reads their legs, recordings and transcripts too, with this priority; undefined leaves it at the row. */
  readonly readWith: Priority | undefined;
  /** Reads those too that are neither new nor changed, and whose legs were never read. */
  readonly readsUnread?: boolean;
  /** Counts those that no webhook announced. */
  readonly isWatched: boolean;
}

/** Mirrors a page of call history and commits; answers with the bells to ring and how many of the calls to read were new or changed. */
export function mirrorPage(
  db: Database,
  calls: readonly CallSummary[],
  read: Provenance,
  { readWith, readsUnread = false, isWatched, pauses }: Consequences & { readonly pauses: Pauses },
): Promise<{ rings: Ring[]; changed: number }> {
  return inTransaction(db, async (tx) => {
    if (isWatched) await countUnannounced(tx, await unannounced(tx, calls));
    else await beginHistory(tx);
    await writeCalls(
      tx,
      calls.map((call) => ({ call, read })),
    );
    if (readWith === undefined) return { rings: [], changed: 0 };
    const changed = await changedNow(tx, calls);
    const toRead = readsUnread ? [...new Set([...changed, ...(await withoutLegs(tx, calls))])] : changed;
    const bumps = toRead.map((key): Bump => ({ kind: 'call', key, priority: readWith }));
    return { rings: await bumpTargets(tx, bumps, pauses), changed: changed.length };
  });
}

/** Lists a span and mirrors each page as it comes; answers with the listing and how many calls were new or changed. */
export async function mirrorSpan(
  { db, pauses, onRings }: { db: Database; pauses: Pauses; onRings: (rings: readonly Ring[]) => void },
  lister: CallLister,
  span: Span,
  consequences: Consequences,
  signal: AbortSignal | undefined,
): Promise<Listing & { readonly mended: number }> {
  let mended = 0;
  const listing = await lister.list(
    span,
    async (page, read) => {
      const { rings, changed } = await mirrorPage(db, page, read, { ...consequences, pauses });
      mended += changed;
      onRings(rings);
    },
    signal,
  );
  return { ...listing, mended };
}

/** The seconds in which those began that nothing has pointed at so far. */
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

/** Rows that this transaction inserted or changed: their `changed_at` is its own time. */
async function changedNow(tx: Transaction, calls: readonly CallSummary[]): Promise<string[]> {
  const rows = await query<{ call_id: string }>(
    tx,
    'select call_id from warehouse.calls where call_id = any($1) and changed_at = now()',
    [calls.map(({ id }) => id)],
  );
  return rows.map(({ call_id }) => call_id);
}

async function withoutLegs(tx: Transaction, calls: readonly CallSummary[]): Promise<string[]> {
  const rows = await query<{ call_id: string }>(
    tx,
    'select call_id from warehouse.calls where call_id = any($1) and legs_fetched_at is null and not is_erased',
    [calls.map(({ id }) => id)],
  );
  return rows.map(({ call_id }) => call_id);
}
