import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createCallLister, type Listing } from '../../../src/completeness/coverage/listing.ts';
import { migratedDatabase } from '../../world/database.ts';
import { callAt, createHistory, type History, type Search, serveHistory } from './history.ts';

const database = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

const begin = 1_790_000_000;
const range = { from: begin, to: begin + 3_600 };

async function listed(history: History): Promise<{ listing: Listing; searches: Search[]; mirrored: Set<string> }> {
  const { client, searches } = await serveHistory(history);
  const mirrored = new Set<string>();
  const lister = createCallLister({ service: client, db: database.db });
  const listing = await lister.list(range, async (calls) => {
    for (const { id } of calls) mirrored.add(id);
  });
  return { listing, searches, mirrored };
}

function filled(count: number): History {
  const history = createHistory();
  for (let at = 0; at < count; at += 1) history.calls.push(callAt(begin + Math.floor((at * 3_600) / count), at + 1));
  return history;
}

test('lists each call of the range once, whatever the cap on pages', async () => {
  const history = filled(1_234);
  history.cap = 100;
  const { listing, searches, mirrored } = await listed(history);
  expect(listing.problem).toBeUndefined();
  expect(listing.calls.size).toBe(1_234);
  expect(mirrored.size).toBe(1_234);
  expect(searches.map(({ limit }) => limit)).toEqual(Array.from({ length: 13 }, () => 500));
});

test.each([true, false])(
  'loses no call at the ends of the range, whether or not windows are closed: %s',
  async (isClosed) => {
    const history = createHistory();
    history.isClosed = isClosed;
    for (const [at, second] of [begin - 1, begin, begin + 3_599, begin + 3_600].entries())
      history.calls.push(callAt(second, at));
    const { listing } = await listed(history);
    expect([...listing.calls.keys()]).toEqual([`${begin}.1`, `${begin + 3_599}.2`]);
    expect(listing.problem).toBeUndefined();
  },
);

test('an hour without calls is whole, however the service writes that there are none', async () => {
  const history = createHistory();
  history.bend = () => ({ data: { total: 0, calls: null } });
  const { listing } = await listed(history);
  expect([listing.calls.size, listing.problem]).toEqual([0, undefined]);
});

test('a call that slips in between two pages is found', async () => {
  const history = filled(900);
  let isLate = true;
  history.before = ({ offset }) => {
    if (offset === 0 || !isLate) return;
    isLate = false;
    // Oldest first: everything behind it moves by one.
    history.calls.push(callAt(begin, 99_999));
  };
  const { listing } = await listed(history);
  expect(listing.problem).toBeUndefined();
  expect(listing.calls.size).toBe(901);
  expect(listing.calls.has(`${begin}.99999`)).toBe(true);
});

test('a range whose calls are still being listed is paged once, whatever the service counts', async () => {
  const history = filled(1_100);
  let late = 0;
  history.before = () => {
    late += 1;
    history.calls.push(callAt(begin + 1_800, 90_000 + late));
  };
  const { client, searches } = await serveHistory(history);
  const mirrored = new Set<string>();
  const lister = createCallLister({ service: client, db: database.db });
  await lister.list(range, async (calls) => calls.forEach(({ id }) => void mirrored.add(id)), undefined, false);
  expect(searches.map(({ offset }) => offset)).toEqual([0, 500, 1_000]);
  expect(mirrored.size).toBeGreaterThanOrEqual(1_100);
});

test('pages that never agree end in smaller spans, down to single pages', async () => {
  const history = filled(1_100);
  const honest = history.bend;
  let turn = 0;
  // Only a range that fits a page is answered as it is.
  history.bend = (data) => {
    turn += 1;
    return (data.total ?? 0) > 500 && turn % 2 === 0 ? honest({ ...data, calls: data.calls.slice(1) }) : honest(data);
  };
  const { listing } = await listed(history);
  expect(listing.problem).toBeUndefined();
  expect(listing.calls.size).toBe(1_100);
});

test('a second whose calls come in another order on each page is a problem after a bounded number of passes', async () => {
  const history = createHistory();
  Object.assign(history, { shuffles: true, cap: 20 });
  for (let at = 0; at < 50; at += 1) history.calls.push(callAt(begin, at + 1));
  const honest = history.bend;
  history.bend = (data) => honest({ ...data, total: (data.total ?? 0) && 51 });
  const { listing, searches } = await listed(history);
  expect(listing.problem).toMatch(/^the service counts 51 calls and lists \d\d$/);
  expect(searches.length).toBeLessThan(400);
});

test('a total that is never met is a problem, and asked for a bounded number of times', async () => {
  const history = filled(40);
  history.bend = (data) => ({ data: { ...data, total: 41 } });
  const { listing, searches } = await listed(history);
  expect(listing.problem).toBe('the service counts 41 calls and lists 40');
  expect(listing.calls.size).toBe(40);
  expect(searches.length).toBeLessThan(10);
});

test('large totals are cut by time before they are paged', async () => {
  const history = filled(10_500);
  const { listing, searches } = await listed(history);
  expect(listing.calls.size).toBe(10_500);
  expect(listing.problem).toBeUndefined();
  expect(Math.max(...searches.map(({ offset }) => offset))).toBeLessThan(6_000);
});

test('no total proves nothing', async () => {
  const history = filled(3);
  history.bend = (data) => ({ data: { ...data, total: undefined } });
  const { listing } = await listed(history);
  expect(listing.problem).toContain('does not say how many');
  expect(listing.calls.size).toBe(3);
});

test('a row without an id makes the page unreadable', async () => {
  const history = filled(3);
  history.bend = (data) => ({ data: { ...data, calls: [{}] } });
  await expect(listed(history)).rejects.toMatchObject({ code: 'unreadable' });
});

test('keys beside data take nothing from the proof: as many ids as the service counts', async () => {
  const history = filled(3);
  history.bend = (data) => ({ data, beside: { requestId: 'req_1', next: 'page' } });
  const { listing, searches } = await listed(history);
  expect([listing.calls.size, listing.problem]).toEqual([3, undefined]);
  expect(searches).toHaveLength(1);
});

test.each([undefined, 9_000])(
  'a last page that comes again at any offset, with a total of %s, ends the pass',
  async (total) => {
    const history = filled(3);
    history.before = (search) => Object.assign(search, { offset: 0 });
    history.bend = (data) => ({ data: { ...data, total } });
    const { listing, searches } = await listed(history);
    expect(listing.calls.size).toBe(3);
    expect(listing.problem).toMatch(/^the service (does not say how many|counts 9000 calls and lists 3)/);
    expect(searches.length).toBeLessThan(5);
  },
);

test('a total that counts the account, not the window, is a problem, and all that is shown is mirrored', async () => {
  const history = filled(600);
  history.bend = (data) => ({ data: { ...data, total: 20_000 } });
  const { listing, searches, mirrored } = await listed(history);
  expect(listing.problem).toMatch(/^the service counts 20000 calls and lists \d+$/);
  expect([listing.calls.size, mirrored.size]).toEqual([600, 600]);
  expect(searches.length).toBeLessThan(15);
});

test('large totals whose calls all lie in one half are listed whole', async () => {
  const history = createHistory();
  for (let at = 0; at < 10_200; at += 1) history.calls.push(callAt(begin + 3_000 + (at % 500), at));
  const { listing } = await listed(history);
  expect([listing.calls.size, listing.problem]).toEqual([10_200, undefined]);
});

const seeds = 60;

test(`${seeds} seeds of paging under churn: proven means that everything old is there`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seconds: fc.array(fc.integer({ min: 0, max: 3_599 }), { maxLength: 60 }),
        cap: fc.integer({ min: 1, max: 20 }),
        isClosed: fc.boolean(),
        arrivals: fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 3_599 })), {
          maxLength: 5,
        }),
      }),
      async ({ seconds, cap, isClosed, arrivals }) => {
        const history = createHistory();
        Object.assign(history, { cap, isClosed });
        history.calls.push(...seconds.map((second, at) => callAt(begin + second, at)));
        const old = history.calls.map(({ second, sequence }) => `${second}.${sequence}`);
        let asked = 0;
        history.before = () => {
          for (const [when, second] of arrivals)
            if (when === asked) history.calls.push(callAt(begin + second, 1_000 + asked));
          asked += 1;
        };
        const { listing } = await listed(history);
        if (listing.problem === undefined) for (const id of old) expect(listing.calls.has(id)).toBe(true);
        // Churn ends, so a problem can only stay while it lasts.
        expect(listing.problem === undefined || arrivals.length > 0).toBe(true);
      },
    ),
    { numRuns: seeds },
  );
});
