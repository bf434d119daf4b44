import { withFields } from '../../service/answers/fields.ts';
import type { Call, CallSummary, Leg } from '../../service/entities/call.ts';
import { numbersMentioned } from './mentions.ts';

/** The fields that hold one party of a call, by the columns they are mirrored to. */
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

/** The columns of `warehouse.calls` that name a party. */
export type PartyColumn = (typeof columnOf)[PartyField];
export const partyColumns: readonly PartyColumn[] = Object.values(columnOf);

type Parties = { readonly [F in PartyField]?: string | undefined };

/** Every number that a call and its legs name as a party, normalised. */
export function partiesOf(call: CallSummary | Call): string[] {
  return [call, ...legsOf(call)].flatMap(numbersOf);
}

/**
 * The call without the parties who were erased: their numbers, the names beside them wherever these stand on the call,
 * and the caller ids of an erased caller. `held` are the columns that an earlier erasure has left empty.
 */
export function withoutParties<C extends CallSummary | Call>(
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
  return partyFields.flatMap((field) => [...numbersMentioned(parties[field] ?? '')]);
}

function isNamed(text: string | undefined, isErased: (number: string) => boolean): boolean {
  return numbersMentioned(text ?? '').some(isErased);
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
