import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from './client/caller.ts';
import { type PlainCall, plainFilter } from './client/plain-filter.ts';

let sandbox: Sandbox;
let ask: Ask;
let calls: PlainCall[];

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 300, threads: 0 });
  ask = caller(sandbox);
  const { body } = await ask('POST', '/calls/search', { ...everything(), limit: 500 });
  calls = await Promise.all(
    body.data.calls.map(async (call: { id: string }) => ({
      ...(await ask('GET', `/calls/${call.id}`)).body.data,
      transcripts: (await ask('GET', `/calls/${call.id}/transcripts`)).body.data,
    })),
  );
});
afterAll(() => sandbox.close());

async function search(body: object): Promise<{ total: number; limit: number; offset: number; calls: PlainCall[] }> {
  const answer = await ask('POST', '/calls/search', { ...everything(), ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data;
}

test('gives all calls newest first, and a cap of 500 as the applied limit', async () => {
  const found = await search({ limit: 9_999 });
  expect(found).toMatchObject({ total: 300, limit: 500, offset: 0 });
  const starts = found.calls.map((call) => call.startTime);
  expect(starts).toEqual(starts.toSorted().toReversed());
});

test('pages meet without gap or overlap', async () => {
  const ids: string[] = [];
  for (let offset = 0; offset < 300; offset += 70) {
    const page = await search({ limit: 70, offset });
    expect(page).toMatchObject({ total: 300, limit: 70, offset });
    ids.push(...page.calls.map((call) => call.id));
  }
  expect(ids).toEqual(calls.map((call) => call.id));
});

test.each(['startTime', 'durationSeconds', 'callerName', 'abandoned', 'endTime'])('sorts by %s', async (field) => {
  for (const direction of ['asc', 'desc']) {
    const found = await search({ limit: 500, sort: { field, direction } });
    const values = found.calls.map((call) => (call as unknown as Record<string, never>)[field] ?? '');
    const sorted = values.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0));
    expect(values).toEqual(direction === 'asc' ? sorted : sorted.toReversed());
  }
});

test('both ends of the window count', async () => {
  const [call] = calls;
  const at = Date.parse(call?.startTime ?? '') / 1000;
  const ids = async (start: number, end: number) => (await search({ start, end })).calls.map(({ id }) => id);
  expect(await ids(at, at + 1)).toContain(call?.id);
  expect(await ids(at - 1, at)).toContain(call?.id);
  expect(await ids(at + 1, at + 2)).not.toContain(call?.id);
});

test.each([
  [{}, 'start is required'],
  [{ start: 1, end: 1 }, 'end must be'],
  [{ start: 1, end: '2' }, 'end'],
  [{ start: 1.5, end: 2 }, 'start'],
  [{ start: 0, end: 367 * 86_400 }, '366 days'],
  [{ start: 1, end: 2, timeZone: 'Mars/Olympus' }, 'timeZone'],
  [{ start: 1, end: 2, limit: 0 }, 'limit'],
  [{ start: 1, end: 2, offset: -1 }, 'offset'],
  [{ start: 1, end: 2, direction: 'internal' }, 'direction must be'],
  [{ start: 1, end: 2, colour: 1 }, 'unknown field "colour"'],
  [{ start: 1, end: 2, filters: { colour: 1 } }, 'unknown field "colour" in filters'],
  [{ start: 1, end: 2, filters: { statuses: ['unknown'] } }, 'filters.statuses[0]'],
  [{ start: 1, end: 2, filters: { directions: ['in'] } }, 'filters.directions[0]'],
  [{ start: 1, end: 2, filters: { queues: 'Sales' } }, 'filters.queues'],
  [{ start: 1, end: 2, filters: { duration: { start: 5 } } }, 'filters.duration.start'],
  [{ start: 1, end: 2, filters: { timeOfDay: { end: '24:00' } } }, 'filters.timeOfDay.end'],
  [{ start: 1, end: 2, sort: { field: 'colour' } }, 'sort.field'],
  [{ start: 1, end: 2, sort: { field: 'id', direction: 'up' } }, 'sort.direction'],
])('refuses %j', async (body, message) => {
  const answer = await ask('POST', '/calls/search', body);
  expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
  expect(answer.body.error.message.replace(': must', ' must')).toContain(message);
});

test('every combination of filters finds what a plain filter finds', async () => {
  const { body } = await ask('GET', '/users');
  const users: { id: number; extensions: string[]; username: string }[] = body.data;
  const some = <T>(values: T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
  const seconds = fc.record({ start: fc.nat(200).map(String), end: fc.nat(900).map(String) }, { requiredKeys: [] });
  const minute = fc
    .tuple(fc.nat(23), fc.nat(59))
    .map((parts) => parts.map((part) => `${part}`.padStart(2, '0')).join(':'));
  const numbers = some(calls.flatMap((call) => [call.callerNumber, call.calledNumber, call.dialledNumber]));
  const extensions = some(users.flatMap((user) => user.extensions));
  const queues = some(['Service', '602', 'Sales', 'no such queue']);
  const huntgroups = some(['Front desk', '54344', 'Sales']);
  const each = {
    ...{ numbers, numbersExclude: numbers, extensions, extensionsExclude: extensions },
    ...{ queues, queuesExclude: queues, huntgroups, huntgroupsExclude: huntgroups },
    users: some(users.map((user) => String(user.id))),
    directions: some(['inbound', 'outbound']),
    statuses: some(['answered', 'missed', 'voicemail']),
    search: fc.constantFrom('bell', 'WIRELESS', '555', 'sofia m', 'nobody at all'),
    ...{ duration: seconds, talkTime: seconds, waitTime: seconds },
    timeOfDay: fc.record({ start: minute, end: minute }, { requiredKeys: [] }),
    callPurpose: some(['Complaint', 'Order status', 'Small talk']),
    callSentiment: some(['positive', 'neutral', 'negative']),
  };
  // Few at once, or nearly every search would find nothing and agree on that.
  const filters = fc
    .subarray(Object.keys(each) as (keyof typeof each)[], { minLength: 1, maxLength: 3 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, each[name] as fc.Arbitrary<never>]))));
  const request = fc.record(
    {
      filters,
      direction: fc.constantFrom('inbound', 'outbound'),
      timeZone: fc.constantFrom('America/New_York', 'Asia/Kolkata'),
    },
    { requiredKeys: [] },
  );
  let hits = 0;
  await fc.assert(
    fc.asyncProperty(request, async (asked) => {
      const found = await search({ ...asked, limit: 500 });
      const expected = calls.filter((call) => plainFilter(call, asked, users)).map((call) => call.id);
      expect(found.calls.map((call) => call.id)).toEqual(expected);
      expect(found.total).toBe(expected.length);
      if (expected.length > 0 && expected.length < calls.length) hits++;
    }),
    { numRuns: 200 },
  );
  expect(hits).toBeGreaterThan(20);
}, 30_000);
