import type { EventType } from '../shared/event-types.ts';
import { plainKey } from '../shared/json.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import type { Thread } from '../shared/thread.ts';
import { callIdsIn, type EventNode, eventsIn, type Fields } from './events.ts';

/** Something that a delivery points at, to be read through the API. Contains no data. */
export type Reference = ThreadReference | CallReference | MessageReference;

/** A conversation. For a group, `number` is the first participant. */
export interface ThreadReference extends Thread {
  readonly kind: 'thread';
  readonly messageId?: string;
}

/** A call that is in progress (`live`), has ended, or has a new transcript. */
export interface CallReference {
  kind: 'call';
  callId: string;
  why: 'ended' | 'live' | 'transcript';
}

/**
 * A text of which only the id is known, as in a receipt. The API can't read it by id, but the mirror may know its
 * thread.
 */
export interface MessageReference {
  kind: 'message';
  messageId: string;
}

type IsOurLine = (number: string) => boolean;

/** The first distinct references of a body, and whether there are more. */
interface Collected {
  readonly references: readonly Reference[];
  readonly isTruncated: boolean;
}

/**
 * Returns at most `limit` distinct references in a body, and the event type that the body states. Tries three
 * interpretations until one finds references: by the types of path and body, by the fields of each object, and as texts
 * with only an id.
 */
export function referencesIn(
  tree: object,
  registered: EventType | undefined,
  isOurLine: IsOurLine,
  limit: number,
): Collected & { readonly claimedType: EventType | undefined } {
  const nodes = eventsIn(tree);
  const claimedType = nodes.find(({ claim }) => claim !== undefined)?.claim;
  const readings: readonly ((node: EventNode) => Reference[])[] = [
    (node) => typesOf(node, registered).flatMap((type) => readAs(type, node, isOurLine)),
    (node) => readAsFound(node, registered, isOurLine),
    (node) => (typesOf(node, registered).includes('AccountSMS') ? messageReferences(node) : []),
  ];
  for (const read of readings) {
    const found = collect(nodes, limit, read);
    if (found.references.length > 0) return { ...found, claimedType };
  }
  return { references: [], isTruncated: false, claimedType };
}

/**
 * The types to interpret an event as. If path and body differ, both: the body may be wrong, or somebody may have
 * changed the subscription's type at the service. But an object that says it's a call and names one isn't a text,
 * although it has two numbers.
 */
function typesOf({ claim, callIds }: EventNode, registered: EventType | undefined): (EventType | undefined)[] {
  if (claim === undefined || registered === undefined || claim === registered) return [registered ?? claim];
  return registered === 'AccountSMS' && callIds.length > 0 ? [claim] : [registered, claim];
}

/** A text may name a call too, but its `id` is its own. */
function readAs(type: EventType | undefined, node: EventNode, isOurLine: IsOurLine): Reference[] {
  if (type !== 'AccountSMS') return callReferences(node, type);
  const threads = threadReferences(node, isOurLine);
  return node.callIds.length === 0 ? threads : [...threads, ...callReferences(node, type)];
}

/** A call id means a call. Two numbers mean a conversation only if no type contradicts it. */
function readAsFound(node: EventNode, registered: EventType | undefined, isOurLine: IsOurLine): Reference[] {
  const calls = callReferences(node, node.claim);
  if (calls.length > 0) return calls;
  return (node.claim ?? registered ?? 'AccountSMS') === 'AccountSMS' ? threadReferences(node, isOurLine) : [];
}

function collect(nodes: EventNode[], limit: number, read: (node: EventNode) => Reference[]): Collected {
  const distinct = new Map<string, Reference>();
  for (const node of nodes) {
    const references = read(node);
    if (nodes.length === 1 && references.length < 2) return { references, isTruncated: false };
    for (const reference of references) {
      const key = referenceKey(reference);
      if (distinct.has(key)) continue;
      if (distinct.size === limit) return { references: [...distinct.values()], isTruncated: true };
      distinct.set(key, reference);
    }
  }
  return { references: [...distinct.values()], isTruncated: false };
}

/** References with the same key cause the same read for the same reason. */
function referenceKey(reference: Reference): string {
  switch (reference.kind) {
    case 'call':
      return `${reference.callId} ${reference.why}`;
    case 'message':
      return reference.messageId;
    case 'thread':
      return `${reference.line} ${reference.number} ${reference.participants.join()} ${reference.messageId}`;
  }
}

// Calls

/**
 * The calls that an event names. The reason comes from the event type, or else from the status: a ringing call is live,
 * any other has ended.
 */
function callReferences(node: EventNode, type: EventType | undefined): CallReference[] {
  const why = reasonOf(node, type);
  return callIdsOf(node, why).map((callId) => ({ kind: 'call', callId, why }));
}

function reasonOf(node: EventNode, type: EventType | undefined): CallReference['why'] {
  switch (type) {
    case 'AccountAITranscription':
      return 'transcript';
    case 'AccountEndedCalls':
    case 'UserEndedCalls':
      return 'ended';
    case 'AccountRealTimeCalls':
      return inheritedWord(node, 'status') === 'ended' ? 'ended' : 'live';
    case 'AccountSMS':
    case undefined:
      return inheritedWord(node, 'status') === 'ringing' ? 'live' : 'ended';
  }
}

/**
 * Explicit fields take precedence over `uniqueId`, `id` and `recording`. Inside an object that names its call, these
 * belong to a leg, whose id can differ from the call's (section 2.10).
 */
function callIdsOf(node: EventNode, why: CallReference['why']): readonly string[] {
  if (node.callIds.length > 0 || node.isWithinCall) return node.callIds;
  const { uniqueid, id, recording } = node.fields;
  const unique = callIdsIn(uniqueid);
  const ids = unique.length > 0 ? unique : callIdsIn(id);
  return ids.length === 0 && why === 'transcript' ? recordedCall(recording) : ids;
}

/**
 * The call id in the name of an audio file: with its dot, or else the longest run of digits that starts like a current
 * Unix time, because the name contains the id "with the dot removed" (section 2.11).
 */
function recordedCall(recording: unknown): string[] {
  if (typeof recording !== 'string' || recording.length > 1_000) return [];
  const name = recording.split(/[?#]/, 1)[0]?.split('/').at(-1) ?? '';
  const dotted = /(?<![\d.])\d{9,11}\.\d{1,12}(?![\d])/.exec(name)?.[0];
  if (dotted !== undefined) return [dotted];
  const runs = name.match(/(?<!\d)1\d{10,21}(?!\d)/g) ?? [];
  const longest = runs.toSorted((a, b) => b.length - a.length)[0];
  return longest === undefined ? [] : [`${longest.slice(0, 10)}.${longest.slice(10)}`];
}

// Texts

const fromFields = ['fromnumber', 'from', 'sender', 'snumber'];
const toFields = ['tonumber', 'to', 'receiver', 'recipient', 'recipients'];
const participantFields = ['groupparticipants', 'participants'];
const messageIdFields = ['messageid', 'msgid', 'smsid', 'id'];

const inbound = new Set(['in', 'inbound', 'incoming', 'received']);
const outbound = new Set(['out', 'outbound', 'outgoing', 'sent']);

/** A longer list isn't a conversation: a send has at most 20 recipients (section 8). */
const maxParties = 64;

/** The conversations of a text event: one for each of our lines involved. */
function threadReferences(node: EventNode, isOurLine: IsOurLine): ThreadReference[] {
  const { fields } = node;
  const from = numbersUnder(fields, fromFields);
  const to = numbersUnder(fields, toFields);
  const explicit = lineIn(fields);
  const named = [...from, ...to, ...numbersUnder(fields, participantFields)];
  if (explicit !== undefined) named.push(...numbersIn(fields.number));
  if (named.length === 0) return [];
  if (explicit !== undefined) named.push(explicit);
  const parties = [...new Set(named)].slice(0, maxParties);

  const ours = parties.filter((number) => number === explicit || isOurLine(number));
  const lines = ours.length > 0 ? ours : linesByDirection(inheritedWord(node, 'direction'), from, to);
  const isToSelf = from.length > 0 && to.length > 0;
  const messageId = messageIdOf(fields);
  const references: ThreadReference[] = [];
  for (const line of lines) {
    const others = parties.filter((number) => number !== line);
    if (others.length === 0 && isToSelf) others.push(line);
    const participants = others.length > 1 ? others.sort() : [];
    const number = others[0];
    if (number === undefined) continue;
    references.push({ kind: 'thread', line, number, participants, ...(messageId !== undefined && { messageId }) });
  }
  return references;
}

/** The text of an event that names neither sender nor recipient. */
function messageReferences({ fields }: EventNode): MessageReference[] {
  const messageId = messageIdOf(fields);
  return messageId === undefined ? [] : [{ kind: 'message', messageId }];
}

/** If neither party is known as our line, the direction decides which one is. Without a direction, either may be. */
function linesByDirection(direction: string, from: string[], to: string[]): string[] {
  if (inbound.has(direction) && to.length > 0) return to;
  if (outbound.has(direction) && from.length > 0) return from;
  return [...from, ...to];
}

/** The largest id that a column holds. */
const maxId = 2n ** 63n - 1n;

function messageIdOf(fields: Fields): string | undefined {
  for (const name of messageIdFields) {
    const value = fields[name];
    const isId =
      typeof value === 'number'
        ? Number.isSafeInteger(value) && value >= 0
        : typeof value === 'string' && /^\d{1,19}$/.test(value) && BigInt(value) <= maxId;
    if (isId) return String(value);
  }
  return undefined;
}

// Fields

/** A line is a complete phone number. A shorter one is an index or an extension. */
function lineIn({ line, smsline }: Fields): string | undefined {
  return [...numbersIn(line), ...numbersIn(smsline)].find((number) => number.length >= 7);
}

/** The phone numbers in the first of the named fields that has any. */
function numbersUnder(fields: Fields, names: readonly string[]): string[] {
  for (const name of names) {
    const numbers = numbersIn(fields[name]);
    if (numbers.length > 0) return numbers;
  }
  return [];
}

/** A longer text isn't a list of numbers: a conversation has about twenty parties. */
const longestList = 2_000;

/** Keys of the number in an object such as `{"phoneNumber": "+1…", "name": "…"}`. A short number may be an index. */
const numberKeys = new Set(['phonenumber', 'number', 'phone']);
const shortestInObject = 5;

/**
 * Returns the phone numbers in a field, normalised and in order. Accepts a string (split on `,`, `;` and `|`), a
 * number, an object with one, or an array of these. Skips anything shorter than a short code or longer than a phone
 * number, and anything with more in it than one number, so that unrelated digits never become part of a number.
 */
export function numbersIn(field: unknown): string[] {
  if (typeof field === 'string') {
    // The digits of an entity such as `&#51;` don't belong to a number.
    return field.length > longestList || field.includes('&') ? [] : field.split(/[,;|]/).flatMap(written);
  }
  if (typeof field === 'number') return written(String(field));
  if (Array.isArray(field))
    return field.slice(0, 100).flatMap((entry) => (Array.isArray(entry) ? [] : numbersIn(entry)));
  if (typeof field !== 'object' || field === null) return [];
  for (const [key, value] of Object.entries(field).slice(0, 100)) {
    if (!numberKeys.has(plainKey(key)) || typeof value === 'object') continue;
    const numbers = numbersIn(value).filter(({ length }) => length >= shortestInObject);
    if (numbers.length > 0) return numbers;
  }
  return [];
}

/** A date, or a decimal such as `18455008085.0`. */
const noNumber = /^\s*(?:19|20)\d\d-\d\d-\d\d\s*$|\.\d\s*$/;

function written(text: string): string[] {
  if (noNumber.test(text) || !/^[\d\s().+-]*$/.test(text)) return [];
  const number = normalizeNumber(text);
  return number.length >= 3 && number.length <= 15 ? [number] : [];
}

/** Longer texts aren't compared. */
const longestWord = 64;

/**
 * A field of the object, or of the nearest enclosing object that has it, in lower case. Empty if it isn't a short text.
 */
function inheritedWord(node: EventNode, name: string): string {
  for (let at: EventNode | undefined = node; at !== undefined; at = at.parent) {
    const value = at.fields[name];
    if (value !== undefined)
      return typeof value === 'string' && value.length <= longestWord ? value.trim().toLowerCase() : '';
  }
  return '';
}
