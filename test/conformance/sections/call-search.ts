import { expect } from 'vitest';
import { everything } from '../../sandbox/client/caller.ts';
import { type PlainCall, type PlainRequest, plainSearch } from '../../sandbox/client/plain-filter.ts';
import { type Case, refusals } from '../case.ts';
import type { CaseContext } from '../harness/suite.ts';

interface PlainUser {
  id: number;
  username: string;
  extensions: string[];
}

const operation = 'searchCalls';
const bare = { only: 'bare' } as const;
const day = 86_400;

async function search(
  context: CaseContext,
  body: object,
): Promise<{ total: number; limit: number; offset: number; calls: PlainCall[] }> {
  const { status, data } = await context.ask(operation, { body: { ...everything(), ...body } });
  expect(status).toBe(200);
  return data;
}

/** Calls that have long ended, with what filters look at; they stay the same while the suite runs. */
const settled = (({ start, end }) => ({ start, end: end - 2 * day }))(everything());
const known = new Map<string, Promise<PlainCall[]>>();

function settledCalls(context: CaseContext): Promise<PlainCall[]> {
  const held = known.get(context.baseUrl) ?? fetchCalls(context);
  known.set(context.baseUrl, held);
  return held;
}

async function fetchCalls(context: CaseContext): Promise<PlainCall[]> {
  const calls: PlainCall[] = [];
  for (;;) {
    const page = await search(context, { ...settled, limit: 500, offset: calls.length });
    calls.push(...page.calls);
    if (page.calls.length === 0 || calls.length >= page.total) break;
  }
  return Promise.all(
    calls.map(async ({ id }) => {
      const path = { callid: id };
      const call = await context.bare('getCall', { path });
      const transcripts = await context.bare('listTranscripts', { path });
      return { ...call.data, transcripts: transcripts.data };
    }),
  );
}

/** A filter, made of the calls that there are, so that it finds some of them and not all. */
const filters: readonly [string, (calls: PlainCall[], users: PlainUser[]) => PlainRequest][] = [
  ['a direction', () => ({ direction: 'outbound' })],
  ['directions', () => ({ filters: { directions: ['inbound'] } })],
  ['statuses', () => ({ filters: { statuses: ['missed', 'voicemail'] } })],
  ['numbers', (calls) => ({ filters: { numbers: [outside(calls)] } })],
  ['numbers left out', (calls) => ({ filters: { numbersExclude: [outside(calls)] } })],
  ['extensions', (_, users) => ({ filters: { extensions: extensions(users) } })],
  ['extensions left out', (_, users) => ({ filters: { extensionsExclude: extensions(users) } })],
  ['queues', () => ({ filters: { queues: ['Service'] } })],
  ['queues left out', () => ({ filters: { queuesExclude: ['Service'] } })],
  ['huntgroups', () => ({ filters: { huntgroups: ['Front desk'] } })],
  ['huntgroups left out', () => ({ filters: { huntgroupsExclude: ['Front desk'] } })],
  ['users', (_, users) => ({ filters: { users: users.slice(0, 3).map(({ id }) => String(id)) } })],
  [
    'queues without extensions',
    (_, users) => ({ filters: { queues: ['Service'], extensionsExclude: extensions(users) } }),
  ],
  ['text', (calls) => ({ filters: { search: outside(calls).slice(1, 9) } })],
  ['a range of durations', () => ({ filters: { duration: { start: '30', end: '240' } } })],
  ['a least talk time', () => ({ filters: { talkTime: { start: '60' } } })],
  ['a longest waiting time', () => ({ filters: { waitTime: { end: '12' } } })],
  ['a time of day', () => ({ filters: { timeOfDay: { start: '09:00', end: '15:59' } } })],
  ['a time of day without end', () => ({ filters: { timeOfDay: { start: '16:00' } } })],
  ['a time of day in a zone', () => ({ timeZone: 'Asia/Kolkata', filters: { timeOfDay: { end: '21:00' } } })],
  ['purposes', (calls) => ({ filters: { callPurpose: [topic(calls, 'callPurpose')] } })],
  ['sentiments', (calls) => ({ filters: { callSentiment: [topic(calls, 'callSentiment')] } })],
];

function outside(calls: PlainCall[]): string {
  return calls.find(({ callerType }) => callerType === 'external')?.callerNumber ?? '';
}

function extensions(users: { extensions: string[] }[]): string[] {
  return users.slice(0, 3).flatMap((user) => user.extensions);
}

function topic(calls: PlainCall[], field: 'callPurpose' | 'callSentiment'): string {
  return calls.flatMap(({ transcripts }) => transcripts).find((transcript) => transcript[field])?.[field] ?? '';
}

const within = (body: object) => ({ body: { start: 1_700_000_000, end: 1_700_003_600, ...body } });

/** Section 4.6: the search of calls. */
export const callSearch: readonly Case[] = [
  ...filters.map(
    ([what, make]): Case => ({
      name: `a search by ${what} finds what a plain reading of the filter finds`,
      section: '4.6',
      operations: [operation],
      needs: 'control',
      async run(context) {
        const [calls, users] = [await settledCalls(context), (await context.bare('listUsers')).data];
        const asked = make(calls, users);
        const expected = plainSearch(calls, { ...asked, limit: 500 }, users);
        expect([0, calls.length]).not.toContain(expected.total);
        const found = await search(context, { ...settled, ...asked, limit: 500 });
        expect({ total: found.total, ids: found.calls.map(({ id }) => id) }).toEqual(expected);
      },
    }),
  ),
  {
    name: 'a search answers fifty calls, newest first, and the total of all pages',
    section: '4.6',
    operations: [operation],
    needs: 'read',
    async run(context) {
      const { start, end } = everything();
      const found = await search(context, { start, end });
      expect(found).toMatchObject({ limit: 50, offset: 0 });
      expect(found.calls.length).toBe(Math.min(50, found.total));
      const times = found.calls.map(({ startTime }) => Date.parse(startTime) / 1000);
      expect(times).toEqual(times.toSorted((one, other) => other - one));
      expect(times.every((time) => time >= start && time <= end)).toBe(true);
      expect((await search(context, { start, end, limit: 1 })).total).toBe(found.total);
    },
  },
  {
    name: 'a limit above 500 is capped, and the applied one is told',
    section: '8',
    operations: [operation],
    needs: 'read',
    async run(context) {
      const found = await search(context, { limit: 9_999 });
      expect(found.limit).toBe(500);
      expect(found.calls.length).toBe(Math.min(500, found.total));
    },
  },
  {
    name: 'pages meet without gap or overlap, and asking again answers the same',
    section: '4.6',
    operations: [operation],
    needs: 'read',
    async run(context) {
      const window = everything();
      const whole = await search(context, { ...window, limit: 90 });
      const pages: PlainCall[] = [];
      for (const offset of [0, 30, 60]) pages.push(...(await search(context, { ...window, limit: 30, offset })).calls);
      expect(pages).toEqual(whole.calls);
      expect(await search(context, { ...window, limit: 90 })).toEqual(whole);
    },
  },
  {
    name: 'left out, a direction finds both',
    section: '4.6',
    operations: [operation],
    needs: 'read',
    async run(context) {
      const window = everything();
      const totals: number[] = [];
      for (const direction of ['inbound', 'outbound'] as const) {
        totals.push((await search(context, { ...window, direction, limit: 1 })).total);
      }
      expect((await search(context, { ...window, limit: 1 })).total).toBe((totals[0] ?? 0) + (totals[1] ?? 0));
    },
  },
  {
    name: 'a search is sorted by a field in either direction',
    section: '4.6',
    operations: [operation],
    needs: 'read',
    async run(context) {
      const window = everything();
      for (const direction of ['asc', 'desc'] as const) {
        const { calls } = await search(context, {
          ...window,
          limit: 500,
          sort: { field: 'durationSeconds', direction },
        });
        const values = calls.map(({ durationSeconds }) => durationSeconds);
        const sign = direction === 'asc' ? 1 : -1;
        expect(values).toEqual(values.toSorted((one, other) => sign * (one - other)));
      }
    },
  },
  {
    name: 'a purpose that nobody uses finds nothing, without error',
    section: '4.6',
    operations: [operation],
    needs: 'read',
    async run(context) {
      for (const field of ['callPurpose', 'callSentiment']) {
        expect(await search(context, { filters: { [field]: ['no such word'] } })).toMatchObject({
          total: 0,
          calls: [],
        });
      }
    },
  },
  {
    name: 'a window of 366 days is taken',
    section: '8',
    operations: [operation],
    needs: 'read',
    async run(context) {
      const { end } = everything();
      await search(context, { start: end - 366 * day, end, limit: 1 });
    },
  },
  ...refusals({ operation, needs: 'read', section: '8' }, [
    [
      'a window of a second more than 366 days is refused',
      { body: { start: 1_600_000_000, end: 1_600_000_001 + 366 * day } },
    ],
  ]),
  ...refusals({ operation, needs: 'read', section: '8' }, [
    ['an end at the start is refused', within({ end: 1_700_000_000 })],
    ['an end before the start is refused', within({ end: 1_600_000_000 })],
  ]),
  ...refusals({ operation, needs: 'read', section: '4.6' }, [
    ['a search without start is refused', { body: { end: 1_700_003_600 } }],
    ['a search without end is refused', { body: { start: 1_700_000_000 } }],
    ['a search without body is refused', {}, bare],
  ]),
  ...refusals({ operation, needs: 'read', section: '4.6' }, [
    ['an unknown field is refused', within({ colour: 'red' })],
    ['an unknown filter is refused', within({ filters: { colour: ['red'] } })],
    ['an unknown end of a range is refused', within({ filters: { duration: { min: '1' } } })],
  ]),
  ...refusals({ operation, needs: 'read', section: '4.6' }, [
    ['an unknown direction is refused', within({ direction: 'internal' })],
    ['an unknown direction among filters is refused', within({ filters: { directions: ['in'] } })],
    ['an unknown status is refused', within({ filters: { statuses: ['unknown'] } })],
    ['a status code is refused', within({ filters: { statuses: [1] } })],
    ['an unknown direction of the sort is refused', within({ sort: { field: 'startTime', direction: 'up' } })],
  ]),
  ...refusals({ operation, needs: 'read', section: '4.6' }, [
    ['a time zone that is none is refused', within({ timeZone: 'Mars/Olympus' })],
  ]),
  ...refusals({ operation, needs: 'read', section: '4.6' }, [
    ['a sort by what is no field is refused', within({ sort: { field: 'colour', direction: 'asc' } })],
  ]),
  ...refusals({ operation, needs: 'read', section: '4.6' }, [
    ['a start as text is refused', within({ start: '1700000000' })],
    ['a start with a fraction is refused', within({ start: 1_700_000_000.5 })],
    ['an offset of a search below 0 is refused', within({ offset: -1 })],
    ['a limit as text is refused', within({ limit: '50' })],
    ['a filter that is no list is refused', within({ filters: { queues: 'Sales' } })],
    ['a duration as a number is refused', within({ filters: { duration: { start: 5 } } })],
    ['a time of day that is none is refused', within({ filters: { timeOfDay: { start: '25:00' } } })],
  ]),
];
