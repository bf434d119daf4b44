import type { Leg } from '../../../service/entities/call.ts';
import { mirrorTable, type Provenance, type Row } from '../../columns.ts';
import { query, type Transaction } from '../../database.ts';
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
 * Mirrors the legs of calls whose row is this read's own, and what they attribute the calls to; a leg that is no longer
 * listed is marked deleted.
 */
export async function writeLegs(tx: Transaction, reads: readonly LegsRead[]): Promise<void> {
  if (reads.length === 0) return;
  const current = await currentReads(tx, reads);
  await upsert(
    tx,
    callLegs,
    current.flatMap(({ callId, legs, read }) => legRows(callId, legs).map((row) => ({ row, read }))),
  );
  const keys = [current.map(({ callId }) => callId), current.map(({ read }) => read.fetchSeq)];
  await query(
    tx,
    `update warehouse.call_legs l
     set deleted_at = now(), deleted_reason = 'the call no longer lists it', changed_at = now(), fetch_seq = r.fetch_seq
     from unnest($1::text[], $2::bigint[]) as r (call_id, fetch_seq)
     where l.call_id = r.call_id and l.fetch_seq < r.fetch_seq and l.deleted_at is null`,
    keys,
  );
  await query(
    tx,
    `update warehouse.calls c set legs_fetched_at = c.fetched_at,
       leg_count = (select count(*) from warehouse.call_legs l where l.call_id = c.call_id and l.deleted_at is null)
     from unnest($1::text[], $2::bigint[]) as r (call_id, fetch_seq) where c.call_id = r.call_id`,
    keys,
  );
  await query(tx, 'select warehouse.attribute_calls($1::text[])', [current.map(({ callId }) => callId)]);
}

/** The reads that their call's row was written by: a newer one knows the legs better. */
async function currentReads(tx: Transaction, reads: readonly LegsRead[]): Promise<LegsRead[]> {
  const rows = await query<{ call_id: string; fetch_seq: string }>(
    tx,
    'select call_id, fetch_seq from warehouse.calls where call_id = any($1)',
    [reads.map(({ callId }) => callId)],
  );
  const newest = new Map(rows.map((row) => [row.call_id, row.fetch_seq]));
  return reads.filter(({ callId, read }) => newest.get(callId) === read.fetchSeq);
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
