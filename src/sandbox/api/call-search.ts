import { z } from 'zod';
import type { Call, Endpoint } from '../account.ts';
import { normalizeNumber } from '../phone-number.ts';
import type { CallEntry, CallIndex, Participants, Topic } from '../store/calls.ts';
import type { Store } from '../store/store.ts';
import { createWallClock, isTimeZone } from '../time.ts';
import { type CallSummary, statusCode, summaryFields } from './call-resource.ts';

const maxWindowSeconds = 366 * 86_400;
const searchLimit = { default: 50, max: 500 };

const words = z.array(z.string()).optional();
const seconds = z.string().regex(/^\d+$/, 'must be a string of whole seconds').optional();
const secondsRange = z.strictObject({ start: seconds, end: seconds }).optional();
const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time as HH:MM')
  .optional();
const direction = z.enum(['inbound', 'outbound']);

const filters = z.strictObject({
  numbers: words,
  numbersExclude: words,
  extensions: words,
  extensionsExclude: words,
  queues: words,
  queuesExclude: words,
  huntgroups: words,
  huntgroupsExclude: words,
  users: words,
  directions: z.array(direction).optional(),
  statuses: z.array(z.enum(['answered', 'missed', 'voicemail'])).optional(),
  search: z.string().optional(),
  duration: secondsRange,
  talkTime: secondsRange,
  waitTime: secondsRange,
  timeOfDay: z.strictObject({ start: clock, end: clock }).optional(),
  callPurpose: words,
  callSentiment: words,
});

/** The body of POST /calls/search (4.6). */
export const searchRequest = z
  .strictObject({
    start: z.int(),
    end: z.int(),
    timeZone: z.string().refine(isTimeZone, 'must be an IANA time zone').default('UTC'),
    limit: z
      .number()
      .refine(Number.isInteger, 'must be an integer')
      .min(1)
      .default(searchLimit.default)
      .transform((limit) => Math.min(limit, searchLimit.max)),
    offset: z.int().min(0).default(0),
    direction: direction.optional(),
    filters: filters.default({}),
    sort: z
      .strictObject({
        field: z.enum(summaryFields),
        direction: z.enum(['asc', 'desc']).default('desc'),
      })
      .optional(),
  })
  .refine(({ start, end }) => end > start, { path: ['end'], message: 'must be after start' })
  .refine(({ start, end }) => end - start <= maxWindowSeconds, {
    path: ['end'],
    message: 'must be at most 366 days after start',
  });

type SearchRequest = z.output<typeof searchRequest>;
export type CallFilters = SearchRequest['filters'];

/** The number of matching calls (4.6) and one page of them. `now` in milliseconds. */
export function searchCalls(
  { calls, users }: Pick<Store, 'calls' | 'users'>,
  request: SearchRequest,
  now: number,
): { total: number; calls: Call[] } {
  const { start, end } = request;
  const tests = predicatesOf(request, calls.index(), users, now);
  const found = tests.length === 0 ? calls.between(start, end) : passing(tests, calls.entriesBetween(start, end));
  return { total: found.length, calls: pageOf(found, request) };
}

function passing(tests: readonly Predicate[], cards: readonly CallEntry[]): Call[] {
  const calls: Call[] = [];
  for (const card of cards) if (passes(tests, card)) calls.push(card.call);
  return calls;
}

/** A loop instead of `every`: no closure per call. */
function passes(tests: readonly Predicate[], card: CallEntry): boolean {
  for (const test of tests) if (!test(card)) return false;
  return true;
}

type Predicate = (card: CallEntry) => boolean;

type Part<Filter extends keyof CallFilters> = NonNullable<CallFilters[Filter]>;

/**
 * The predicates of a request (4.6), to be called in order of the calls' start. An absent filter, an empty list and a
 * range without ends need no predicate.
 */
function predicatesOf(request: SearchRequest, index: CallIndex, users: Store['users'], now: number): Predicate[] {
  const { filters, direction, timeZone } = request;
  const { search, duration, talkTime, waitTime, timeOfDay } = filters;
  const numbers = nonEmpty(filters.numbers);
  const numbersExclude = nonEmpty(filters.numbersExclude);
  const directions = nonEmpty(filters.directions);
  const statuses = nonEmpty<Call['status']>(filters.statuses);
  const tests: (Predicate | undefined)[] = [
    direction && ((card) => card.direction === direction),
    directions && ((card) => directions.includes(card.direction)),
    statuses && ((card) => statuses.includes(card.status)),
    isWithin(duration, (card) => card.duration),
    isWithin(talkTime, (card) => card.talk),
    isWithin(waitTime, (card) => card.duration - card.talk),
    timeOfDay && startsDuring(timeOfDay, timeZone),
    numbers && hasNumber(numbers, index),
    participantPredicate(filters, index, users),
    search === undefined || search === '' ? undefined : mentions(search, index),
    isAbout('callPurpose', nonEmpty(filters.callPurpose), now),
    isAbout('callSentiment', nonEmpty(filters.callSentiment), now),
    numbersExclude && not(hasNumber(numbersExclude, index)),
  ];
  return tests.filter((test) => test !== undefined);
}

/** The filters on a call's participants, evaluated once per distinct set of participants. */
function participantPredicate(
  filters: CallFilters,
  { participantSets: casts }: CallIndex,
  users: Store['users'],
): Predicate | undefined {
  const { extensions, extensionsExclude, queues, queuesExclude, huntgroups, huntgroupsExclude } = filters;
  const wanted = [
    isOneOf(extensions, 'user', 'mailbox'),
    isOneOf(queues, 'queue'),
    isOneOf(huntgroups, 'huntgroup'),
    isUser(filters.users, users),
  ].filter((fits) => fits !== undefined);
  const unwanted = [
    isOneOf(extensionsExclude, 'user', 'mailbox'),
    isOneOf(queuesExclude, 'queue'),
    isOneOf(huntgroupsExclude, 'huntgroup'),
  ].filter((fits) => fits !== undefined);
  if (wanted.length + unwanted.length === 0) return undefined;

  const fits = memoized(
    casts,
    (cast: Participants) => wanted.every((each) => cast.some(each)) && !unwanted.some((each) => cast.some(each)),
  );
  return ({ participants: cast }) => fits(cast);
}

/** Filters name endpoints by number or by name. */
function isOneOf(values: readonly string[] | undefined, ...types: Endpoint['type'][]) {
  return (
    nonEmpty(values) &&
    (({ type, number, name }: Endpoint) => types.includes(type) && (values?.includes(number) || values?.includes(name)))
  );
}

function isUser(values: readonly string[] | undefined, users: Store['users']) {
  const names = nonEmpty(values);
  if (names === undefined) return undefined;
  const isNamed = (name: string) => name !== '' && names.includes(name);
  const ids = users.values().filter(({ id, username }) => isNamed(String(id)) || isNamed(username));
  const wanted = new Set<number | undefined>(ids.map(({ id }) => id));
  return ({ userId }: Endpoint) => wanted.has(userId);
}

function hasNumber(numbers: readonly string[], { textId: textOf }: CallIndex): Predicate {
  const wanted = new Set(numbers.map((number) => textOf(normalizeNumber(number) ?? number)));
  return ({ callerNumber, calledNumber, dialled, callerIdExternal }) =>
    wanted.has(callerNumber) || wanted.has(calledNumber) || wanted.has(dialled) || wanted.has(callerIdExternal);
}

function mentions(search: string, { texts }: CallIndex): Predicate {
  const wanted = search.toLowerCase();
  const fits = memoized(texts, (text) => text.toLowerCase().includes(wanted));
  return ({ callerNumber, callerName, calledNumber, calledName }) =>
    fits(callerNumber) || fits(callerName) || fits(calledNumber) || fits(calledName);
}

function isAbout(field: keyof Topic, words: readonly string[] | undefined, now: number): Predicate | undefined {
  if (words === undefined) return undefined;
  const wanted = new Set<string | undefined>(words);
  return ({ topics, topicsAt }) => topicsAt <= now && topics.some((topic) => wanted.has(topic[field]));
}

function isWithin(range: Part<'duration'> | undefined, measure: (card: CallEntry) => number): Predicate | undefined {
  if (range?.start === undefined && range?.end === undefined) return undefined;
  const [min, max] = [Number(range.start ?? 0), Number(range.end ?? Number.POSITIVE_INFINITY)];
  return (card) => measure(card) >= min && measure(card) <= max;
}

/** A range whose end is before its start wraps around midnight. */
function startsDuring({ start, end }: Part<'timeOfDay'>, timeZone: string): Predicate | undefined {
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

function nonEmpty<Item>(list: readonly Item[] | undefined): readonly Item[] | undefined {
  return list?.length ? list : undefined;
}

function not(test: Predicate): Predicate {
  return (card) => !test(card);
}

/** Evaluates each entry at most once. */
function memoized<Entry>(entries: readonly Entry[], predicate: (entry: Entry) => boolean): (entry: number) => boolean {
  const [yes, no] = [1, 2];
  const results = new Uint8Array(entries.length);
  return (entry) => {
    results[entry] ||= predicate(entries[entry] as Entry) ? yes : no;
    return results[entry] === yes;
  };
}

type Key = string | number | boolean | undefined;

/** The sort key of each field of a summary; undefined where the field is absent. */
const keys: Record<keyof CallSummary, (call: Call) => Key> = {
  id: (call) => call.id,
  direction: (call) => call.direction,
  status: (call) => call.status,
  statusCode,
  callerType: ({ caller }) => caller.type,
  callerName: ({ caller }) => caller.name,
  callerNumber: ({ caller }) => caller.number,
  calledType: ({ called }) => called.type,
  calledName: ({ called }) => called.name,
  calledNumber: ({ called }) => called.number,
  dialledNumber: (call) => call.dialled,
  callerIdInternal: (call) => call.callerIdInternal,
  callerIdExternal: (call) => call.callerIdExternal,
  startTime: (call) => call.start,
  endTime: (call) => (call.hasEnd ? call.start + call.duration : undefined),
  durationSeconds: (call) => call.duration,
  talkTimeSeconds: (call) => call.talk,
  transferred: (call) => call.transfers,
  abandoned: (call) => call.abandoned,
  recorded: (call) => call.recorded,
  calledBack: (call) => call.calledBack,
  repeated: (call) => call.repeated,
};

/**
 * One page of the calls, given oldest first, in the requested order: by default newest first, and newest first among
 * equal values. Absent values sort first, or last when descending.
 */
function pageOf(calls: readonly Call[], { sort, offset, limit }: SearchRequest): Call[] {
  const end = Math.min(offset + limit, calls.length);
  if (sort === undefined || sort.field === 'startTime') {
    if (sort?.direction === 'asc') return calls.slice(offset, end);
    return calls.slice(calls.length - end, Math.max(0, calls.length - offset)).reverse();
  }
  const values = calls.map(keys[sort.field]);
  const sign = sort.direction === 'asc' ? 1 : -1;
  const order = (one: number, other: number) => sign * compare(values[one], values[other]) || other - one;
  const positions = Uint32Array.from(values.keys());
  return Array.from(sortedSlice(positions, offset, end, order), (position) => calls[position] as Call);
}

function compare(one: Key, other: Key): number {
  if (one === other) return 0;
  if (one === undefined) return -1;
  if (other === undefined) return 1;
  return one < other ? -1 : 1;
}

type Order = (one: number, other: number) => number;

/**
 * The same as sorting and slicing, but sorts only the slice, so that late pages of a long list are as fast as early ones.
 * Reorders `items` in place. No two items may be equal in the order.
 */
export function sortedSlice(items: Uint32Array, from: number, to: number, order: Order): Uint32Array {
  if (from >= to) return new Uint32Array();
  partition(items, from, 0, items.length - 1, order);
  partition(items, to - 1, from, items.length - 1, order);
  return items.subarray(from, to).sort(order);
}

/** Hoare's selection: no item before `position` sorts after an item behind it. */
function partition(items: Uint32Array, position: number, first: number, last: number, order: Order): void {
  const at = (index: number) => items[index] as number;
  let [low, high] = [first, last];
  while (low < high) {
    const pivot = at((low + high) >>> 1);
    let [left, right] = [low, high];
    while (left <= right) {
      while (order(at(left), pivot) < 0) left++;
      while (order(at(right), pivot) > 0) right--;
      if (left > right) break;
      const moved = at(left);
      items[left++] = at(right);
      items[right--] = moved;
    }
    if (position <= right) high = right;
    else if (position >= left) low = left;
    else return;
  }
}
