import { query, type Transaction } from '../database.ts';
import type { CallRead } from '../entities/calls/calls.ts';
import { erasedAmong, hasErasures } from './erased.ts';
import { type PartyColumn, partiesOf, partyColumns, withoutParties } from './parties.ts';

/** Reads of calls as they may be mirrored, and which of the calls are to be marked as erased. */
export interface Cleared {
  readonly reads: readonly CallRead[];
  readonly erased: ReadonlySet<string>;
}

/** Takes erased parties out of reads of calls. The row of such a call stays, so that counts stay right. */
export async function clearCalls(tx: Transaction, reads: readonly CallRead[]): Promise<Cleared> {
  if (!(await hasErasures(tx))) return { reads, erased: new Set() };
  const numbers = await erasedAmong(tx, () => reads.flatMap(({ call }) => partiesOf(call)));
  const held = await heldErased(
    tx,
    reads.map(({ call }) => call.id),
  );
  const erased = new Set(held.keys());
  const cleared = reads.map(({ call, read }) => {
    if (partiesOf(call).some((number) => numbers.has(number))) erased.add(call.id);
    if (!erased.has(call.id)) return { call, read };
    return { call: withoutParties(call, (number) => numbers.has(number), held.get(call.id)), read };
  });
  return { reads: cleared, erased };
}

/** Erased calls among these, each with the columns of its parties that are empty and stay so. */
async function heldErased(tx: Transaction, callIds: readonly string[]): Promise<Map<string, PartyColumn[]>> {
  const rows = await query<Record<PartyColumn, string | null> & { call_id: string }>(
    tx,
    `select call_id, ${partyColumns.join(', ')} from warehouse.calls where is_erased and call_id = any($1)`,
    [callIds],
  );
  return new Map(rows.map((row) => [row.call_id, partyColumns.filter((column) => row[column] === null)]));
}

/** Which of these calls are marked as erased. */
export async function erasedCalls(tx: Transaction, callIds: readonly string[]): Promise<ReadonlySet<string>> {
  return (await hasErasures(tx)) ? new Set((await heldErased(tx, callIds)).keys()) : new Set();
}

/** How many rows of which table were removed or blanked. */
export type Removed = Readonly<Record<string, number>>;

/**
 * Marks calls as erased, and removes what was said on them and what leads to it: links, transcripts, raw answers and the
 * history of their fields. Their rows stay, and those of their legs and recordings. Safe to repeat.
 */
export async function eraseCalls(tx: Transaction, callIds: readonly string[]): Promise<Removed> {
  const removed: Record<string, number> = {};
  const run = async (table: string, text: string) => {
    const rows = await query(tx, `${text} returning 1`, [callIds]);
    removed[table] = (removed[table] ?? 0) + rows.length;
  };
  const transcripts = 'select transcript_id from warehouse.transcripts where call_id = any($1)';
  await run('secrets.recording_urls', 'delete from secrets.recording_urls where call_id = any($1)');
  await run(
    'warehouse.recordings',
    `update warehouse.recordings set from_endpoint = null, to_endpoint = null, content_hash = ''
     where call_id = any($1) and num_nonnulls(from_endpoint, to_endpoint) > 0`,
  );
  await run(
    'warehouse.transcript_bodies',
    `delete from warehouse.transcript_bodies where transcript_id in (${transcripts})`,
  );
  await run(
    'warehouse.transcript_kpis',
    `delete from warehouse.transcript_kpis where transcript_id in (${transcripts})`,
  );
  await run(
    'warehouse.field_changes',
    `delete from warehouse.field_changes where (entity = 'call' and entity_key = any($1))
       or (entity = 'transcript' and entity_key in (select transcript_id::text from (${transcripts}) t))`,
  );
  await run(
    'warehouse.documents',
    `delete from warehouse.documents where (entity = 'call' and entity_key = any($1))
       or (entity = 'recording' and split_part(entity_key, '/', 1) = any($1))
       or (entity = 'transcript' and entity_key in (select transcript_id::text from (${transcripts}) t))`,
  );
  await run('warehouse.transcripts', 'delete from warehouse.transcripts where call_id = any($1)');
  await run(
    'warehouse.calls',
    `update warehouse.calls set is_erased = true, transcript_count = 0 * transcript_count
     where call_id = any($1) and not is_erased`,
  );
  return removed;
}
