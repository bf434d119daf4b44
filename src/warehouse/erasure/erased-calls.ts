import { type Call, type CallSummary, type Leg, withFields } from '../../api-client/client.ts';
import { query, type Transaction } from '../../db/database.ts';
import { numbersIn } from '../../shared/numbers.ts';
import { recordFollowing } from '../what-follows.ts';
import { erasedAmong, hasErasures } from './erased.ts';

/**
 * Removes erased parties from reads of calls. Resolves to the cleared reads and the ids of the calls to mark as erased.
 * Their rows stay, so that counts stay correct.
 */
export async function withoutErasedParties<R extends { readonly call: CallSummary | Call }>(
  tx: Transaction,
  reads: readonly R[],
): Promise<{ readonly reads: readonly R[]; readonly erased: ReadonlySet<string> }> {
  if (!(await hasErasures(tx))) return { reads, erased: new Set() };
  const numbers = await erasedAmong(tx, () => reads.flatMap(({ call }) => partiesOf(call)));
  const emptyColumns = await erasedCallsWithEmptyColumns(
    tx,
    reads.map(({ call }) => call.id),
  );
  const erased = new Set(emptyColumns.keys());
  const cleared = reads.map((each) => {
    const { call } = each;
    if (partiesOf(call).some((number) => numbers.has(number))) erased.add(call.id);
    if (!erased.has(call.id)) return each;
    return { ...each, call: withoutParties(call, (number) => numbers.has(number), emptyColumns.get(call.id)) };
  });
  return { reads: cleared, erased };
}

/** The erased calls among these, each with the party columns that its erasure left empty. */
async function erasedCallsWithEmptyColumns(
  tx: Transaction,
  callIds: readonly string[],
): Promise<Map<string, PartyColumn[]>> {
  const rows = await query<Record<PartyColumn, string | null> & { call_id: string }>(
    tx,
    `select call_id, ${partyColumns.join(', ')} from warehouse.calls where is_erased and call_id = any($1)`,
    [callIds],
  );
  return new Map(rows.map((row) => [row.call_id, partyColumns.filter((column) => row[column] === null)]));
}

/** The ids of the calls among these that are marked as erased. */
export async function erasedCalls(tx: Transaction, callIds: readonly string[]): Promise<ReadonlySet<string>> {
  return (await hasErasures(tx)) ? new Set((await erasedCallsWithEmptyColumns(tx, callIds)).keys()) : new Set();
}

/** Rows removed or blanked, by table. */
export type Removed = Readonly<Record<string, number>>;

/**
 * Marks calls as erased, and deletes their recording links, transcripts and further answers. The rows of the
 * calls, legs and recordings stay. Safe to repeat.
 */
export async function eraseCalls(tx: Transaction, callIds: readonly string[]): Promise<Removed> {
  const removed: Record<string, number> = {};
  const run = async (table: string, text: string) => {
    const rows = await query(tx, `${text} returning 1`, [callIds]);
    removed[table] = (removed[table] ?? 0) + rows.length;
  };
  const transcripts = 'select transcript_id from warehouse.transcripts where call_id = any($1)';
  await run('secrets.links', `delete from secrets.links where kind = 'recording' and owner = any($1)`);
  await run(
    'warehouse.recordings',
    `update warehouse.recordings set from_endpoint = null, to_endpoint = null, extra = null, content_hash = ''
     where call_id = any($1) and num_nonnulls(from_endpoint, to_endpoint, extra) > 0`,
  );
  await run(
    'warehouse.transcript_bodies',
    `delete from warehouse.transcript_bodies where transcript_id in (${transcripts})`,
  );
  await run(
    'warehouse.transcript_kpis',
    `delete from warehouse.transcript_kpis where transcript_id in (${transcripts})`,
  );
  await query(tx, 'update warehouse.call_legs set extra = null where call_id = any($1) and extra is not null', [
    callIds,
  ]);
  await run('warehouse.transcripts', 'delete from warehouse.transcripts where call_id = any($1)');
  await run(
    'warehouse.calls',
    `update warehouse.calls set is_erased = true, extra = null, transcript_count = 0 * transcript_count
     where call_id = any($1) and not is_erased`,
  );
  // Reports stop counting the parties and the transcripts.
  const starts = await query<{ at: string }>(
    tx,
    'select started_at::text as at from warehouse.calls where call_id = any($1) and started_at is not null',
    [callIds],
  );
  await recordFollowing(tx, { calls: starts.map(({ at }) => at) });
  return removed;
}

/** The fields that identify a party of a call, and their columns. */
const columnOf = {
  callerName: 'caller_name',
  callerNumber: 'caller_number',
  calledName: 'called_name',
  calledNumber: 'called_number',
  dialledNumber: 'dialled_number',
  callerIdInternal: 'caller_id_internal',
  callerIdExternal: 'caller_id_external',
} as const;

type PartyField = keyof typeof columnOf;
const partyFields = Object.keys(columnOf) as PartyField[];

/** The columns of `warehouse.calls` that identify a party. */
type PartyColumn = (typeof columnOf)[PartyField];
const partyColumns: readonly PartyColumn[] = Object.values(columnOf);

type Parties = { readonly [F in PartyField]?: string | undefined };

/** All party numbers of a call and its legs, normalised. */
function partiesOf(call: CallSummary | Call): string[] {
  return [call, ...legsOf(call)].flatMap(numbersOf);
}

/**
 * The call without its erased parties: their numbers, their names wherever these occur on the call, and the caller ids
 * of an erased caller. `held` are the columns that an earlier erasure left empty.
 */
function withoutParties<C extends CallSummary | Call>(
  call: C,
  isErased: (number: string) => boolean,
  held: readonly PartyColumn[] = [],
): C {
  const names = new Set([call, ...legsOf(call)].flatMap((each) => namesBeside(each, isErased)));
  const alreadyEmpty = partyFields.filter((field) => held.includes(columnOf[field]));
  const own = withFields(call, { ...emptied(call, isErased, names), ...nothing(alreadyEmpty) });
  if (!('legs' in own) || own.legs === undefined) return own;
  return withFields(own, { legs: own.legs.map((leg) => withFields(leg, emptied(leg, isErased, names))) });
}

function legsOf(call: CallSummary | Call): readonly Leg[] {
  return 'legs' in call ? (call.legs ?? []) : [];
}

function numbersOf(parties: Parties): string[] {
  return partyFields.flatMap((field) => numbersIn(parties[field] ?? ''));
}

function isNamed(text: string | undefined, isErased: (number: string) => boolean): boolean {
  return numbersIn(text ?? '').some(isErased);
}

function isCaller(of: Parties, isErased: (number: string) => boolean): boolean {
  return [of.callerNumber, of.callerIdInternal, of.callerIdExternal].some((text) => isNamed(text, isErased));
}

function isCalled(of: Parties, isErased: (number: string) => boolean): boolean {
  return [of.calledNumber, of.dialledNumber].some((text) => isNamed(text, isErased));
}

function namesBeside(of: Parties, isErased: (number: string) => boolean): string[] {
  const names = [isCaller(of, isErased) && of.callerName, isCalled(of, isErased) && of.calledName];
  return names.filter((name) => typeof name === 'string' && name !== '') as string[];
}

function emptied(of: Parties, isErased: (number: string) => boolean, names: ReadonlySet<string>): Parties {
  const callerFields: PartyField[] = ['callerName', 'callerNumber', 'callerIdInternal', 'callerIdExternal'];
  return nothing([
    ...(isCaller(of, isErased) ? callerFields : []),
    ...(isCalled(of, isErased) ? (['calledName'] as const) : []),
    ...partyFields.filter((field) => isNamed(of[field], isErased) || names.has(of[field] ?? '')),
  ]);
}

function nothing(fields: readonly PartyField[]): Parties {
  return Object.fromEntries(fields.map((field) => [field, undefined]));
}
