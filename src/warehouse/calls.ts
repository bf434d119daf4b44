import type { Call, CallSummary } from '../api-client/client.ts';
import { type Database, hotQuery, sql, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import type { ArtefactState } from './artefacts.ts';
import { eraseCalls, withoutErasedParties } from './erasure/calls.ts';
import { writeLegs } from './legs.ts';
import { storeRawAnswers } from './raw-answers.ts';
import { markDeleted, mirrorTable, type Provenance, upsert } from './upsert.ts';

/** A call as read: a row of a search, or the whole call with its legs. */
export interface CallRead {
  readonly call: CallSummary | Call;
  readonly read: Provenance;
}

/** A call with those of its numbers that are the account's own. */
interface JudgedRead extends CallRead {
  readonly own: ReadonlySet<string>;
}

export const calls = mirrorTable<JudgedRead>()(
  'warehouse.calls',
  ['call_id'],
  {
    call_id: ['text', ({ call }) => call.id],
    started_at: ['timestamptz', ({ call }) => call.startTime],
    ended_at: ['timestamptz', ({ call }) => call.endTime],
    direction: ['text', ({ call }) => call.direction],
    status: ['text', ({ call }) => call.status],
    status_code: ['smallint', ({ call }) => call.statusCode],
    caller_type: ['text', ({ call }) => call.callerType],
    caller_name: ['text', ({ call }) => call.callerName],
    caller_number: ['text', ({ call }) => call.callerNumber],
    called_type: ['text', ({ call }) => call.calledType],
    called_name: ['text', ({ call }) => call.calledName],
    called_number: ['text', ({ call }) => call.calledNumber],
    dialled_number: ['text', ({ call }) => call.dialledNumber],
    caller_id_internal: ['text', ({ call }) => call.callerIdInternal],
    caller_id_external: ['text', ({ call }) => call.callerIdExternal],
    duration_seconds: ['integer', ({ call }) => call.durationSeconds],
    talk_seconds: ['integer', ({ call }) => call.talkTimeSeconds],
    transferred_count: ['smallint', ({ call }) => call.transferred],
    is_abandoned: ['boolean', ({ call }) => call.abandoned],
    is_recorded: ['boolean', ({ call }) => call.recorded],
    called_back_call_id: ['text', ({ call }) => call.calledBack],
    repeated_count: ['smallint', ({ call }) => call.repeated],
    external_number: ['text', ({ call, own }) => (isInternal(call, own) ? null : fullNumber(externalNumbers(call)))],
    account_number: ['text', ({ call, own }) => (isInternal(call, own) ? null : fullNumber(accountNumbers(call)))],
    is_internal: ['boolean', ({ call, own }) => isInternal(call, own)],
    reached_person: ['boolean', ({ call }) => reachedPerson(call)],
    recordings_state: ['text', ({ call }) => withoutArtefacts(call)],
    transcripts_state: ['text', ({ call }) => withoutArtefacts(call)],
    leg_count: ['smallint', ({ call }) => legsOf(call)?.length],
    legs_fetched_at: ['timestamptz', ({ call, read }) => legsOf(call) && read.fetchedAt],
    legs_fetch_seq: ['bigint', ({ call, read }) => legsOf(call) && read.fetchSeq],
  },
  {
    firstValueWins: ['recordings_state', 'transcripts_state'],
    untracked: ['leg_count', 'legs_fetched_at', 'legs_fetch_seq'],
    // Search rows may lack fields that the call itself has. Not the parties: an erasure has to be able to remove them.
    keptWhenMissing: [
      ...(['started_at', 'ended_at', 'direction', 'status', 'status_code', 'reached_person'] as const),
      ...(['duration_seconds', 'talk_seconds', 'transferred_count', 'repeated_count'] as const),
      ...(['is_abandoned', 'is_recorded', 'called_back_call_id'] as const),
    ],
  },
);

/** Mirrors calls without erased parties, and the legs of those that were read whole. */
export async function writeCalls(tx: Transaction, all: readonly CallRead[]): Promise<void> {
  const { reads, erased } = await withoutErasedParties(tx, all);
  const own = await ownNumbers(tx, reads);
  await upsert(
    tx,
    calls,
    reads.map((each) => ({ row: calls.row({ ...each, own }), read: each.read })),
  );
  await writeLegs(
    tx,
    reads.flatMap(({ call, read }) => {
      const legs = legsOf(call);
      return legs ? [{ callId: call.id, legs, read }] : [];
    }),
  );
  await measureWaits(tx, reads);
  await storeRawAnswers(
    tx,
    reads.flatMap(({ call, read }) =>
      ('legs' in call || call.unknownKeys.length > 0) && !erased.has(call.id)
        ? [{ entity: 'call' as const, key: call.id, raw: call.raw, read }]
        : [],
    ),
  );
  if (erased.size > 0) await eraseCalls(tx, [...erased]);
}

/** Measures the calls that this transaction changed, and those whose legs were read: legs can change where their call does not. */
async function measureWaits(tx: Transaction, reads: readonly CallRead[]): Promise<void> {
  const all = reads.map(({ call }) => call.id);
  const withLegs = reads.filter(({ call }) => legsOf(call)).map(({ call }) => call.id);
  await hotQuery(
    tx,
    sql`select warehouse.measure_waits(array(
      select call_id from warehouse.calls
      where call_id = any(${all}) and (changed_at = now() or call_id = any(${withLegs}))))`,
  );
}

/** A call that three spaced reads did not find. The service answers 404 also for calls of other accounts. */
export interface CallGone {
  readonly callId: string;
  readonly read: Provenance;
}

/** Marks calls deleted that three spaced reads did not find, unless a newer read found them. */
export function markCallsGone(tx: Transaction, gone: readonly CallGone[]): Promise<void> {
  return markDeleted(tx, 'warehouse.calls', 'not found by three spaced reads', gone, {
    call_id: ['text', ({ callId }) => callId],
  });
}

/** The legs of a call that was read whole. Searches list none. */
function legsOf(call: CallSummary | Call): Call['legs'] {
  return 'legs' in call ? call.legs : undefined;
}

/** A call that was not recorded has neither recordings nor transcripts. */
function withoutArtefacts({ recorded }: CallSummary): ArtefactState | undefined {
  return recorded === false ? 'none' : undefined;
}

/** Which of the other parties' numbers are the account's own; asks only about those that no `external` end settles. */
async function ownNumbers(tx: Transaction, reads: readonly CallRead[]): Promise<ReadonlySet<string>> {
  const asked = reads.flatMap(({ call }) =>
    hasOutsideEnd(call)
      ? []
      : [call.callerNumber, call.callerIdExternal, call.calledNumber, call.dialledNumber].flatMap(
          (each) => fullNumber([each]) ?? [],
        ),
  );
  if (asked.length === 0) return new Set();
  const rows = await hotQuery(
    tx,
    sql<{ number: string }>`
      select endpoint as number from warehouse.user_endpoints where endpoint = any(${asked}) and kind <> 'voicemail'
      union select line from warehouse.sms_lines where line = any(${asked})`,
  );
  return new Set(rows.map(({ number }) => number));
}

function hasOutsideEnd({ callerType, calledType }: CallSummary): boolean {
  return callerType === 'external' || calledType === 'external';
}

/**
 * Whether both ends are the account's own; undefined when the call does not say. The other party decides, by its number: on
 * internal legs the number fields contain extensions (section 2.9), so a number of the public network is outside unless it is one
 * of the account's. The type alone does not decide: a call that ends in the customer's mailbox is called a mailbox.
 */
function isInternal(call: CallSummary, own: ReadonlySet<string>): boolean | undefined {
  if (hasOutsideEnd(call)) return false;
  const caller = isOwn(call.callerType, call.callerNumber, call.callerIdExternal, own);
  const called = isOwn(call.calledType, call.calledNumber, call.dialledNumber, own);
  if (call.direction === 'outbound') return called;
  if (call.direction === 'inbound') return caller;
  return caller === false || called === false ? false : caller && called;
}

const ownTypes = ['user', 'queue', 'huntgroup'];

/** `spare` is the number where the first says nothing: that of a mailbox may be the name of the mailbox. */
function isOwn(
  type: string | undefined,
  number: string | undefined,
  spare: string | undefined,
  own: ReadonlySet<string>,
): boolean | undefined {
  const isOfOwnType = type !== undefined && ownTypes.includes(type);
  const numbers = (isOfOwnType && number ? [number] : [number, spare]).filter((each) => each);
  const full = fullNumber(numbers);
  if (full !== undefined) return own.has(full);
  if (isOfOwnType) return true;
  return type !== undefined && numbers.length > 0 ? true : undefined;
}

function externalNumbers(call: CallSummary): (string | undefined)[] {
  if (call.direction === 'outbound') return [call.calledNumber, call.dialledNumber];
  return call.direction === 'inbound' ? [call.callerNumber, call.callerIdExternal] : [];
}

function accountNumbers(call: CallSummary): (string | undefined)[] {
  if (call.direction === 'outbound') return [call.callerIdExternal, call.callerNumber];
  return call.direction === 'inbound' ? [call.dialledNumber, call.calledNumber] : [];
}

// Extensions are shorter than any number that the public network dials.
const shortestNumber = 7;
/** E.164 allows fifteen digits; some carriers prefix a few more. */
const longestNumber = 24;

function fullNumber(candidates: readonly (string | undefined)[]): string | undefined {
  return candidates
    .map((each) => normalizeNumber(each ?? ''))
    .find((digits) => digits.length >= shortestNumber && digits.length <= longestNumber);
}

function reachedPerson(call: CallSummary): boolean | undefined {
  if (call.status === 'answered') return true;
  return call.status === 'missed' || call.status === 'voicemail' ? false : undefined;
}

/** The columns of a held call that decide what else is read of it. */
export interface HeldCall {
  readonly isRecorded: boolean | null;
  readonly isDeleted: boolean;
  /** The start, or else the second in the call id. */
  readonly startedAt: Date;
  /** The end, or else `startedAt` plus the duration, if known. */
  readonly endedAt: Date;
  /** When the call was first mirrored. */
  readonly firstSeenAt: Date;
  readonly transferredCount: number | null;
  /** Null until its legs are read. */
  readonly legCount: number | null;
  readonly recordingsState: ArtefactState | null;
  readonly recordingCount: number;
  readonly transcriptsState: ArtefactState | null;
  readonly transcriptCount: number;
}

/**
 * The maximum number of recordings of a call: one for each leg, or for each party if transfers make these more. Assumes two
 * legs if neither legs nor transfers are known, or a read listed no legs.
 */
export function recordingsToExpect({
  legCount,
  transferredCount,
}: Pick<HeldCall, 'legCount' | 'transferredCount'>): number {
  const parties = 1 + (transferredCount ?? 0);
  return legCount === null && transferredCount !== null ? parties : Math.max(legCount || 2, parties);
}

/** The held calls among these ids. */
export async function heldCalls(db: Database, callIds: readonly string[]): Promise<ReadonlyMap<string, HeldCall>> {
  const rows = await hotQuery(
    db,
    sql<HeldCall & { callId: string }>`select call_id as "callId", is_recorded as "isRecorded",
       deleted_at is not null as "isDeleted",
       coalesce(ended_at, coalesce(started_at, to_timestamp(call_epoch)) + coalesce(duration_seconds, 0) * interval '1 second') as "endedAt",
       coalesce(started_at, to_timestamp(call_epoch)) as "startedAt",
       first_seen_at as "firstSeenAt", transferred_count as "transferredCount", leg_count as "legCount", recordings_state as "recordingsState",
       coalesce(recording_count, 0) as "recordingCount", transcripts_state as "transcriptsState",
       coalesce(transcript_count, 0) as "transcriptCount"
     from warehouse.calls where call_id = any(${callIds})`,
  );
  return new Map(rows.map((row) => [row.callId, row]));
}

/** The time in a call id: the Unix seconds before its dot (section 2.9). */
export function momentOf(callId: string): Date {
  return new Date(Number(callId.split('.')[0]) * 1000);
}
