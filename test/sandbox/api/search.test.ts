import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Ask, caller, everything } from '../client/caller.ts';
import type { PlainCall } from '../client/plain-filter.ts';

let sandbox: Sandbox;
let ask: Ask;
let calls: PlainCall[];

beforeAll(async () => {
  sandbox = await createSandbox({ calls: 300, threads: 0 });
  ask = caller(sandbox);
  calls = (await search({ limit: 500 })).calls;
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
  expect(await search({ limit: 1e20 })).toMatchObject({ limit: 500 });
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

test('what lies beyond the end is empty and keeps its total', async () => {
  expect(await search({ offset: 300 })).toMatchObject({ total: 300, offset: 300, calls: [] });
  expect(await search({ offset: 9e15, sort: { field: 'id' } })).toMatchObject({ total: 300, calls: [] });
  expect((await search({ offset: 299, sort: { field: 'id' } })).calls).toHaveLength(1);
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
  [{ start: 1, end: 2, timeZone: '+05:00' }, 'timeZone'],
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
