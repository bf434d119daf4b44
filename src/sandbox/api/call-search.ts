import { z } from 'zod';
import { type Call, type CallSummary, callSummarySchema, type Endpoint } from '../account.ts';
import { normalizeNumber } from '../phone-number.ts';
import type { Store } from '../store/store.ts';
import { isTimeZone, minuteOfDay } from '../time.ts';
import { type Topic, topicsOf } from './call-resource.ts';

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
        field: callSummarySchema.keyof(),
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
type Filters = SearchRequest['filters'];

/** The number of matching calls (4.6) and one page of them. `now` in milliseconds. */
export function searchCalls(
  { calls, users }: Pick<Store, 'calls' | 'users'>,
  request: SearchRequest,
  now: number,
): { total: number; calls: Call[] } {
  const tests = predicatesOf(request, users, now);
  const found = calls.between(request.start, request.end).filter((call) => tests.every((test) => test(call)));
  return { total: found.length, calls: pageOf(found, request) };
}

type Predicate = (call: Call) => boolean;

/** The predicates of a request (4.6). An absent filter, an empty list and a range without ends need no predicate. */
function predicatesOf(request: SearchRequest, users: Store['users'], now: number): Predicate[] {
  const { filters, direction, timeZone } = request;
  const tests: (Predicate | undefined)[] = [
    direction && ((call) => call.direction === direction),
    isOneOf(filters.directions, (call) => call.direction),
    isOneOf(filters.statuses, (call) => call.status),
    isWithin(filters.duration, (call) => call.durationSeconds),
    isWithin(filters.talkTime, (call) => call.talkTimeSeconds),
    isWithin(filters.waitTime, (call) => call.durationSeconds - call.talkTimeSeconds),
    startsDuring(filters.timeOfDay, timeZone),
    hasNumber(filters.numbers),
    involves(filters.extensions, 'user', 'mailbox'),
    involves(filters.queues, 'queue'),
    involves(filters.huntgroups, 'huntgroup'),
    involvesUser(filters.users, users),
    mentions(filters.search),
    isAbout('callPurpose', filters.callPurpose, now),
    isAbout('callSentiment', filters.callSentiment, now),
    not(hasNumber(filters.numbersExclude)),
    not(involves(filters.extensionsExclude, 'user', 'mailbox')),
    not(involves(filters.queuesExclude, 'queue')),
    not(involves(filters.huntgroupsExclude, 'huntgroup')),
  ];
  return tests.filter((test) => test !== undefined);
}

function isOneOf(values: readonly string[] = [], fieldOf: (call: Call) => string): Predicate | undefined {
  return values.length === 0 ? undefined : (call) => values.includes(fieldOf(call));
}

/** Filters name endpoints by number or by name. */
function involves(values: Filters['queues'], ...types: Endpoint['type'][]): Predicate | undefined {
  const wanted = new Set(values);
  const fits = ({ type, number, name }: Endpoint) => types.includes(type) && (wanted.has(number) || wanted.has(name));
  return wanted.size === 0 ? undefined : ({ legs }) => legs.some(({ from, to }) => fits(from) || fits(to));
}

/** Filters name users by id or by username. */
function involvesUser(values: Filters['users'], users: Store['users']): Predicate | undefined {
  if (values === undefined || values.length === 0) return undefined;
  const isNamed = (name: string) => name !== '' && values.includes(name);
  const named = users.values().filter(({ id, username }) => isNamed(String(id)) || isNamed(username));
  const ids = new Set<number | undefined>(named.map(({ id }) => id));
  return ({ legs }) => legs.some(({ from, to }) => ids.has(from.userId) || ids.has(to.userId));
}

function hasNumber(values: Filters['numbers']): Predicate | undefined {
  const wanted = new Set(values?.map((number) => normalizeNumber(number) ?? number));
  if (wanted.size === 0) return undefined;
  return ({ callerNumber, calledNumber, dialledNumber, callerIdExternal }) =>
    [callerNumber, calledNumber, dialledNumber, callerIdExternal].some((number) => wanted.has(number));
}

function mentions(search: Filters['search'] = ''): Predicate | undefined {
  const wanted = search.toLowerCase();
  const fits = ({ number, name }: Endpoint) => number.includes(wanted) || name.toLowerCase().includes(wanted);
  return wanted === '' ? undefined : ({ caller, called }) => fits(caller) || fits(called);
}

function isAbout(field: keyof Topic, values: Filters['callPurpose'], now: number): Predicate | undefined {
  const wanted = new Set<string | undefined>(values);
  return wanted.size === 0 ? undefined : (call) => topicsOf(call, now).some((topic) => wanted.has(topic[field]));
}

function isWithin(range: Filters['duration'], measure: (call: Call) => number): Predicate | undefined {
  if (range?.start === undefined && range?.end === undefined) return undefined;
  const [min, max] = [Number(range.start ?? 0), Number(range.end ?? Number.POSITIVE_INFINITY)];
  return (call) => measure(call) >= min && measure(call) <= max;
}

/** A range whose end is before its start wraps around midnight. */
function startsDuring(range: Filters['timeOfDay'], timeZone: string): Predicate | undefined {
  if (range?.start === undefined && range?.end === undefined) return undefined;
  const [from, to] = [minutes(range.start ?? '00:00'), minutes(range.end ?? '23:59')];
  return ({ start }) => {
    const minute = minuteOfDay(start, timeZone);
    return from <= to ? minute >= from && minute <= to : minute >= from || minute <= to;
  };
}

function minutes(clock: string): number {
  return Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
}

function not(test: Predicate | undefined): Predicate | undefined {
  return test && ((call) => !test(call));
}

/**
 * One page of the calls, given oldest first, in the requested order: by default newest first, and newest first among
 * equal values. Absent values sort first, or last when descending.
 */
function pageOf(calls: readonly Call[], { sort, offset, limit }: SearchRequest): Call[] {
  const newestFirst = calls.toReversed();
  const page = [offset, offset + limit] as const;
  if (sort === undefined) return newestFirst.slice(...page);
  const sign = sort.direction === 'asc' ? 1 : -1;
  const rows = newestFirst.map((call) => ({ call, key: call[sort.field] }));
  rows.sort((one, other) => sign * compare(one.key, other.key));
  return rows.slice(...page).map(({ call }) => call);
}

type Key = CallSummary[keyof CallSummary];

function compare(one: Key, other: Key): number {
  if (one === other) return 0;
  if (one === undefined) return -1;
  if (other === undefined) return 1;
  return one < other ? -1 : 1;
}
