import type { Leg } from '../../../service/entities/call.ts';
import { mirrorTable, newestOfEach, type Provenance, type Row } from '../../columns.ts';
import { hotQuery, type Transaction } from '../../database.ts';
import { upsert } from '../../mirror.ts';

export const callLegs = mirrorTable('warehouse.call_legs', ['call_id', 'leg_key'], {
  call_id: 'text',
  leg_key: 'text',
  ordinal: 'smallint',
  unique_id: 'text',
  leg_call_id: 'text',
  bridged_from_call_id: 'text',
  started_at: 'timestamptz',
  ended_at: 'timestamptz',
  direction: 'text',
  status: 'text',
  caller_type: 'text',
  caller_name: 'text',
  caller_number: 'text',
  called_type: 'text',
  called_name: 'text',
  called_number: 'text',
  duration_seconds: 'integer',
  talk_seconds: 'integer',
  is_recorded: 'boolean',
});

/** All legs of one call, as one read listed them. */
export interface LegsRead {
  readonly callId: string;
  readonly legs: readonly Leg[];
  readonly read: Provenance;
}

/**
 * Mirrors the legs of calls, and what they attribute the calls to; a leg that is no longer listed is marked deleted. Newer
 * wins among the reads of a call's legs: its row is also written by searches, which may begin later and show none.
 */
export async function writeLegs(tx: Transaction, reads: readonly LegsRead[]): Promise<void> {
  if (reads.length === 0) return;
  const newest = newestOfEach(reads, ({ callId }) => callId);
  const held = await heldLegs(
    tx,
    newest.map(({ callId }) => callId),
  );
  const current = newest.flatMap(({ callId, legs, read }) => {
    const before = held.get(callId);
    const isCurrent = before !== undefined && before.fetchSeq <= BigInt(read.fetchSeq);
    return isCurrent ? [{ callId, read, legs: legs.length, rows: legRows(callId, legs), before }] : [];
  });
  await upsert(
    tx,
    callLegs,
    current.flatMap(({ rows, read }) => rows.map((row) => ({ row, read }))),
  );
  await markUnlisted(
    tx,
    current.flatMap(({ callId, read, rows, before }) => {
      const listed = new Set(rows.map((row) => row.leg_key));
      return before.keys.filter((key) => !listed.has(key)).map((key) => ({ callId, key, read }));
    }),
  );
  // A search that began later wrote the call's row, which therefore does not tell of this read.
  await noteRead(
    tx,
    current.filter(({ read, before }) => before.fetchSeq !== BigInt(read.fetchSeq)),
  );
  await hotQuery(tx, 'select warehouse.attribute_calls($1::text[])', [current.map(({ callId }) => callId)]);
}

/** The legs that are held of a call, and the read that its row says they are of; 0 = none yet. */
interface HeldLegs {
  readonly fetchSeq: bigint;
  readonly keys: readonly string[];
}

/** Of calls that are held. Their rows are locked: they were just written. */
async function heldLegs(tx: Transaction, callIds: readonly string[]): Promise<Map<string, HeldLegs>> {
  const rows = await hotQuery<{ call_id: string; legs_fetch_seq: string | null; leg_keys: string[] }>(
    tx,
    `select call_id, legs_fetch_seq,
       array(select leg_key from warehouse.call_legs l where l.call_id = c.call_id and l.deleted_at is null) as leg_keys
     from warehouse.calls c where call_id = any($1)`,
    [callIds],
  );
  return new Map(rows.map((row) => [row.call_id, { fetchSeq: BigInt(row.legs_fetch_seq ?? 0), keys: row.leg_keys }]));
}

async function markUnlisted(
  tx: Transaction,
  legs: readonly { readonly callId: string; readonly key: string; readonly read: Provenance }[],
): Promise<void> {
  if (legs.length === 0) return;
  await hotQuery(
    tx,
    `update warehouse.call_legs l
     set deleted_at = now(), deleted_reason = 'the call no longer lists it', changed_at = now(), fetch_seq = r.fetch_seq
     from unnest($1::text[], $2::text[], $3::bigint[]) as r (call_id, leg_key, fetch_seq)
     where l.call_id = r.call_id and l.leg_key = r.leg_key and l.fetch_seq < r.fetch_seq`,
    [legs.map(({ callId }) => callId), legs.map(({ key }) => key), legs.map(({ read }) => read.fetchSeq)],
  );
}

async function noteRead(
  tx: Transaction,
  reads: readonly { readonly callId: string; readonly legs: number; readonly read: Provenance }[],
): Promise<void> {
  if (reads.length === 0) return;
  await hotQuery(
    tx,
    `update warehouse.calls c set legs_fetched_at = r.fetched_at, legs_fetch_seq = r.fetch_seq, leg_count = r.leg_count
     from unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::integer[]) as r (call_id, fetch_seq, fetched_at, leg_count)
     where c.call_id = r.call_id`,
    [
      reads.map(({ callId }) => callId),
      reads.map(({ read }) => read.fetchSeq),
      reads.map(({ read }) => read.fetchedAt),
      reads.map(({ legs }) => legs),
    ],
  );
}

/** A leg is keyed by its uniqueId; one without, or with one that stands twice, by its position. */
function legRows(callId: string, legs: readonly Leg[]): Row<typeof callLegs.columns>[] {
  const taken = new Set<string>();
  return legs.map((leg, at) => {
    const id = leg.uniqueId ?? '';
    const key = id === '' || taken.has(id) ? `#${at + 1}` : id;
    taken.add(key);
    return {
      call_id: callId,
      leg_key: key,
      ordinal: at + 1,
      unique_id: leg.uniqueId,
      leg_call_id: leg.callId ?? leg.id,
      bridged_from_call_id: leg.bridgedFromCallId,
      started_at: leg.startTime,
      ended_at: leg.endTime,
      direction: leg.direction,
      status: leg.status,
      caller_type: leg.callerType,
      caller_name: leg.callerName,
      caller_number: leg.callerNumber,
      called_type: leg.calledType,
      called_name: leg.calledName,
      called_number: leg.calledNumber,
      duration_seconds: leg.durationSeconds,
      talk_seconds: leg.talkTimeSeconds,
      is_recorded: booleanOf(leg.raw.recorded),
    };
  });
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
