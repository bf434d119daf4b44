import type { Call, Endpoint } from '../account.ts';
import { type Topic, topicsOf } from './topics.ts';

/**
 * What filters ask of a call, close together: a search that walks a month of calls would spend its time on fetching
 * them and their legs from all over the memory. Texts and casts are numbers of entries in the catalogue.
 */
export interface Card {
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
  readonly cast: number;
  /** Milliseconds from which the topics are known. */
  readonly topicsAt: number;
  readonly topics: readonly Topic[];
}

/** Who of the house took part in a call: its users, mailboxes, queues and huntgroups, without order. */
export type Cast = readonly Endpoint[];

/** Each text and each cast once, so that a filter is decided once for all calls that share it. */
export interface Catalogue {
  readonly texts: readonly string[];
  readonly casts: readonly Cast[];
  /** The number of a text; undefined when no card refers to it. */
  textOf(text: string): number | undefined;
  cardOf(call: Call): Card;
}

export function createCatalogue(): Catalogue {
  const texts = createRegister<string>();
  const endpoints = createRegister<Endpoint>();
  const casts = createRegister<Cast>();

  function castOf(call: Call): number {
    const members: number[] = [];
    function enter(endpoint: Endpoint): void {
      const { type, number, userId, name } = endpoint;
      if (type === 'external' || type === 'ivr') return;
      const entry = endpoints.enter(`${type} ${number} ${userId} ${name}`, endpoint);
      if (!members.includes(entry)) members.push(entry);
    }
    enter(call.caller);
    enter(call.called);
    for (const { from, to } of call.legs) {
      enter(from);
      enter(to);
    }
    members.sort((one, other) => one - other);
    return casts.enter(
      members.join(),
      members.map((entry) => endpoints.entries[entry] as Endpoint),
    );
  }

  const entryOf = (text: string) => texts.enter(text, text);
  return {
    texts: texts.entries,
    casts: casts.entries,
    textOf: texts.find,
    cardOf: (call) => ({
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
      cast: castOf(call),
      topicsAt: call.transcriptsAt ?? Number.POSITIVE_INFINITY,
      topics: topicsOf(call),
    }),
  };
}

interface Register<Entry> {
  readonly entries: readonly Entry[];
  find(key: string): number | undefined;
  /** The number of the entry under this key, which is entered when it is new. */
  enter(key: string, entry: Entry): number;
}

function createRegister<Entry>(): Register<Entry> {
  const entries: Entry[] = [];
  const numbers = new Map<string, number>();
  return {
    entries,
    find: (key) => numbers.get(key),
    enter(key, entry) {
      const known = numbers.get(key);
      if (known !== undefined) return known;
      numbers.set(key, entries.length);
      return entries.push(entry) - 1;
    },
  };
}
