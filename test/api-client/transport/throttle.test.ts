import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ServiceError } from '../../../src/api-client/client.ts';
import { json, listen, open, refusalOf, refuse, serve, unhurried } from '../endpoint.ts';

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

/**
 * Asks as it is told, and answers what became of it. `lines=503/9` asks for the lines, and the service answers 503 and to come again in 9 s,
 * if it is asked at all; `+5000` lets so many milliseconds pass, and `?` asks for the state of the circuit.
 */
async function became(events: string, luck: number): Promise<string> {
  let [status, after] = ['', ''];
  const { url, seen } = await listen((response) => {
    if (status === '200') json(response, 200, { data: [] });
    else refuse(response, Number(status), 'a_word', {}, after === '' ? {} : { 'retry-after': after });
  });
  const { clock, pass, slept } = unhurried(luck);
  const { calls, lines, messages, circuit } = open(url, { clock, circuit: policy, retry });
  const operations: Readonly<Record<string, () => Promise<unknown>>> = {
    lines: () => lines.list(),
    call: () => calls.get('1.1'),
    recordings: () => calls.recordings('1.1'),
    transcripts: () => calls.transcripts('1.1'),
    send: () => messages.send(text),
  };
  const outcomes: unknown[] = [];
  for (const event of events.split(' ')) {
    const [, operation = '', ...answer] = /^(\w+)=(\d+)\/?(\d*)$/.exec(event) ?? [];
    if (event === '?') {
      const { state, ...rest } = circuit.state();
      outcomes.push(state, ...Object.values(rest));
    } else if (operation === '') pass(Number(event));
    else {
      [status = '', after = ''] = answer;
      const [asked, waits] = [seen.length, slept.length];
      const refusal = await operations[operation]?.().catch((error: ServiceError) => error);
      if (slept.length > waits) outcomes.push('waits', slept.at(-1));
      if (seen.length > asked) outcomes.push(status);
      else {
        expect(refusal).toMatchObject({ code: 'circuit_open', effect: 'none' });
        outcomes.push('rests', (refusal as ServiceError).retryAfterMs);
      }
    }
  }
  return outcomes.join(' ');
}

const threeFailures = 'lines=500 lines=500 lines=500';
const refusedEach = [100, 200, 400, 800, 1_600, 3_200].map((ms) => `waits ${ms} 429`).join(' ');

test.each([
  [
    'all calls rest after repeated failure, longer each time up to a cap, until one is answered',
    `${threeFailures} ? +2000 lines=200 +3000 lines=500 ? +10000 lines=500 ? +12000 lines=500 ? +12000 lines=200 ?`,
    '500 500 500 open 5000 rests 3000 500 open 10000 500 open 12000 500 open 12000 200 closed',
  ],
  ['as long as the service asks', 'lines=503/9 lines=503/9 lines=503/9 ?', '503 503 503 open 9000'],
  ['no longer than the cap', 'lines=503/3600 lines=503/3600 lines=503/3600 ?', '503 503 503 open 12000'],
  ['as long as ever when less is asked', 'lines=503/1 lines=503/1 lines=503/1 ?', '503 503 503 open 5000'],
  [
    'an answer, even a refusal, ends a row of failures',
    'call=500 call=500 call=404 call=500 call=500 call=404 ?',
    '500 500 404 500 500 404 closed',
  ],
  [
    'an operation that fails alone suspends no other',
    `lines=200${' recordings=500'.repeat(9)} lines=200 recordings=500 recordings=500 ?`,
    `200${' 500'.repeat(9)} 200 500 500 closed`,
  ],
  [
    'together with another one all of them, for which an answer of long ago does not vouch',
    'lines=200 recordings=500 recordings=500 lines=500 ? +5000 lines=200 +12000 recordings=500 recordings=500 recordings=500 ?',
    '200 500 500 500 open 5000 200 500 500 500 open 5000',
  ],
  [
    'an operation that is throttled pauses as long as it is asked, and no other',
    'transcripts=429/9 transcripts=200 recordings=200 ? +9000 transcripts=429',
    '429 rests 9000 200 closed 429',
  ],
  ['no longer than the cap', 'transcripts=429/3600 transcripts=200', '429 rests 12000'],
  ['its calls wait for a short pause', 'transcripts=429/3 transcripts=429', '429 waits 3000 429'],
  ['a send does not wait', 'send=429/3 send=200', '429 rests 3000'],
  [
    'it is asked half as often after each refusal, but every ten seconds',
    `${'transcripts=429 '.repeat(8)}+6400 transcripts=429 transcripts=429 +10000 transcripts=429 transcripts=429`,
    `429 ${refusedEach} rests 6400 429 rests 10000 429 rests 10000`,
    1,
  ],
])('%s', async (_, events, outcomes, luck = 0) => {
  expect(await became(events, luck)).toBe(outcomes);
});

test('one probe at a time finds out', async () => {
  const { url } = await serve(failed);
  const { clock, pass } = unhurried();
  const { lines } = open(url, { clock, circuit: policy, retry });
  for (const _ of times(3)) await refusalOf(lines.list());
  pass(policy.openMs);
  const errors = await Promise.all([lines.list(), lines.list(), lines.list()].map(refusalOf));
  expect(errors.map(({ code }) => code)).toEqual(['server', 'circuit_open', 'circuit_open']);
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

test('a refused subscription suspends nothing, with or without the error envelope', async () => {
  const { url, seen } = await serve(...times(8).map(() => '405 Method Not Allowed'), '200 []');
  const { webhooks, circuit } = open(url, { circuit: { failures: 1 } });
  const created = { name: 'n', url: 'https://example.test', type: 'AccountSMS' } as const;
  for (const _ of times(8)) await refusalOf(webhooks.create(created));
  expect(circuit.state()).toEqual({ state: 'closed' });
  await webhooks.list();
  expect(seen).toHaveLength(9);
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
