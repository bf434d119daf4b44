import { normalizeNumber } from '../../../numbers.ts';
import type { Call, CallSummary } from '../../../service/entities/call.ts';
import { mirrorTable, type Provenance, type Row } from '../../columns.ts';
import { query, type Transaction } from '../../database.ts';
import { keepDocuments } from '../../documents.ts';
import { clearCalls, eraseCalls } from '../../erasure/calls.ts';
import { upsert } from '../../mirror.ts';
import { writeLegs } from './legs.ts';

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
    settled: ['recordings_state', 'transcripts_state'],
    lasting: ['leg_count', 'legs_fetched_at', 'legs_fetch_seq'],
    // Rows of a search may say less than the call itself. Who took part is not kept: erasure takes it away.
    kept: [
      ...([
        'started_at',
        'ended_at',
        'direction',
        'status',
        'status_code',
        'duration_seconds',
        'talk_seconds',
      ] as const),
      ...(['transferred_count', 'is_abandoned', 'is_recorded', 'called_back_call_id', 'repeated_count'] as const),
      'reached_person',
    ],
  },
);

/** What a read found of one call: a row of a search, or the whole call with its legs. */
export interface CallRead {
  readonly call: CallSummary | Call;
  readonly read: Provenance;
}

/** Mirrors calls, and the legs of those that were read whole; of parties who were erased, nothing. */
export async function writeCalls(tx: Transaction, all: readonly CallRead[]): Promise<void> {
  const { reads, erased } = await clearCalls(tx, all);
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
  await keepDocuments(
    tx,
    reads.flatMap(({ call, read }) =>
      ('legs' in call || call.unknownKeys.length > 0) && !erased.has(call.id)
        ? [{ entity: 'call' as const, key: call.id, raw: call.raw, read }]
        : [],
    ),
  );
  if (erased.size > 0) await eraseCalls(tx, [...erased]);
}

/** A call that three spaced reads did not find (not found and not yours are the same answer). */
export interface CallGone {
  readonly callId: string;
  readonly read: Provenance;
}

/** Marks calls deleted that three spaced reads did not find, unless a newer read did. */
export async function markCallsGone(tx: Transaction, gone: readonly CallGone[]): Promise<void> {
  await query(
    tx,
    `update warehouse.calls c set deleted_at = now(), deleted_reason = 'not found by three spaced reads',
       changed_at = now(), fetch_seq = g.fetch_seq
     from unnest($1::text[], $2::bigint[]) as g (call_id, fetch_seq)
     where c.call_id = g.call_id and c.fetch_seq <= g.fetch_seq and c.deleted_at is null`,
    [gone.map(({ callId }) => callId), gone.map(({ read }) => read.fetchSeq)],
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
    ...(call.recorded === false && nothingToLookFor),
  };
}

/** That a read showed the legs; searches show none. */
function legsRead(call: CallSummary | Call, read: Provenance): Row<typeof calls.columns> | undefined {
  if (!('legs' in call) || !call.legs) return undefined;
  return { leg_count: call.legs.length, legs_fetched_at: read.fetchedAt, legs_fetch_seq: read.fetchSeq };
}

/** A call that was not recorded has neither recordings nor transcripts. */
const nothingToLookFor = { recordings_state: 'none', transcripts_state: 'none' };

/** Which side of the call is the account's (section 2.9): extensions stand in the number fields of internal legs. */
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
/** E.164 allows fifteen digits; some carriers prefix a few. What is longer is no number. */
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
