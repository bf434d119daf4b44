import { describe, expect, onTestFinished, test } from 'vitest';
import type { Service } from '../../../src/api-client/client.ts';
import { systemClock } from '../../../src/api-client/transport/concurrency-limiter.ts';
import { json, listen, open, refusalOf, refuse, unhurried } from '../endpoint.ts';

const ids = (count: number) => Array.from({ length: count }, (_, i) => `1783385492.${i + 1}`);
const operationOf = (url: string) => url.split('/').at(-1) ?? '';

/**
 * Takes so many requests at a time, of each operation or of all, and refuses the others at once. It answers after a moment, or
 * once `wanted` requests have been there at a time: on a loaded machine they arrive slowly.
 */
async function crowded(limits: { most: number; of: 'each' | 'all' | string; status?: number }, tries = 9) {
  const told = { refused: 0, peak: 0, wanted: 0, limits };
  const inside = new Map<string, number>();
  const { url } = await listen((response, request) => {
    const operation = operationOf(request.url);
    const lane = limits.of === 'all' ? 'all' : operation;
    const count = inside.get(lane) ?? 0;
    const isLimited = limits.of === 'each' || limits.of === lane;
    if (isLimited && count >= limits.most) {
      told.refused += 1;
      refuse(response, limits.status ?? 429, 'rate_limited');
      return;
    }
    inside.set(lane, count + 1);
    told.peak = Math.max(told.peak, count + 1);
    const began = performance.now();
    const timer = setInterval(() => {
      if (told.peak < told.wanted && performance.now() - began < 5_000) return;
      clearInterval(timer);
      inside.set(lane, (inside.get(lane) ?? 1) - 1);
      json(response, 200, { data: [] });
    }, 30);
    onTestFinished(() => clearInterval(timer));
  });
  // Chance decides whom a shared limit refuses; as often as this it befalls nobody.
  return { told, ...open(url, { clock: systemClock, retry: { tries } }) };
}

function readAll({ calls }: Pick<Service, 'calls'>, count: number) {
  return Promise.all(ids(count).flatMap((id) => [calls.recordings(id), calls.transcripts(id)]));
}

test.each([
  ['each operation', 429, 'each'],
  ['all together', 429, 'all'],
  ['all together, and sends others away with 503', 503, 'all'],
] as const)('a service that takes two requests of %s (%i) is asked little more', async (_, status, of) => {
  const service = await crowded({ most: 2, of, status });
  await Promise.all([readAll(service, 20), service.users.list()]);
  const burst = service.told.refused;
  await readAll(service, 60);
  expect(service.told.refused - burst).toBeLessThan(40);
  expect(service.circuit.state().state).toBe('closed');
});

test('an operation that is refused beside others of it narrows no other', async () => {
  const service = await crowded({ most: 1, of: 'transcripts' });
  await readAll(service, 20);
  Object.assign(service.told, { peak: 0, wanted: 11 });
  await Promise.all(ids(20).map((id) => service.calls.recordings(id)));
  expect(service.told.peak).toBeGreaterThan(10);
});

test('a service that takes more again is asked for more', async () => {
  const service = await crowded({ most: 1, of: 'each' });
  await readAll(service, 10);
  service.told.limits.most = 99;
  service.told.peak = 0;
  await readAll(service, 150);
  expect(service.told.peak).toBeGreaterThan(3);
});

test('a moment in which all was refused is soon forgotten', async () => {
  const service = await crowded({ most: 0, of: 'all' }, 1);
  await Promise.all(ids(20).map((id) => refusalOf(service.calls.recordings(id))));
  service.told.limits.most = 99;
  await Promise.all(ids(40).map((id) => service.calls.recordings(id)));
  expect(service.told.peak).toBeGreaterThan(4);
});

describe('one request alone', () => {
  test('that is refused narrows nothing', async () => {
    const service = await crowded({ most: 0, of: 'all' }, 1);
    await refusalOf(service.calls.recordings('1783385492.1'));
    service.told.limits.most = 99;
    service.told.wanted = 11;
    await Promise.all(ids(20).map((id) => service.calls.recordings(id)));
    expect(service.told.peak).toBeGreaterThan(10);
  });

  test('pauses twice as long each time it is refused in a row, and no longer than it may', async () => {
    const { url } = await listen((response) => refuse(response, 429, 'rate_limited'));
    const { clock, slept } = unhurried(1);
    const { lines } = open(url, { clock, retry: { tries: 1, retryAfterCapMs: 300 } });
    for (let i = 0; i < 5; i += 1) await refusalOf(lines.list());
    expect(slept).toEqual([100, 200, 300, 300]);
  });

  test('waits as long as another one of its operation was told to', async () => {
    const { url } = await listen((response, _, number) =>
      number === 1
        ? refuse(response, 429, 'rate_limited', {}, { 'retry-after': '3' })
        : json(response, 200, { data: [] }),
    );
    const { clock, slept } = unhurried(0);
    const { lines, users } = open(url, { clock, retry: { tries: 1 } });
    await refusalOf(lines.list());
    await users.list();
    expect(slept).toEqual([]);
    await lines.list();
    expect(slept).toEqual([3_000]);
  });
});

test('refusals of requests that were out together count once against the service', async () => {
  let isFull = true;
  const { url } = await listen((response) =>
    isFull ? refuse(response, 429, 'rate_limited') : json(response, 200, { data: [] }),
  );
  const { calls } = open(url, { circuit: { failures: 3 }, retry: { tries: 1 } });
  await Promise.all(ids(20).map((id) => refusalOf(calls.recordings(id))));
  isFull = false;
  expect((await calls.recordings('1783385492.1')).data).toEqual([]);
});

test('whoever gives up while waiting for a place leaves it to others, and nothing was sent', async () => {
  const answers: (() => void)[] = [];
  const { url, seen } = await listen((response, _, number) => {
    if (number === 2) refuse(response, 429, 'rate_limited');
    else answers.push(() => json(response, 200, { data: [] }));
  });
  const { calls } = open(url, { retry: { tries: 1 } });
  const first = calls.recordings('1783385492.1');
  await expect.poll(() => seen.length).toBe(1);
  await refusalOf(calls.recordings('1783385492.2'));
  const giveUp = new AbortController();
  const waiting = refusalOf(calls.recordings('1783385492.3', { signal: giveUp.signal }));
  const next = calls.recordings('1783385492.4');
  giveUp.abort();
  expect(await waiting).toMatchObject({ code: 'aborted', effect: 'none' });
  answers[0]?.();
  await expect.poll(() => seen.length).toBe(3);
  answers[1]?.();
  await Promise.all([first, next]);
});
