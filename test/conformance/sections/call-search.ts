import { expect } from 'vitest';
import type { CallSearch } from '../../../src/api-client/client.ts';
import { type Case, cases, refusals } from '../case.ts';
import { type PlainCall, type PlainUser, plainFilter } from '../plain-filter.ts';
import { everything, told } from '../service.ts';

const day = 86_400;
type Asked = Partial<CallSearch>;

const search = (body: object): Promise<{ total: number; limit: number; offset: number; calls: PlainCall[] }> =>
  told('searchCalls', { body: { ...everything(), ...body } });
const totalOf = async (body: object) => (await search({ ...body, limit: 1 })).total;

/** Days whose calls have long ended: they stay the same while the suite runs. */
const settled = { start: everything().end - 9 * day, end: everything().end - 2 * day, limit: 500 };

/** The calls of those days, newest first, with what filters look at. */
const settledCalls = (() => {
  let known: Promise<PlainCall[]> | undefined;
  const whole = async ({ id }: PlainCall): Promise<PlainCall> => {
    const path = { callid: id };
    return { ...(await told('getCall', { path })), transcripts: await told('listTranscripts', { path }) };
  };
  return () => {
    known ??= search(settled).then(({ calls }) => Promise.all(calls.map(whole)));
    return known;
  };
})();

const outside = (calls: PlainCall[]) =>
  calls.find(({ callerType }) => callerType === 'external')?.callerNumber ?? 'nobody called';
const threeOf = (users: PlainUser[]) => users.slice(0, 3);
const extensions = (users: PlainUser[]) => threeOf(users).flatMap((user) => user.extensions);
const topic = (calls: PlainCall[], field: 'callPurpose' | 'callSentiment') =>
  calls.flatMap(({ transcripts }) => transcripts).find((transcript) => transcript[field])?.[field] ?? 'no topic';

/** A filter, made of the calls that there are, so that it finds some of them and not all. */
const filters: Record<string, (calls: PlainCall[], users: PlainUser[]) => CallSearch['filters']> = {
  directions: () => ({ directions: ['inbound'] }),
  statuses: () => ({ statuses: ['missed', 'voicemail'] }),
  numbers: (calls) => ({ numbers: [outside(calls)] }),
  'numbers left out': (calls) => ({ numbersExclude: [outside(calls)] }),
  extensions: (_, users) => ({ extensions: extensions(users) }),
  'extensions left out': (_, users) => ({ extensionsExclude: extensions(users) }),
  queues: () => ({ queues: ['Service'] }),
  'queues left out': () => ({ queuesExclude: ['Service'] }),
  huntgroups: () => ({ huntgroups: ['Front desk'] }),
  'huntgroups left out': () => ({ huntgroupsExclude: ['Front desk'] }),
  users: (_, users) => ({ users: threeOf(users).map(({ id }) => String(id)) }),
  'queues without extensions': (_, users) => ({ queues: ['Service'], extensionsExclude: extensions(users) }),
  text: (calls) => ({ search: outside(calls).slice(1, 9) }),
  'a range of durations': () => ({ duration: { start: '30', end: '240' } }),
  'a least talk time': () => ({ talkTime: { start: '60' } }),
  'a longest waiting time': () => ({ waitTime: { end: '12' } }),
  'a time of day': () => ({ timeOfDay: { start: '09:00', end: '15:59' } }),
  'a time of day without end': () => ({ timeOfDay: { start: '16:00' } }),
  purposes: (calls) => ({ callPurpose: [topic(calls, 'callPurpose')] }),
  sentiments: (calls) => ({ callSentiment: [topic(calls, 'callSentiment')] }),
};

const searches: readonly (readonly [what: string, make: (calls: PlainCall[], users: PlainUser[]) => Asked])[] = [
  ['a direction', () => ({ direction: 'outbound' })],
  ['a time of day in a zone', () => ({ timeZone: 'Asia/Kolkata', filters: { timeOfDay: { end: '21:00' } } })],
  ...Object.entries(filters).map(
    ([what, make]) => [what, (calls: PlainCall[], users: PlainUser[]) => ({ filters: make(calls, users) })] as const,
  ),
];

const within = (body: object) => ({ body: { start: 1_700_000_000, end: 1_700_003_600, ...body } });
const filtered = (filters: object) => within({ filters });

/** Section 4.6: the search of calls. */
export const callSearch: readonly Case[] = [
  ...searches.flatMap(([what, make]) =>
    cases('4.6 control', {
      async [`a search by ${what} finds what a plain reading of the filter finds`]() {
        const [calls, users] = [await settledCalls(), await told('listUsers')];
        const asked = make(calls, users);
        const expected = calls.filter((call) => plainFilter(call, asked, users)).map(({ id }) => id);
        expect([0, calls.length]).not.toContain(expected.length);
        const found = await search({ ...settled, ...asked });
        expect({ ...found, calls: found.calls.map(({ id }) => id) }).toMatchObject({
          total: expected.length,
          calls: expected,
        });
      },
    }),
  ),
  ...cases('4.6 read', {
    async 'a search answers fifty calls, newest first, and the total of all pages'() {
      const { start, end } = everything();
      const found = await search({ start, end });
      expect(found).toMatchObject({ limit: 50, offset: 0 });
      expect(found.calls.length).toBe(Math.min(50, found.total));
      const times = found.calls.map(({ startTime }) => Date.parse(startTime) / 1000);
      expect(times).toEqual(times.toSorted((one, other) => other - one));
      expect(times.every((time) => time >= start && time <= end)).toBe(true);
      expect(await totalOf({ start, end })).toBe(found.total);
    },
    async 'pages meet without gap or overlap, and asking again answers the same'() {
      const whole = await search({ ...settled, limit: 90 });
      const pages: PlainCall[] = [];
      for (const offset of [0, 30, 60]) pages.push(...(await search({ ...settled, limit: 30, offset })).calls);
      expect(pages).toEqual(whole.calls);
      expect(await search({ ...settled, limit: 90 })).toEqual(whole);
    },
    async 'left out, a direction finds both'() {
      const both = [
        await totalOf({ ...settled, direction: 'inbound' }),
        await totalOf({ ...settled, direction: 'outbound' }),
      ];
      expect(await totalOf(settled)).toBe((both[0] ?? 0) + (both[1] ?? 0));
    },
    async 'a search is sorted by a field in either direction'() {
      for (const [direction, sign] of [
        ['asc', 1],
        ['desc', -1],
      ] as const) {
        const { calls } = await search({ limit: 500, sort: { field: 'durationSeconds', direction } });
        const values = calls.map(({ durationSeconds }) => durationSeconds);
        expect(values).toEqual(values.toSorted((one, other) => sign * (one - other)));
      }
    },
    async 'a purpose that nobody uses finds nothing, without error'() {
      for (const field of ['callPurpose', 'callSentiment']) {
        expect(await search({ filters: { [field]: ['no such word'] } })).toMatchObject({ total: 0, calls: [] });
      }
    },
  }),
  ...cases('8 read', {
    async 'a limit above 500 is capped, and the applied one is told'() {
      const found = await search({ limit: 9_999 });
      expect(found.limit).toBe(500);
      expect(found.calls.length).toBe(Math.min(500, found.total));
    },
    async 'a window of 366 days is taken'() {
      const { end } = everything();
      await search({ start: end - 366 * day, end, limit: 1 });
    },
  }),
  ...refusals('8 read', 'searchCalls', {
    'a window of a second more than 366 days is refused': within({ end: 1_700_000_001 + 366 * day }),
    'an end at the start is refused': within({ end: 1_700_000_000 }),
    'an end before the start is refused': within({ end: 1_600_000_000 }),
  }),
  ...refusals('4.6 read', 'searchCalls', {
    'a search without start is refused': within({ start: undefined }),
    'a search without end is refused': within({ end: undefined }),
    'a search without body is refused': {},
    'an unknown field is refused': within({ colour: 'red' }),
    'an unknown filter is refused': filtered({ colour: ['red'] }),
    'an unknown end of a range is refused': filtered({ duration: { min: '1' } }),
    'an unknown direction is refused': within({ direction: 'internal' }),
    'an unknown direction among filters is refused': filtered({ directions: ['in'] }),
    'an unknown status is refused': filtered({ statuses: ['unknown'] }),
    'a status code is refused': filtered({ statuses: [1] }),
    'an unknown direction of the sort is refused': within({ sort: { field: 'startTime', direction: 'up' } }),
    'a time zone that is none is refused': within({ timeZone: 'Mars/Olympus' }),
    'a sort by what is no field is refused': within({ sort: { field: 'colour', direction: 'asc' } }),
    'a start as text is refused': within({ start: '1700000000' }),
    'a start with a fraction is refused': within({ start: 1_700_000_000.5 }),
    'an offset of a search below 0 is refused': within({ offset: -1 }),
    'a limit as text is refused': within({ limit: '50' }),
    'a filter that is no list is refused': filtered({ queues: 'Sales' }),
    'a duration as a number is refused': filtered({ duration: { start: 5 } }),
    'a time of day that is none is refused': filtered({ timeOfDay: { start: '25:00' } }),
  }),
];
