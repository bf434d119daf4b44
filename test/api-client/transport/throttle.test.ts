import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { json, listen, open, refusalOf, refuse, type Scripted, serve, unhurried } from '../endpoint.ts';

const policy = { failures: 3, openMs: 5_000, maxOpenMs: 12_000 };
const retry = { tries: 1 };
const failed = '500 internal_error';
const text = { from: '18457511133', to: ['18455008085'], message: 'hi' };
const times = (count: number) => Array.from({ length: count });

/** A service that fails until it is told that it is well. */
async function ailing(...[status, type]: [number, string]) {
  const state = { isWell: false };
  const endpoint = await listen((response) =>
    state.isWell ? json(response, 200, { data: [] }) : refuse(response, status, type),
  );
  return { ...endpoint, state };
}

test('repeated failure lets calls rest, one probe at a time finds out, and the rest doubles up to its cap', async () => {
  const { url, seen, state } = await ailing(500, 'internal_error');
  const { clock, pass } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: policy, retry });

  for (const _ of times(3)) await refusalOf(lines.list());
  expect(circuit.state()).toEqual({ state: 'open', retryAfterMs: 5000 });

  pass(2000);
  expect(await refusalOf(lines.list())).toMatchObject({ code: 'circuit_open', effect: 'none', retryAfterMs: 3000 });
  expect(seen).toHaveLength(3);

  for (const nextOpenMs of [10_000, 12_000, 12_000]) {
    pass(12_000);
    const errors = await Promise.all([lines.list(), lines.list(), lines.list()].map(refusalOf));
    expect(errors.map((error) => error.code)).toEqual(['server', 'circuit_open', 'circuit_open']);
    expect(circuit.state()).toMatchObject({ state: 'open', retryAfterMs: nextOpenMs });
  }

  state.isWell = true;
  pass(12_000);
  await lines.list();
  expect(circuit.state()).toEqual({ state: 'closed' });
});

test.each([
  ['as long as the service asked', '9', 9_000],
  ['no longer than its cap, whatever the service asked', '3600', 12_000],
  ['as long as ever when less was asked', '1', 5_000],
])('it rests %s', async (_, asked, retryAfterMs) => {
  const { url } = await serve(['503 unavailable', { 'retry-after': asked }]);
  const { lines, circuit } = open(url, { circuit: policy, retry });
  for (const _ of times(3)) await refusalOf(lines.list());
  expect(circuit.state()).toMatchObject({ state: 'open', retryAfterMs });
});

test('a host that refuses the few requests it gets counts as failing before the circuit opens', async () => {
  const { url, state } = await ailing(503, 'unavailable');
  const { clock, pass } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: { ...policy, failures: 8 }, retry: { tries: 2 } });
  await refusalOf(lines.list());
  pass(25_000);
  // The tries of one call are one sample of the host.
  expect(circuit.failingMs()).toBeUndefined();
  await refusalOf(lines.list());
  expect(circuit.state().state).toBe('closed');
  expect(circuit.failingMs()).toBeGreaterThanOrEqual(25_000);
  state.isWell = true;
  await lines.list();
  expect(circuit.failingMs()).toBeUndefined();
});

test('the tries of one call stop when the circuit opens', async () => {
  const { url, seen } = await serve(failed);
  const { lines } = open(url, { circuit: { failures: 2 }, retry: { tries: 9 } });
  expect(await refusalOf(lines.list())).toMatchObject({ code: 'circuit_open' });
  expect(seen).toHaveLength(2);
});

test('an answer of the service, even a refusal, ends a row of failures', async () => {
  const { url } = await serve(...times(3).flatMap((): Scripted[] => [failed, failed, '404 not_found']));
  const { calls, circuit } = open(url, { circuit: policy, retry });
  for (const _ of times(9)) await refusalOf(calls.get('1.1'));
  expect(circuit.state()).toEqual({ state: 'closed' });
});

test('an operation that fails alone suspends no other, and together with another one all of them', async () => {
  const failing = new Set(['/recordings']);
  const { url } = await listen((response, { url }) =>
    [...failing].some((end) => url.endsWith(end))
      ? refuse(response, 500, 'internal_error')
      : json(response, 200, { data: [] }),
  );
  const { clock, pass } = unhurried();
  const { calls, lines, circuit } = open(url, { clock, circuit: policy, retry });
  const failingReads = async (count: number) => {
    for (const _ of times(count)) expect(await refusalOf(calls.recordings('1.1'))).toMatchObject({ code: 'server' });
  };
  await lines.list();
  await failingReads(9);
  await lines.list();
  await failingReads(2);
  failing.add('/lines');
  await refusalOf(lines.list());
  expect(circuit.state().state).toBe('open');
  failing.delete('/lines');
  pass(policy.openMs);
  await lines.list();
  // What answered long ago does not vouch for the host.
  pass(policy.maxOpenMs);
  await failingReads(3);
  expect(circuit.state().state).toBe('open');
});

test('a refused subscription suspends nothing, with or without the error envelope', async () => {
  const { url, seen } = await serve(...times(8).map(() => '405 Method Not Allowed'), '200 []');
  const { webhooks, circuit } = open(url, { circuit: { failures: 1 } });
  const created = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;
  for (const _ of times(8)) await refusalOf(webhooks.create(created));
  expect(circuit.state()).toEqual({ state: 'closed' });
  await webhooks.list();
  expect(seen).toHaveLength(9);
});

describe('a service that throttles one operation', () => {
  /** Answers 429 to requests for transcripts alone, one of which was made. */
  async function throttling(retryAfter: string | undefined, luck: number) {
    const headers = { ...(retryAfter && { 'retry-after': retryAfter }) };
    const { url, seen } = await listen((response, request) =>
      request.url.endsWith('/transcripts')
        ? refuse(response, 429, 'rate_limited', {}, headers)
        : json(response, 200, { data: [] }),
    );
    const { clock, pass, slept } = unhurried(luck);
    const service = open(url, { clock, circuit: policy, retry });
    const ask = () => refusalOf(service.calls.transcripts('1.1'));
    await ask();
    return { ...service, pass, slept, seen, ask };
  }

  test.each([
    ['as long as it asked', '9', 9_000],
    ['no longer than the cap, whatever it asked', '3600', 12_000],
  ])('pauses that operation %s, and no other', async (_, retryAfter, retryAfterMs) => {
    const { calls, circuit, pass, seen, ask } = await throttling(retryAfter, 0);
    expect(await ask()).toMatchObject({ code: 'circuit_open', effect: 'none', retryAfterMs });
    expect(seen).toHaveLength(1);
    await calls.recordings('1.1');
    expect(circuit.state()).toEqual({ state: 'closed' });
    pass(retryAfterMs);
    expect(await ask()).toMatchObject({ code: 'rate_limited' });
  });

  test('has calls wait for a short pause', async () => {
    const { slept, seen, ask } = await throttling('3', 0);
    await ask();
    expect(slept).toEqual([3_000]);
    expect(seen).toHaveLength(2);
  });

  test('is asked half as often after each refusal, but every ten seconds', async () => {
    const { pass, slept, ask } = await throttling(undefined, 1);
    const short = [100, 200, 400, 800, 1_600, 3_200];
    for (const _ of short) await ask();
    expect(slept).toEqual(short);
    for (const retryAfterMs of [6_400, 10_000, 10_000]) {
      expect(await ask()).toMatchObject({ code: 'circuit_open', retryAfterMs });
      pass(retryAfterMs);
      await ask();
    }
  });
});

test('refusals of requests that were in flight together make one pause', async () => {
  const refusals: (() => void)[] = [];
  const { url } = await listen((response, _, number) => {
    refusals.push(() => refuse(response, 429, 'rate_limited'));
    if (number >= 20) for (const refuseNow of refusals.splice(0)) refuseNow();
  });
  const { clock, slept } = unhurried(1);
  const { calls } = open(url, { clock, retry });
  await Promise.all(times(20).map(() => refusalOf(calls.recordings('1.1'))));
  await refusalOf(calls.recordings('1.1'));
  expect(slept).toEqual([100]);
});

test('a paused operation does not let a send wait', async () => {
  const { url, seen } = await serve(['429 rate_limited', { 'retry-after': '3' }]);
  const { clock, slept } = unhurried(0);
  const { messages } = open(url, { clock });
  for (const code of ['rate_limited', 'circuit_open']) {
    expect(await refusalOf(messages.send(text))).toMatchObject({ code, retryAfterMs: 3_000 });
  }
  expect(slept).toEqual([]);
  expect(seen).toHaveLength(1);
});

describe('slots of an operation', () => {
  /** Leaves every read without an answer until it is told to answer. */
  async function crowded() {
    const waiting: ServerResponse[] = [];
    const { url, seen } = await listen((response, request) =>
      request.method === 'GET' ? waiting.push(response) : json(response, 201, { data: {} }),
    );
    const answer = () => waiting.splice(0).forEach((response) => void json(response, 200, { data: [] }));
    return { ...open(url, { limits: { perOperation: 2 } }), seen, answer };
  }

  test('bound its requests in flight, and do not hold up a send', async () => {
    const { calls, messages, seen, answer } = await crowded();
    const reads = Promise.all(times(4).map(() => calls.recordings('1.1')));
    await expect.poll(() => seen.length).toBe(2);
    await messages.send(text);
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'POST']);
    answer();
    await expect.poll(() => seen.length).toBe(5);
    answer();
    await reads;
  });

  test('are not kept by whoever gives up waiting for one', async () => {
    const { calls, seen, answer } = await crowded();
    const reads = [calls.recordings('1.1'), calls.recordings('1.2')];
    const giveUp = new AbortController();
    const waiting = refusalOf(calls.recordings('1.3', { signal: giveUp.signal }));
    const next = calls.recordings('1.4');
    await expect.poll(() => seen.length).toBe(2);
    giveUp.abort();
    expect(await waiting).toMatchObject({ code: 'aborted', effect: 'none' });
    answer();
    await expect.poll(() => seen.length).toBe(3);
    answer();
    await Promise.all([...reads, next]);
  });
});

test('a clock of the machine that is put back does not make it rest longer', async () => {
  const { url } = await serve(failed, '200 []');
  const now = Date.now.bind(Date);
  let putBackMs = 0;
  const wall = vi.spyOn(Date, 'now').mockImplementation(() => now() - putBackMs);
  onTestFinished(() => wall.mockRestore());
  // Loaded anew, so that it could not have kept the clock of before.
  const file = new URL('../../../src/api-client/transport/clock.ts?put-back', import.meta.url).href;
  const { systemClock: clock }: typeof import('../../../src/api-client/transport/clock.ts') = await import(file);
  const { lines } = open(url, { clock, circuit: { failures: 1, openMs: 100 }, retry });
  await refusalOf(lines.list());
  putBackMs = 3_600_000;
  await expect.poll(() => lines.list().then(({ data }) => data)).toEqual([]);
});

test('giving up is not a failure of the service', async () => {
  const { url, seen } = await listen(() => {});
  const { lines, circuit } = open(url, { circuit: { failures: 1 } });
  const giveUp = new AbortController();
  const call = refusalOf(lines.list({ signal: giveUp.signal }));
  await expect.poll(() => seen.length).toBe(1);
  giveUp.abort();
  expect(await call).toMatchObject({ code: 'aborted', effect: 'unknown' });
  expect(await refusalOf(lines.list({ signal: giveUp.signal }))).toMatchObject({ code: 'aborted', effect: 'none' });
  expect(circuit.state()).toEqual({ state: 'closed' });
  expect(seen).toHaveLength(1);
});

test('giving up between two tries ends the call', async () => {
  const { url, seen } = await serve(failed);
  const giveUp = new AbortController();
  const sleep = async (): Promise<void> => {
    giveUp.abort();
    giveUp.signal.throwIfAborted();
  };
  const { lines } = open(url, { clock: { ...unhurried().clock, sleep } });
  expect(await refusalOf(lines.list({ signal: giveUp.signal }))).toMatchObject({ code: 'aborted' });
  expect(seen).toHaveLength(1);
});

test('a probe that its caller gives up hands its place to the next call', async () => {
  const { url, seen } = await listen((response, _, number) => {
    if (number === 1) refuse(response, 500, 'internal_error');
    if (number === 3) json(response, 200, { data: [] });
  });
  const { clock, pass } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: { ...policy, failures: 1 }, retry });
  await refusalOf(lines.list());
  pass(policy.openMs);
  const giveUp = new AbortController();
  const probe = refusalOf(lines.list({ signal: giveUp.signal }));
  await expect.poll(() => seen.length).toBe(2);
  giveUp.abort();
  expect(await probe).toMatchObject({ code: 'aborted' });
  await lines.list();
  expect(circuit.state()).toEqual({ state: 'closed' });
});

test('requests from before the circuit opened decide nothing afterwards', async () => {
  const waiting = new Map<string, ServerResponse>();
  const { url } = await listen((response, { url }) => waiting.set(url.split('/').at(-1) ?? '', response));
  const { clock, pass } = unhurried();
  const { lines, users, circuit } = open(url, { clock, circuit: { ...policy, failures: 1 }, retry });
  const responseTo = (path: string) => waiting.get(path) as ServerResponse;
  const early = users.list();
  const failing = refusalOf(lines.list());
  await expect.poll(() => waiting.size).toBe(2);
  refuse(responseTo('lines'), 500, 'internal_error');
  await failing;
  pass(policy.openMs);
  const probe = lines.blocked('18457511133', '18455008085');
  await expect.poll(() => waiting.size).toBe(3);
  json(responseTo('users'), 200, { data: [] });
  await early;
  expect(circuit.state().state).toBe('open');
  json(responseTo('18455008085'), 200, { data: { number: '18455008085' } });
  await probe;
  expect(circuit.state()).toEqual({ state: 'closed' });
});
