import type { Leg } from '../api-client/client.ts';
import { hotQuery, relation, sql, type Transaction } from '../db/database.ts';
import { markDeleted, mirrorTable, newestOfEach, type Provenance, upsert } from './upsert.ts';

interface ListedLeg {
  readonly callId: string;
  readonly key: string;
  readonly ordinal: number;
  readonly leg: Leg;
}

export const callLegs = mirrorTable<ListedLeg>()('warehouse.call_legs', ['call_id', 'leg_key'], {
  call_id: ['text', ({ callId }) => callId],
  leg_key: ['text', ({ key }) => key],
  ordinal: ['smallint', ({ ordinal }) => ordinal],
  unique_id: ['text', ({ leg }) => leg.uniqueId],
  leg_call_id: ['text', ({ leg }) => leg.callId ?? leg.id],
  bridged_from_call_id: ['text', ({ leg }) => leg.bridgedFromCallId],
  started_at: ['timestamptz', ({ leg }) => leg.startTime],
  ended_at: ['timestamptz', ({ leg }) => leg.endTime],
  direction: ['text', ({ leg }) => leg.direction],
  status: ['text', ({ leg }) => leg.status],
  // Where a leg lacks the words of a call, those of captured deliveries count.
  caller_type: ['text', ({ leg }) => leg.callerType ?? wordOf(leg.raw.sendType)],
  caller_name: ['text', ({ leg }) => leg.callerName],
  caller_number: ['text', ({ leg }) => leg.callerNumber],
  called_type: ['text', ({ leg }) => leg.calledType ?? wordOf(leg.raw.destinationType ?? leg.raw.type)],
  called_name: ['text', ({ leg }) => leg.calledName],
  called_number: ['text', ({ leg }) => leg.calledNumber],
  duration_seconds: ['integer', ({ leg }) => leg.durationSeconds],
  talk_seconds: ['integer', ({ leg }) => leg.talkTimeSeconds ?? secondsOf(leg.raw.talkDuration)],
  is_recorded: ['boolean', ({ leg }) => booleanOf(leg.raw.recorded)],
});

/** All legs of one call, as one read listed them. */
interface LegsRead {
  readonly callId: string;
  readonly legs: readonly Leg[];
  readonly read: Provenance;
}

/**
 * Mirrors the legs of calls and their attributions, and marks unlisted legs deleted. Newer wins by `legs_fetch_seq`, since
 * searches, which list no legs, write the call's `fetch_seq` too.
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
    return isCurrent ? [{ callId, read, legs: keyed(callId, legs), before }] : [];
  });
  await upsert(
    tx,
    callLegs,
    current.flatMap(({ legs, read }) => legs.map((leg) => ({ row: callLegs.row(leg), read }))),
  );
  const unlisted = current.flatMap(({ callId, read, legs, before }) => {
    const listed = new Set(legs.map(({ key }) => key));
    return before.keys.filter((key) => !listed.has(key)).map((key) => ({ callId, key, read }));
  });
  await markDeleted(tx, 'warehouse.call_legs', 'the call no longer lists it', unlisted, {
    call_id: ['text', ({ callId }) => callId],
    leg_key: ['text', ({ key }) => key],
  });
  // The upsert of the call did not record this read if a search that started later wrote the row.
  await recordReads(
    tx,
    current.filter(({ read, before }) => before.fetchSeq !== BigInt(read.fetchSeq)),
  );
  const callIds = current.map(({ callId }) => callId);
  await hotQuery(tx, sql`select warehouse.attribute_calls(${callIds}::text[])`);
}

/** The held legs of a call, and the number of the read that listed them; 0 before the first. */
interface HeldLegs {
  readonly fetchSeq: bigint;
  readonly keys: readonly string[];
}

/** The rows of these calls are locked: this transaction has just written them. */
async function heldLegs(tx: Transaction, callIds: readonly string[]): Promise<Map<string, HeldLegs>> {
  const rows = await hotQuery(
    tx,
    sql<{ call_id: string; legs_fetch_seq: string | null; leg_keys: string[] }>`select call_id, legs_fetch_seq,
       array(select leg_key from warehouse.call_legs l where l.call_id = c.call_id and l.deleted_at is null) as leg_keys
     from warehouse.calls c where call_id = any(${callIds})`,
  );
  return new Map(rows.map((row) => [row.call_id, { fetchSeq: BigInt(row.legs_fetch_seq ?? 0), keys: row.leg_keys }]));
}

async function recordReads(
  tx: Transaction,
  reads: readonly { readonly callId: string; readonly legs: readonly ListedLeg[]; readonly read: Provenance }[],
): Promise<void> {
  if (reads.length === 0) return;
  await hotQuery(
    tx,
    sql`
      update warehouse.calls c set legs_fetched_at = r.fetched_at, legs_fetch_seq = r.fetch_seq, leg_count = r.leg_count
      from ${relation('r', reads, {
        call_id: ['text', (each) => each.callId],
        fetch_seq: ['bigint', (each) => each.read.fetchSeq],
        fetched_at: ['timestamptz', (each) => each.read.fetchedAt],
        leg_count: ['integer', (each) => each.legs.length],
      })}
      where c.call_id = r.call_id`,
  );
}

/** The key of a leg is its uniqueId, or its position when that is missing or repeated. */
function keyed(callId: string, legs: readonly Leg[]): ListedLeg[] {
  const taken = new Set<string>();
  return legs.map((leg, at) => {
    const id = leg.uniqueId ?? '';
    const key = id === '' || taken.has(id) ? `#${at + 1}` : id;
    taken.add(key);
    return { callId, key, ordinal: at + 1, leg };
  });
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w -]{1,30}$/.test(value) ? value : undefined;
}

function secondsOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined;
}
