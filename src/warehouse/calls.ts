import type { Call, CallSummary } from '../api-client/client.ts';
import type { Transaction } from '../db/database.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import type { FactColumns } from './call-facts.ts';
import type { ArtefactState, JsonRow } from './held-calls.ts';
import { computedColumns, markDeleted, mirrorTable, type Provenance } from './upsert.ts';
import type { Follow } from './what-follows.ts';

/** A call as read: a row of a search, or the whole call with its legs. */
export interface CallRead {
  readonly call: CallSummary | Call;
  readonly read: Provenance;
}

/** A call, and what else its columns depend on: the account's own numbers, and its mirrored row. */
interface JudgedRead extends CallRead {
  readonly isOwn: (number: string) => boolean;
  readonly held: JsonRow | undefined;
}

/** The columns that `callFacts` computes. */
const factTypes = {
  ...({ legs_wait_seconds: 'integer', legs_ring_seconds: 'integer', menu_seconds: 'integer' } as const),
  ...({ reached: 'text', is_message_left: 'boolean', message_seconds: 'integer', abandoned_in: 'text' } as const),
  ...({ answered_user_id: 'bigint', placed_user_id: 'bigint', queue: 'text', huntgroup: 'text' } as const),
} satisfies Record<keyof FactColumns, string>;
export const factNames = Object.keys(factTypes) as (keyof FactColumns)[];

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
    external_number: [
      'text',
      ({ call, isOwn }) => (isInternal(call, isOwn) ? null : fullNumber(externalNumbers(call))),
    ],
    account_number: ['text', ({ call, isOwn }) => (isInternal(call, isOwn) ? null : fullNumber(accountNumbers(call)))],
    is_internal: ['boolean', ({ call, isOwn }) => isInternal(call, isOwn)],
    reached_person: ['boolean', ({ call }) => reachedPerson(call)],
    recordings_state: ['text', ({ call, held }) => artefactState(held?.recordings_state, call)],
    transcripts_state: ['text', ({ call, held }) => artefactState(held?.transcripts_state, call)],
    leg_count: ['smallint', ({ call }) => legsOf(call)?.length],
    legs_fetched_at: ['timestamptz', ({ call, read }) => legsOf(call) && read.fetchedAt],
    legs_fetch_seq: ['bigint', ({ call, read }) => legsOf(call) && read.fetchSeq],
    ...computedColumns(factTypes),
  },
  {
    computed: factNames,
    untracked: ['recordings_state', 'transcripts_state', 'leg_count', 'legs_fetched_at', 'legs_fetch_seq'],
    // Search rows may lack fields of the call. Parties aren't kept from the mirrored row, because an erasure must be
    // able to remove them.
    keptWhenMissing: [
      ...(['started_at', 'ended_at', 'direction', 'status', 'status_code', 'reached_person'] as const),
      ...(['duration_seconds', 'talk_seconds', 'transferred_count', 'repeated_count'] as const),
      ...(['is_abandoned', 'is_recorded', 'called_back_call_id'] as const),
    ],
  },
);

/** A call that three spaced reads didn't find. The service also answers 404 for calls of other accounts. */
export interface CallGone {
  readonly callId: string;
  readonly read: Provenance;
}

/** Marks calls deleted that three spaced reads didn't find, unless a newer read found them. */
export async function markCallsGone(tx: Transaction, follow: Follow, gone: readonly CallGone[]): Promise<void> {
  const lost = await markDeleted(tx, 'warehouse.calls', 'started_at', 'not found by three spaced reads', gone);
  follow({ calls: lost.map(({ started_at }) => started_at) });
}

/** The legs of a call that was read completely. Searches list none. */
export function legsOf(call: CallSummary | Call): Call['legs'] {
  return 'legs' in call ? call.legs : undefined;
}

/**
 * Reads of artefacts set it. Before the first one, a call that wasn't recorded has neither recordings nor transcripts.
 */
function artefactState(held: unknown, { recorded }: CallSummary): ArtefactState | undefined {
  return (held as ArtefactState | null | undefined) ?? (recorded === false ? 'none' : undefined);
}

/** The numbers and extensions to look up in the directory. */
export function endpointsOf(call: CallSummary | Call): string[] {
  const parties = [call, ...(legsOf(call) ?? [])].flatMap((each) => [each.callerNumber, each.calledNumber]);
  return [...parties.filter((each) => each !== undefined), ...ownNumbersOf(call)];
}

/** The numbers that decide whether the call is internal. */
export function ownNumbersOf(call: CallSummary): string[] {
  if (hasOutsideEnd(call)) return [];
  return [call.callerNumber, call.callerIdExternal, call.calledNumber, call.dialledNumber].flatMap(
    (each) => fullNumber([each]) ?? [],
  );
}

function hasOutsideEnd({ callerType, calledType }: CallSummary): boolean {
  return callerType === 'external' || calledType === 'external';
}

/**
 * Whether both ends belong to the account. Undefined if the call doesn't say. The other party's number decides. On
 * internal legs, number fields contain extensions (section 2.9), so a public number is outside unless it belongs to the
 * account. The type alone isn't enough: a call that ends in the customer's mailbox has the type mailbox.
 */
function isInternal(call: CallSummary, isOwnNumber: (number: string) => boolean): boolean | undefined {
  if (hasOutsideEnd(call)) return false;
  const caller = isOwn(call.callerType, call.callerNumber, call.callerIdExternal, isOwnNumber);
  const called = isOwn(call.calledType, call.calledNumber, call.dialledNumber, isOwnNumber);
  if (call.direction === 'outbound') return called;
  if (call.direction === 'inbound') return caller;
  return caller === false || called === false ? false : caller && called;
}

const ownTypes = ['user', 'queue', 'huntgroup'];

/** `spare` is used if the first number is useless: for a mailbox, it may be the mailbox's name. */
function isOwn(
  type: string | undefined,
  number: string | undefined,
  spare: string | undefined,
  isOwnNumber: (number: string) => boolean,
): boolean | undefined {
  const isOfOwnType = type !== undefined && ownTypes.includes(type);
  const numbers = (isOfOwnType && number ? [number] : [number, spare]).filter((each) => each);
  const full = fullNumber(numbers);
  if (full !== undefined) return isOwnNumber(full);
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

// Extensions are shorter than any public number.
const shortestNumber = 7;
/** E.164 allows fifteen digits; some carriers add a few more as a prefix. */
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
