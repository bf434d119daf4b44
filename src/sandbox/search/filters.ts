import type { Call, Endpoint } from '../account.ts';
import { normalizeNumber } from '../phone-number.ts';
import type { CallFilters, SearchRequest } from '../routes/calls/search-request.ts';
import type { Store } from '../store/store.ts';
import type { Card, Cast, Catalogue } from './cards.ts';
import type { Topic } from './topics.ts';
import { createWallClock } from './wall-clock.ts';

export type Test = (card: Card) => boolean;

type Part<Filter extends keyof CallFilters> = NonNullable<CallFilters[Filter]>;

/**
 * What a call has to pass to be found (4.6); the calls are to come in order of time. A filter that is absent, an empty
 * list and a range without ends rule out nothing and cost nothing.
 */
export function testsOf(request: SearchRequest, catalogue: Catalogue, users: Store['users'], now: number): Test[] {
  const { filters, direction, timeZone } = request;
  const { search, duration, talkTime, waitTime, timeOfDay } = filters;
  const numbers = filled(filters.numbers);
  const numbersExclude = filled(filters.numbersExclude);
  const directions = filled(filters.directions);
  const statuses = filled<Call['status']>(filters.statuses);
  const tests: (Test | undefined)[] = [
    direction && ((card) => card.direction === direction),
    directions && ((card) => directions.includes(card.direction)),
    statuses && ((card) => statuses.includes(card.status)),
    isWithin(duration, (card) => card.duration),
    isWithin(talkTime, (card) => card.talk),
    isWithin(waitTime, (card) => card.duration - card.talk),
    timeOfDay && startsDuring(timeOfDay, timeZone),
    numbers && hasNumber(numbers, catalogue),
    castTest(filters, catalogue, users),
    search === undefined || search === '' ? undefined : mentions(search, catalogue),
    isAbout('callPurpose', filled(filters.callPurpose), now),
    isAbout('callSentiment', filled(filters.callSentiment), now),
    numbersExclude && not(hasNumber(numbersExclude, catalogue)),
  ];
  return tests.filter((test) => test !== undefined);
}

/** All that is asked of those who took part in a call, decided once for each cast. */
function castTest(filters: CallFilters, { casts }: Catalogue, users: Store['users']): Test | undefined {
  const { extensions, extensionsExclude, queues, queuesExclude, huntgroups, huntgroupsExclude } = filters;
  const wanted = [
    isOneOf(extensions, 'user', 'mailbox'),
    isOneOf(queues, 'queue'),
    isOneOf(huntgroups, 'huntgroup'),
    isUserOf(filters.users, users),
  ].filter((fits) => fits !== undefined);
  const unwanted = [
    isOneOf(extensionsExclude, 'user', 'mailbox'),
    isOneOf(queuesExclude, 'queue'),
    isOneOf(huntgroupsExclude, 'huntgroup'),
  ].filter((fits) => fits !== undefined);
  if (wanted.length + unwanted.length === 0) return undefined;

  const fits = remembered(
    casts,
    (cast: Cast) => wanted.every((each) => cast.some(each)) && !unwanted.some((each) => cast.some(each)),
  );
  return ({ cast }) => fits(cast);
}

/** Endpoints are asked for by number or by name. */
function isOneOf(asked: readonly string[] | undefined, ...types: Endpoint['type'][]) {
  return (
    filled(asked) &&
    (({ type, number, name }: Endpoint) => types.includes(type) && (asked?.includes(number) || asked?.includes(name)))
  );
}

function isUserOf(asked: readonly string[] | undefined, users: Store['users']) {
  const names = filled(asked);
  if (names === undefined) return undefined;
  const isAsked = (name: string) => name !== '' && names.includes(name);
  const ids = users.values().filter(({ id, username }) => isAsked(String(id)) || isAsked(username));
  const wanted = new Set<number | undefined>(ids.map(({ id }) => id));
  return ({ userId }: Endpoint) => wanted.has(userId);
}

function hasNumber(asked: readonly string[], { textOf }: Catalogue): Test {
  const wanted = new Set(asked.map((number) => textOf(normalizeNumber(number) ?? number)));
  return ({ callerNumber, calledNumber, dialled, callerIdExternal }) =>
    wanted.has(callerNumber) || wanted.has(calledNumber) || wanted.has(dialled) || wanted.has(callerIdExternal);
}

function mentions(search: string, { texts }: Catalogue): Test {
  const wanted = search.toLowerCase();
  const fits = remembered(texts, (text) => text.toLowerCase().includes(wanted));
  return ({ callerNumber, callerName, calledNumber, calledName }) =>
    fits(callerNumber) || fits(callerName) || fits(calledNumber) || fits(calledName);
}

function isAbout(field: keyof Topic, words: readonly string[] | undefined, now: number): Test | undefined {
  if (words === undefined) return undefined;
  const wanted = new Set<string | undefined>(words);
  return ({ topics, topicsAt }) => topicsAt <= now && topics.some((topic) => wanted.has(topic[field]));
}

function isWithin(range: Part<'duration'> | undefined, measure: (card: Card) => number): Test | undefined {
  if (range?.start === undefined && range?.end === undefined) return undefined;
  const [least, most] = [Number(range.start ?? 0), Number(range.end ?? Number.POSITIVE_INFINITY)];
  return (card) => measure(card) >= least && measure(card) <= most;
}

/** An evening that ends in the morning wraps around midnight. */
function startsDuring({ start, end }: Part<'timeOfDay'>, timeZone: string): Test | undefined {
  if (start === undefined && end === undefined) return undefined;
  const [from, to] = [minutes(start ?? '00:00'), minutes(end ?? '23:59')];
  const clock = createWallClock(timeZone);
  return ({ start: moment }) => {
    const minute = clock(moment);
    return from <= to ? minute >= from && minute <= to : minute >= from || minute <= to;
  };
}

function minutes(clock: string): number {
  return Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
}

function filled<Item>(list: readonly Item[] | undefined): readonly Item[] | undefined {
  return list?.length ? list : undefined;
}

function not(test: Test): Test {
  return (card) => !test(card);
}

/** Judges each entry once, and only when it is asked for. */
function remembered<Entry>(entries: readonly Entry[], judge: (entry: Entry) => boolean): (entry: number) => boolean {
  const [yes, no] = [1, 2];
  const verdicts = new Uint8Array(entries.length);
  return (entry) => {
    verdicts[entry] ||= judge(entries[entry] as Entry) ? yes : no;
    return verdicts[entry] === yes;
  };
}
