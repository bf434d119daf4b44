import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callSummarySchema } from '../../../src/sandbox/account.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller } from '../client/caller.ts';
import { type PlainCall, type PlainRequest, plainSearch } from '../client/plain-filter.ts';

/** New York set its clocks on the 8th. */
const now = Date.parse('2026-03-12T17:00:00Z');
const window = { start: now / 1000 - 20 * 86_400, end: now / 1000 };

let sandbox: Sandbox;
let ask: Ask;
/** All of them, newest first. */
let calls: PlainCall[];
let users: { id: number; username: string; extensions: string[] }[];

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 320, threads: 0, now: () => new Date(now) });
  ask = caller(sandbox);
  for (let minute = 0; minute < 16 * 60; minute += 23) {
    const startTime = new Date(Date.parse('2026-03-08T00:00:00Z') + minute * 60_000).toISOString();
    const { id, transcriptIds } = await sandbox.emit.call({ startTime, status: 'answered', recorded: true });
    // Every third comes in the same second as another.
    if (minute % 3 === 0) await sandbox.emit.call({ startTime, direction: 'internal' });
    if (transcriptIds.length > 0) await sandbox.emit.transcript({ callId: id, callSentiment: 'furious' });
  }
  users = (await ask('GET', '/users')).body.data;
  const { body } = await ask('POST', '/calls/search', { ...window, limit: 500 });
  expect(body.data.total).toBeLessThanOrEqual(500);
  calls = await Promise.all(
    body.data.calls.map(async (call: { id: string }) => ({
      ...(await ask('GET', `/calls/${call.id}`)).body.data,
      transcripts: (await ask('GET', `/calls/${call.id}/transcripts`)).body.data,
    })),
  );
});
afterAll(() => sandbox.close());

async function search(request: object): Promise<{ total: number; ids: string[] }> {
  const { status, body } = await ask('POST', '/calls/search', request);
  expect(status, JSON.stringify(body)).toBe(200);
  return { total: body.data.total, ids: body.data.calls.map(({ id }: { id: string }) => id) };
}

/** Requests of every kind; few filters at once, or nearly every search would find nothing and agree on that. */
function requests(): fc.Arbitrary<PlainRequest> {
  const some = <T>(values: T[]) => fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 });
  const ends = <T>(end: fc.Arbitrary<T>) => fc.record({ start: end, end }, { requiredKeys: [] });
  // A bound that some call meets exactly, more often than not.
  const bounds = (measure: (call: PlainCall) => number) =>
    ends(fc.oneof(fc.constantFrom(...calls.map(measure)), fc.nat(900)).map(String));
  const minute = fc
    .nat(1439)
    .map((all) => [all / 60, all % 60].map((part) => `${part | 0}`.padStart(2, '0')).join(':'));
  const formatted = (number: string) => number.replace(/^1(\d{3})(\d{3})(\d{4})$/, '($1) $2-$3');
  const known = calls.flatMap((call) => [call.callerNumber, call.calledNumber, call.dialledNumber]);
  const numbers = some([...known, ...known.map(formatted)]);
  const extensions = some([...users.flatMap((user) => user.extensions), 'Owen Bell', '601', '999']);
  const queues = some(['Service', '602', 'Sales', '54344', 'no such queue']);
  const huntgroups = some(['Front desk', '54344', 'Sales']);
  const purposes = calls.flatMap((call) => call.transcripts.flatMap(({ callPurpose }) => callPurpose ?? []));
  const each = {
    ...{ numbers, numbersExclude: numbers, extensions, extensionsExclude: extensions },
    ...{ queues, queuesExclude: queues, huntgroups, huntgroupsExclude: huntgroups },
    users: some([...users.flatMap((user) => [String(user.id), user.username]), 'nobody']),
    directions: some(['inbound', 'outbound']),
    statuses: some(['answered', 'missed', 'voicemail']),
    search: fc.constantFrom('bell', 'WIRELESS', '555', 'sofia m', '', 'nobody at all', '20'),
    duration: bounds((call) => call.durationSeconds),
    talkTime: bounds((call) => call.talkTimeSeconds),
    waitTime: bounds((call) => call.durationSeconds - call.talkTimeSeconds),
    timeOfDay: ends(minute),
    callPurpose: some([...purposes, 'Small talk', '']),
    callSentiment: some(['positive', 'neutral', 'negative', 'furious', '']),
  };
  const filters = fc
    .subarray(Object.keys(each) as (keyof typeof each)[], { maxLength: 3 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, each[name] as fc.Arbitrary<never>]))));
  const starts = calls.map((call) => Date.parse(call.startTime) / 1000);
  const ofWindow = fc
    .tuple(fc.constantFrom(...starts), fc.constantFrom(...starts))
    .filter(([one, other]) => one !== other)
    .map(([one, other]) => ({ start: Math.min(one, other), end: Math.max(one, other) }));
  const rest = fc.record(
    {
      filters,
      direction: fc.constantFrom('inbound', 'outbound'),
      timeZone: fc.constantFrom('America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'UTC'),
      sort: fc.record(
        {
          field: fc.constantFrom<string>(...callSummarySchema.keyof().options),
          direction: fc.constantFrom('asc', 'desc'),
        },
        { requiredKeys: ['field'] },
      ),
      limit: fc.integer({ min: 1, max: 700 }),
      offset: fc.oneof(fc.nat(30), fc.nat(500)),
    },
    { requiredKeys: ['filters'] },
  );
  return fc
    .tuple(fc.oneof({ weight: 3, arbitrary: fc.constant(window) }, { weight: 1, arbitrary: ofWindow }), rest)
    .map(([asked, others]) => ({ ...asked, ...others }) as PlainRequest);
}

test('any request finds what a plain filter finds, in the order of a plain sort', async () => {
  const met = { filters: new Set<string>(), fields: new Set<string>(), part: 0 };
  await fc.assert(
    fc.asyncProperty(requests(), async (request) => {
      const expected = plainSearch(calls, request, users);
      expect(await search(request)).toEqual(expected);
      if (expected.total === 0 || expected.total === calls.length) return;
      met.part++;
      for (const name of Object.keys(request.filters ?? {})) met.filters.add(name);
      if (request.sort) met.fields.add(request.sort.field);
    }),
    { numRuns: 800 },
  );
  // What never divides the calls proves nothing.
  expect(met.part).toBeGreaterThan(200);
  expect(met.filters.size).toBe(18);
  expect([...met.fields].sort()).toEqual([...callSummarySchema.keyof().options].sort());
});

test('the pages of any request give each call once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(requests(), fc.integer({ min: 7, max: 200 }), async ({ offset: _, ...request }, limit) => {
      const { total, ids } = plainSearch(calls, { ...request, limit: 500 }, users);
      const paged: string[] = [];
      for (let offset = 0; offset < total; offset += limit) {
        paged.push(...(await search({ ...request, limit, offset })).ids);
      }
      expect(paged).toEqual(ids);
    }),
    { numRuns: 60 },
  );
});
