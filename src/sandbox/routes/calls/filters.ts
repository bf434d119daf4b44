import type { Call, Endpoint, Transcript } from '../../account.ts';
import { normalizeNumber } from '../../phone-number.ts';
import { transcriptsOf } from '../../resources/artefacts.ts';
import { minuteOfDay } from '../../resources/moments.ts';
import { plotOf } from '../../seed/transcripts.ts';
import type { Store } from '../../store/store.ts';
import type { CallFilters, SearchRequest } from './search-request.ts';

type Test = (call: Call) => boolean;

/** The tests that a call has to pass; absent filters cost nothing. Excludes are applied to what the includes left (4.6). */
export function callTests(request: SearchRequest, users: Store['users'], now: number): Test[] {
  const { filters, direction, timeZone } = request;
  return [
    ...(direction === undefined ? [] : [(call: Call) => call.direction === direction]),
    ...includes(filters, users),
    ...traits(filters, timeZone, now),
    ...excludes(filters),
  ];
}

function includes(filters: CallFilters, users: Store['users']): Test[] {
  const tests: Test[] = [];
  const { numbers, extensions, queues, huntgroups } = filters;
  if (numbers) tests.push(touchesNumber(numbers));
  if (extensions) tests.push(touches(extensions, ['user', 'mailbox']));
  if (queues) tests.push(touches(queues, ['queue']));
  if (huntgroups) tests.push(touches(huntgroups, ['huntgroup']));
  if (filters.users) {
    const asked = filters.users;
    const ids = users.values().filter((user) => asked.includes(String(user.id)) || isNamed(user.username, asked));
    const wanted = new Set(ids.map((user) => user.id));
    tests.push((call) => partiesOf(call).some(({ userId }) => userId !== undefined && wanted.has(userId)));
  }
  return tests;
}

function excludes(filters: CallFilters): Test[] {
  const { numbersExclude, extensionsExclude, queuesExclude, huntgroupsExclude } = filters;
  const unwanted: Test[] = [];
  if (numbersExclude) unwanted.push(touchesNumber(numbersExclude));
  if (extensionsExclude) unwanted.push(touches(extensionsExclude, ['user', 'mailbox']));
  if (queuesExclude) unwanted.push(touches(queuesExclude, ['queue']));
  if (huntgroupsExclude) unwanted.push(touches(huntgroupsExclude, ['huntgroup']));
  return unwanted.map((test) => (call) => !test(call));
}

function traits(filters: CallFilters, timeZone: string, now: number): Test[] {
  const { directions, statuses, search, duration, talkTime, waitTime, timeOfDay } = filters;
  const tests: Test[] = [];
  if (directions) tests.push((call) => directions.includes(call.direction));
  if (statuses) tests.push((call) => statuses.some((status) => status === call.status));
  if (search !== undefined) tests.push(mentions(search));
  if (duration) tests.push((call) => isWithin(call.duration, duration));
  if (talkTime) tests.push((call) => isWithin(call.talk, talkTime));
  if (waitTime) tests.push((call) => isWithin(call.duration - call.talk, waitTime));
  if (timeOfDay) tests.push(startsBetween(timeOfDay, timeZone));
  for (const field of ['callPurpose', 'callSentiment'] as const) {
    const wanted = filters[field];
    if (wanted === undefined) continue;
    tests.push((call) => mayBeAbout(call, wanted) && isAbout(transcriptsOf(call, now), field, wanted));
  }
  return tests;
}

function partiesOf(call: Call): Endpoint[] {
  return [call.caller, call.called, ...call.legs.flatMap((leg) => [leg.from, leg.to])];
}

/** Endpoints are asked for by number or by name. */
function touches(asked: readonly string[], types: readonly Endpoint['type'][]): Test {
  const wanted = new Set(asked);
  return (call) =>
    partiesOf(call).some(({ type, number, name }) => types.includes(type) && (wanted.has(number) || wanted.has(name)));
}

function touchesNumber(asked: readonly string[]): Test {
  const wanted = new Set(asked.map((number) => normalizeNumber(number) ?? number));
  return ({ caller, called, dialled, callerIdExternal }) =>
    [caller.number, called.number, dialled, callerIdExternal].some((number) => wanted.has(number));
}

function mentions(text: string): Test {
  const wanted = text.toLowerCase();
  return ({ caller, called }) =>
    [caller.name, caller.number, called.name, called.number].some((part) => part.toLowerCase().includes(wanted));
}

function isWithin(value: number, range: { start?: string | undefined; end?: string | undefined }): boolean {
  return value >= Number(range.start ?? 0) && value <= Number(range.end ?? Number.POSITIVE_INFINITY);
}

type Topic = 'callPurpose' | 'callSentiment';

/** Most calls are ruled out by their plot, without inventing what was said. */
function mayBeAbout(call: Call, wanted: readonly string[]): boolean {
  const { purpose, sentiment } = plotOf(call);
  return call.transcripts !== undefined || wanted.includes(purpose) || wanted.includes(sentiment);
}

function isAbout(transcripts: readonly Transcript[], topic: Topic, wanted: readonly string[]): boolean {
  return transcripts.some((transcript) => wanted.includes(transcript[topic] ?? ''));
}

/** An evening that ends in the morning wraps around midnight. */
function startsBetween(range: NonNullable<CallFilters['timeOfDay']>, timeZone: string): Test {
  const from = minutes(range.start ?? '00:00');
  const to = minutes(range.end ?? '23:59');
  return (call) => {
    const minute = minuteOfDay(call.start * 1000, timeZone);
    return from <= to ? minute >= from && minute <= to : minute >= from || minute <= to;
  };
}

function minutes(clock: string): number {
  return Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
}

function isNamed(username: string, asked: readonly string[]): boolean {
  return username !== '' && asked.includes(username);
}
