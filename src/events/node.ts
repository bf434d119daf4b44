import { type EventType, eventTypeOf } from '../event-types.ts';
import { type Fields, namedCalls } from './call-ids.ts';
import { traitsOf } from './keys.ts';
import { numbersIn } from './numbers.ts';

/**
 * An object in a delivery that may be an event: what it says of itself, and what it has from those that enclose it.
 * What is inherited is read once, since one object may enclose many thousands.
 */
export interface EventNode {
  readonly fields: Fields;
  readonly parent: EventNode | undefined;
  /** The type that it, or the nearest that encloses it, says the event is of. */
  readonly claim: EventType | undefined;
  /** The line that it, or the nearest that encloses it, names as such. */
  readonly line: string | undefined;
  /** Who takes part in the conversation, as it says itself or holds of that. */
  readonly ownParticipants: readonly string[];
  /** The same, or else as the nearest says that encloses it. */
  readonly participants: readonly string[];
  /** The calls that it names as such, not merely by an `id`. */
  readonly callIds: readonly string[];
  /** An object that encloses it names its call: this one tells of a leg. */
  readonly isWithinCall: boolean;
  /** A key that is no usual wrapper leads to it or to what encloses it: it may be anything, and a plain `id` of it says nothing. */
  readonly isStranger: boolean;
}

const typeFields = ['webhooktype', 'type', 'event'];
const lineFields = ['line', 'smsline'];
const participantFields = ['groupparticipants', 'participants'];
/** An event may keep what it says of its conversation in an object of that name. */
const conversationFields = ['group', 'conversation', 'thread'];
const noNumbers: readonly string[] = [];

/** A longer text is no word to compare. */
const longestWord = 64;

/** A node of what is written in an object; what encloses a stranger tells neither its line nor its participants. */
export function createNode(fields: Fields, parent: EventNode | undefined, entersAsStranger: boolean): EventNode {
  const ownParticipants = participantsIn(fields);
  const inherited = entersAsStranger ? undefined : parent?.participants;
  return {
    fields,
    parent,
    claim: claimIn(fields) ?? parent?.claim,
    line: lineIn(fields) ?? (entersAsStranger ? undefined : parent?.line),
    ownParticipants,
    participants: ownParticipants.length > 0 ? ownParticipants : (inherited ?? noNumbers),
    callIds: namedCalls(fields),
    isWithinCall: parent !== undefined && (parent.isWithinCall || parent.callIds.length > 0),
    isStranger: entersAsStranger || parent?.isStranger === true,
  };
}

function claimIn(fields: Fields): EventType | undefined {
  for (const name of typeFields) {
    const word = fields[name];
    const type = typeof word === 'string' ? eventTypeOf(word) : undefined;
    if (type !== undefined) return type;
  }
  return undefined;
}

/** A line is a whole phone number; a small figure under that name is an index or an extension. */
function lineIn(fields: Fields): string | undefined {
  for (const name of lineFields) {
    const line = fields[name] === undefined ? undefined : numbersIn(fields[name]).find((each) => each.length >= 7);
    if (line !== undefined) return line;
  }
  return undefined;
}

function participantsIn(fields: Fields): readonly string[] {
  const own = numbersUnder(fields, participantFields);
  if (own.length > 0) return own;
  for (const name of conversationFields) {
    const about = fields[name];
    const told = typeof about === 'object' && about !== null && !Array.isArray(about) ? about : {};
    for (const [key, value] of Object.entries(told)) {
      const { field } = traitsOf(key);
      const numbers = field !== undefined && participantFields.includes(field) ? numbersIn(value) : noNumbers;
      if (numbers.length > 0) return numbers;
    }
  }
  return noNumbers;
}

/** The phone numbers of the first of the named fields that holds any. */
export function ownNumbers({ fields }: EventNode, names: readonly string[]): string[] {
  return numbersUnder(fields, names);
}

function numbersUnder(fields: Fields, names: readonly string[]): string[] {
  for (const name of names) {
    const numbers = fields[name] === undefined ? [] : numbersIn(fields[name]);
    if (numbers.length > 0) return numbers;
  }
  return [];
}

/**
 * The field of the object itself or of the nearest one that encloses it as a word to compare: lower-cased and trimmed,
 * empty when it is not there or no word.
 */
export function inheritedWord(node: EventNode, name: string): string {
  for (let at: EventNode | undefined = node; at !== undefined; at = at.parent) {
    const value = at.fields[name];
    if (value !== undefined)
      return typeof value === 'string' && value.length <= longestWord ? value.trim().toLowerCase() : '';
  }
  return '';
}
