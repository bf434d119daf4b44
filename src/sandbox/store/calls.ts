import type { Call, Endpoint, Transcript } from '../account.ts';
import { transcribedLegs } from '../api/call-resource.ts';
import { callTemplateOf, callTemplates, isSummarized } from '../seed/transcripts.ts';
import { createTable, lowerBound, type RecordChange, type Table } from './table.ts';

export type Topic = Pick<Transcript, 'callPurpose' | 'callSentiment'>;

const topicOfTemplate = new Map(
  callTemplates.map((template) => [template, [{ callPurpose: template.purpose, callSentiment: template.sentiment }]]),
);

/** Purpose and sentiment of a call's transcripts, ready or not, without generating their text. */
function topicsOf(call: Call): readonly Topic[] {
  if (call.transcripts !== undefined) return call.transcripts;
  if (!call.recorded || !transcribedLegs(call).some((leg) => isSummarized(call, leg))) return [];
  return topicOfTemplate.get(callTemplateOf(call)) ?? [];
}

/**
 * The fields of a call that filters read, in one object: a search over a month of calls would otherwise spend its time
 * on cache misses in calls and legs. Texts and sets of participants are ids in the `CallIndex`.
 */
export interface CallEntry {
  readonly call: Call;
  readonly start: number;
  readonly duration: number;
  readonly talk: number;
  readonly direction: Call['direction'];
  readonly status: Call['status'];
  readonly callerName: number;
  readonly callerNumber: number;
  readonly calledName: number;
  readonly calledNumber: number;
  readonly dialled: number;
  readonly callerIdExternal: number;
  readonly participants: number;
  /** Milliseconds; the topics are known from then on. */
  readonly topicsAt: number;
  readonly topics: readonly Topic[];
}

/** The users, mailboxes, queues and huntgroups of a call, in no particular order. */
export type Participants = readonly Endpoint[];

/** Interned texts and sets of participants, so that a filter is evaluated once for all calls that share one. */
export interface CallIndex {
  readonly texts: readonly string[];
  readonly participantSets: readonly Participants[];
  /** The id of a text; undefined when no call has it. */
  textId(text: string): number | undefined;
  entryOf(call: Call): CallEntry;
}

function createCallIndex(): CallIndex {
  const texts = createInternTable<string>();
  const endpoints = createInternTable<Endpoint>();
  const casts = createInternTable<Participants>();

  function participantSetId(call: Call): number {
    const members: number[] = [];
    function enter(endpoint: Endpoint): void {
      const { type, number, userId, name } = endpoint;
      if (type === 'external' || type === 'ivr') return;
      const entry = endpoints.intern(`${type} ${number} ${userId} ${name}`, endpoint);
      if (!members.includes(entry)) members.push(entry);
    }
    enter(call.caller);
    enter(call.called);
    for (const { from, to } of call.legs) {
      enter(from);
      enter(to);
    }
    members.sort((one, other) => one - other);
    return casts.intern(
      members.join(),
      members.map((entry) => endpoints.entries[entry] as Endpoint),
    );
  }

  const entryOf = (text: string) => texts.intern(text, text);
  return {
    texts: texts.entries,
    participantSets: casts.entries,
    textId: texts.find,
    entryOf: (call) => ({
      call,
      start: call.start,
      duration: call.duration,
      talk: call.talk,
      direction: call.direction,
      status: call.status,
      callerName: entryOf(call.caller.name),
      callerNumber: entryOf(call.caller.number),
      calledName: entryOf(call.called.name),
      calledNumber: entryOf(call.called.number),
      dialled: entryOf(call.dialled),
      callerIdExternal: entryOf(call.callerIdExternal),
      participants: participantSetId(call),
      topicsAt: call.transcriptsAt ?? Number.POSITIVE_INFINITY,
      topics: topicsOf(call),
    }),
  };
}

interface InternTable<Entry> {
  readonly entries: readonly Entry[];
  find(key: string): number | undefined;
  /** The id of the entry under this key; adds a new entry. */
  intern(key: string, entry: Entry): number;
}

function createInternTable<Entry>(): InternTable<Entry> {
  const entries: Entry[] = [];
  const numbers = new Map<string, number>();
  return {
    entries,
    find: (key) => numbers.get(key),
    intern(key, entry) {
      const known = numbers.get(key);
      if (known !== undefined) return known;
      numbers.set(key, entries.length);
      return entries.push(entry) - 1;
    },
  };
}

export interface CallTable extends Table<string, Call> {
  /** Calls that started between both times (unix seconds, inclusive), oldest first. */
  between(start: number, end: number): Call[];
  /** Their index entries, in the same order. */
  entriesBetween(start: number, end: number): CallEntry[];
  /** The texts and participants that the entries refer to. */
  index(): CallIndex;
  /** Reserves sequence numbers and returns the first. */
  reserve(count: number): number;
}

/** Calls by id and by start. Calls may be added in any order. */
export function createCallTable(record: RecordChange): CallTable {
  let sorted: Call[] = [];
  /** The entry of the call at the same position. */
  let entries: CallEntry[] = [];
  let nextSequence = 100_001;
  let index = createCallIndex();

  /** First position whose call is not before (start, sequence). */
  const position = (start: number, sequence: number) =>
    lowerBound(sorted, (call) => call.start < start || (call.start === start && call.sequence < sequence));

  const table = createTable<string, Call>('call', (call) => call.id, record, {
    added(call, before) {
      const at = position(call.start, call.sequence);
      const replaced = before === undefined ? 0 : 1;
      sorted.splice(at, replaced, call);
      entries.splice(at, replaced, index.entryOf(call));
      nextSequence = Math.max(nextSequence, call.sequence + call.legs.length);
    },
    removed(call) {
      const at = position(call.start, call.sequence);
      sorted.splice(at, 1);
      entries.splice(at, 1);
    },
    cleared() {
      sorted = [];
      entries = [];
      index = createCallIndex();
      nextSequence = 100_001;
    },
  });

  return {
    ...table,
    between: (start, end) => sorted.slice(position(start, 0), position(end + 1, 0)),
    entriesBetween: (start, end) => entries.slice(position(start, 0), position(end + 1, 0)),
    index: () => index,
    reserve(count) {
      const first = nextSequence;
      nextSequence += count;
      return first;
    },
  };
}
