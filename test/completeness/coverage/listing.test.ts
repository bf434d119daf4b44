import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCallLister } from '../../../src/completeness/coverage/listing.ts';
import { migratedDatabase } from '../../world/database.ts';
import { callAt, createHistory, type History, serveHistory } from './history.ts';

const database = await migratedDatabase();

const begin = 1_790_000_000;
const range = { from: begin, to: begin + 3_600 };

/** Lists the range: what was listed and mirrored, and what is wrong with it. */
async function listed(history: History, isProof?: boolean) {
  const { client, searches } = await serveHistory(history);
  const mirrored = new Set<string>();
  const lister = createCallLister({ service: client, db: database.db });
  const onPage = async (calls: readonly { id: string }[]) => calls.forEach(({ id }) => void mirrored.add(id));
  const { calls, problem } = await lister.list(range, onPage, undefined, isProof);
  return { calls, problem, searches, mirrored: mirrored.size };
}

/** Calls that are spread over the range. */
function filled(count: number, more: Partial<History> = {}): History {
  const history = { ...createHistory(), ...more };
  for (let at = 0; at < count; at += 1) history.calls.push(callAt(begin + Math.floor((at * 3_600) / count), at + 1));
  return history;
}
const bent = (count: number, change: (data: { total?: number; calls: unknown[] }) => object) =>
  filled(count, { bend: (data) => ({ data: { ...data, ...change(data) } }) });

function oneHalf(): History {
  const history = createHistory();
  for (let at = 0; at < 10_200; at += 1) history.calls.push(callAt(begin + 3_000 + (at % 500), at));
  return history;
}
/** Every other page of what does not fit one lacks a call. */
function unsteady(): History {
  let turn = 0;
  return bent(1_100, ({ total = 0, calls }) => {
    turn += 1;
    return total > 500 && turn % 2 === 0 ? { calls: calls.slice(1) } : {};
  });
}
/** A second whose calls come in another order on each page. */
function shuffled(): History {
  const history = bent(0, ({ total }) => ({ total: total && 51 }));
  Object.assign(history, { shuffles: true, cap: 20 });
  for (let at = 0; at < 50; at += 1) history.calls.push(callAt(begin, at + 1));
  return history;
}
const samePage = (total: number | undefined): History => ({
  ...bent(3, () => ({ total })),
  before: (search) => void Object.assign(search, { offset: 0 }),
});

test.each<[string, () => History, number, string | RegExp | undefined, number]>([
  ['calls of many pages, whatever the cap on them', () => filled(1_234, { cap: 100 }), 1_234, undefined, 14],
  ['no calls, however that is written', () => bent(0, () => ({ total: 0, calls: null })), 0, undefined, 2],
  ['pages that never agree, in smaller spans', unsteady, 1_100, undefined, 40],
  ['large totals whose calls all lie in one half', oneHalf, 10_200, undefined, 60],
  ['keys beside data', () => filled(3, { bend: (data) => ({ data, beside: { next: 'page' } }) }), 3, undefined, 2],
  ['a second in ever another order', shuffled, 50, /^the service counts 51 calls and lists \d\d$/, 400],
  [
    'a total that is never met',
    () => bent(40, () => ({ total: 41 })),
    40,
    'the service counts 41 calls and lists 40',
    10,
  ],
  [
    'more calls than it counts',
    () => bent(40, () => ({ total: 39 })),
    40,
    'the service counts 39 calls and lists 40',
    10,
  ],
  ['no total', () => bent(3, () => ({ total: undefined })), 3, /does not say how many/, 3],
  ['a page that comes again at any offset', () => samePage(undefined), 3, /does not say how many/, 5],
  ['one with a large total', () => samePage(9_000), 3, /^the service counts 9000 calls and lists 3/, 5],
  [
    'a total of the account',
    () => bent(600, () => ({ total: 20_000 })),
    600,
    /^the service counts 20000 calls and/,
    15,
  ],
])('lists %s', async (_, history, count, problem, requests) => {
  const found = await listed(history());
  expect(found.calls.size).toBe(count);
  expect(found.mirrored).toBe(count);
  if (problem instanceof RegExp) expect(found.problem).toMatch(problem);
  else expect(found.problem).toBe(problem);
  expect(found.searches.length).toBeLessThan(requests);
  expect(new Set(found.searches.map(({ limit }) => limit))).toEqual(new Set([500]));
});

test('large totals are cut by time before they are paged', async () => {
  const { calls, problem, searches } = await listed(filled(10_500));
  expect([calls.size, problem]).toEqual([10_500, undefined]);
  expect(Math.max(...searches.map(({ offset }) => offset))).toBeLessThan(6_000);
});

test.each([true, false])(
  'loses no call at the ends of the range, whether or not windows are closed: %s',
  async (isClosed) => {
    const history = { ...createHistory(), isClosed };
    for (const [at, second] of [begin - 1, begin, begin + 3_599, begin + 3_600].entries())
      history.calls.push(callAt(second, at));
    const { calls, problem } = await listed(history);
    expect([...calls.keys()]).toEqual([`${begin}.1`, `${begin + 3_599}.2`]);
    expect(problem).toBeUndefined();
  },
);

test('a call that slips in between two pages is found', async () => {
  const history = filled(900);
  history.before = ({ offset }) => {
    // Oldest first: everything behind it moves by one.
    if (offset > 0 && history.calls.length === 900) history.calls.push(callAt(begin, 99_999));
  };
  const { calls, problem } = await listed(history);
  expect([calls.size, calls.has(`${begin}.99999`), problem]).toEqual([901, true, undefined]);
});

test('a range whose calls are still being listed is paged once, whatever the service counts', async () => {
  const history = filled(1_100);
  history.before = () => void history.calls.push(callAt(begin + 1_800, 90_000 + history.calls.length));
  const { searches, mirrored } = await listed(history, false);
  expect(searches.map(({ offset }) => offset)).toEqual([0, 500, 1_000]);
  expect(mirrored).toBeGreaterThanOrEqual(1_100);
});

test('a row without an id makes the page unreadable', async () => {
  await expect(listed(bent(3, () => ({ calls: [{}] })))).rejects.toMatchObject({ code: 'unreadable' });
});

const seeds = 60;

test(`${seeds} seeds of paging under churn: proven means that everything old is there`, async () => {
  const second = fc.integer({ min: 0, max: 3_599 });
  const churns = fc.record({
    seconds: fc.array(second, { maxLength: 60 }),
    cap: fc.integer({ min: 1, max: 20 }),
    isClosed: fc.boolean(),
    arrivals: fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), second), { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(churns, async ({ seconds, cap, isClosed, arrivals }) => {
      const history = { ...createHistory(), cap, isClosed };
      history.calls.push(...seconds.map((each, at) => callAt(begin + each, at)));
      const old = history.calls.map((each) => `${each.second}.${each.sequence}`);
      let asked = 0;
      history.before = () => {
        for (const [when, each] of arrivals)
          if (when === asked) history.calls.push(callAt(begin + each, 1_000 + asked));
        asked += 1;
      };
      const { calls, problem } = await listed(history);
      if (problem === undefined) for (const id of old) expect(calls.has(id)).toBe(true);
      // Churn ends, so a problem can only stay while it lasts.
      expect(problem === undefined || arrivals.length > 0).toBe(true);
    }),
    { numRuns: seeds },
  );
});
