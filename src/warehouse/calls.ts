import type { Call, CallSummary } from '../api-client/client.ts';
import { type Database, hotQuery, query, relation, sql, type Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import type { ArtefactState } from './artefacts.ts';
import { eraseCalls, withoutErasedParties } from './erasure/calls.ts';
import { writeLegs } from './legs.ts';
import { storeRawAnswers } from './raw-answers.ts';
import { mirrorTable, type Provenance, type Row, upsert } from './upsert.ts';

export const calls = mirrorTable(
  'warehouse.calls',
  ['call_id'],
  {
    call_id: 'text',
    started_at: 'timestamptz',
    ended_at: 'timestamptz',
    direction: 'text',
    status: 'text',
    status_code: 'smallint',
    caller_type: 'text',
    caller_name: 'text',
    caller_number: 'text',
    called_type: 'text',
    called_name: 'text',
    called_number: 'text',
    dialled_number: 'text',
    caller_id_internal: 'text',
    caller_id_external: 'text',
    duration_seconds: 'integer',
    talk_seconds: 'integer',
    transferred_count: 'smallint',
    is_abandoned: 'boolean',
    is_recorded: 'boolean',
    called_back_call_id: 'text',
    repeated_count: 'smallint',
    external_number: 'text',
    account_number: 'text',
    is_internal: 'boolean',
    reached_person: 'boolean',
    recordings_state: 'text',
    transcripts_state: 'text',
    leg_count: 'smallint',
    legs_fetched_at: 'timestamptz',
    legs_fetch_seq: 'bigint',
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

/** A call as read: a row of a search, or the whole call with its legs. */
export interface CallRead {
  readonly call: CallSummary | Call;
  readonly read: Provenance;
}

/** Mirrors calls without erased parties, and the legs of those that were read whole. */
export async function writeCalls(tx: Transaction, all: readonly CallRead[]): Promise<void> {
  const { reads, erased } = await withoutErasedParties(tx, all);
  await upsert(
    tx,
    calls,
    reads.map(({ call, read }) => ({ row: { ...callRow(call), ...legsRead(call, read) }, read })),
  );
  await writeLegs(
    tx,
    reads.flatMap(({ call, read }) =>
      'legs' in call && call.legs ? [{ callId: call.id, legs: call.legs, read }] : [],
    ),
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
  const withLegs = reads.filter(({ call }) => 'legs' in call && call.legs).map(({ call }) => call.id);
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
export async function markCallsGone(tx: Transaction, gone: readonly CallGone[]): Promise<void> {
  await query(
    tx,
    sql`
      update warehouse.calls c set deleted_at = now(), deleted_reason = 'not found by three spaced reads',
        changed_at = now(), fetch_seq = g.fetch_seq
      from ${relation('g', gone, {
        call_id: ['text', (each) => each.callId],
        fetch_seq: ['bigint', (each) => each.read.fetchSeq],
      })}
      where c.call_id = g.call_id and c.fetch_seq <= g.fetch_seq and c.deleted_at is null`,
  );
}

export function callRow(call: CallSummary | Call): Row<typeof calls.columns> {
  return {
    call_id: call.id,
    started_at: call.startTime,
    ended_at: call.endTime,
    direction: call.direction,
    status: call.status,
    status_code: call.statusCode,
    caller_type: call.callerType,
    caller_name: call.callerName,
    caller_number: call.callerNumber,
    called_type: call.calledType,
    called_name: call.calledName,
    called_number: call.calledNumber,
    dialled_number: call.dialledNumber,
    caller_id_internal: call.callerIdInternal,
    caller_id_external: call.callerIdExternal,
    duration_seconds: call.durationSeconds,
    talk_seconds: call.talkTimeSeconds,
    transferred_count: call.transferred,
    is_abandoned: call.abandoned,
    is_recorded: call.recorded,
    called_back_call_id: call.calledBack,
    repeated_count: call.repeated,
    ...sides(call),
    reached_person: reachedPerson(call),
    ...(call.recorded === false && withoutArtefacts),
  };
}

/** The columns about the read of the legs. Searches list no legs. */
function legsRead(call: CallSummary | Call, read: Provenance): Row<typeof calls.columns> | undefined {
  if (!('legs' in call) || !call.legs) return undefined;
  return { leg_count: call.legs.length, legs_fetched_at: read.fetchedAt, legs_fetch_seq: read.fetchSeq };
}

/** A call that was not recorded has neither recordings nor transcripts. */
const withoutArtefacts = { recordings_state: 'none', transcripts_state: 'none' };

/** Which side of the call is the account's (section 2.9). On internal legs the number fields contain extensions. */
function sides(
  call: CallSummary,
): Pick<Row<typeof calls.columns>, 'external_number' | 'account_number' | 'is_internal'> {
  const isInternal =
    call.callerType === undefined || call.calledType === undefined
      ? undefined
      : call.callerType !== 'external' && call.calledType !== 'external';
  if (isInternal) return { is_internal: true, external_number: null, account_number: null };
  const [external, account] =
    call.direction === 'outbound'
      ? [
          [call.calledNumber, call.dialledNumber],
          [call.callerIdExternal, call.callerNumber],
        ]
      : call.direction === 'inbound'
        ? [
            [call.callerNumber, call.callerIdExternal],
            [call.dialledNumber, call.calledNumber],
          ]
        : [[], []];
  return { is_internal: isInternal, external_number: fullNumber(external), account_number: fullNumber(account) };
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
       transferred_count as "transferredCount", leg_count as "legCount", recordings_state as "recordingsState",
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
