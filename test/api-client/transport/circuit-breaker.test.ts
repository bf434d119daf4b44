import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type CircuitBreaker,
  createCircuitBreaker,
  type Permit,
} from '../../../src/api-client/transport/circuit-breaker.ts';
import { json, listen, open, refusalOf, refuse, unhurried } from '../endpoint.ts';

const policy = {
  failures: 3,
  windowMs: 30_000,
  openMs: 5_000,
  maxOpenMs: 12_000,
  maxAskedMs: 12_000,
  outageMs: 20_000,
};
const once = { tries: 1 };

test('repeated failure lets calls rest, one probe at a time finds out, and the rest doubles up to its cap', async () => {
  let isWell = false;
  const { url, seen } = await listen((response) =>
    isWell ? json(response, 200, { data: [] }) : refuse(response, 500, 'internal_error'),
  );
  const { clock, pass } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: policy, retry: once });

  for (let i = 0; i < 3; i += 1) await refusalOf(lines.list());
  expect(circuit.state()).toEqual({ state: 'open', failuresInARow: 3, retryAfterMs: 5000 });

  pass(2000);
  expect(await refusalOf(lines.list())).toMatchObject({ code: 'circuit_open', effect: 'none', retryAfterMs: 3000 });
  expect(seen).toHaveLength(3);

  for (const nextOpenMs of [10_000, 12_000, 12_000]) {
    pass(12_000);
    const errors = await Promise.all([lines.list(), lines.list(), lines.list()].map(refusalOf));
    expect(errors.map((error) => error.code)).toEqual(['server', 'circuit_open', 'circuit_open']);
    expect(circuit.state()).toMatchObject({ state: 'open', retryAfterMs: nextOpenMs });
  }

  isWell = true;
  pass(12_000);
  await lines.list();
  expect(circuit.state()).toEqual({ state: 'closed', failuresInARow: 0 });
});

test.each([
  ['as long as the service asked', 9, 9_000],
  ['no longer than its cap, whatever the service asked', 3_600, 12_000],
  ['as long as ever when less was asked', 1, 5_000],
])('it rests %s', async (_, askedSeconds, expectedMs) => {
  const { url } = await listen((response) =>
    refuse(response, 503, 'unavailable', {}, { 'retry-after': String(askedSeconds) }),
  );
  const { clock } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: policy, retry: once });
  for (let i = 0; i < 3; i += 1) await refusalOf(lines.list());
  expect(circuit.state()).toMatchObject({ state: 'open', retryAfterMs: expectedMs });
});

test('a host that refuses the few requests it gets counts as failing before the circuit opens', async () => {
  let isWell = false;
  const { url } = await listen((response) =>
    isWell ? json(response, 200, { data: [] }) : refuse(response, 503, 'unavailable'),
  );
  const { clock, pass } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: { ...policy, failures: 8 }, retry: { tries: 2 } });
  await refusalOf(lines.list());
  pass(25_000);
  // The tries of one call are one sample of the host.
  expect(circuit.failingMs()).toBeUndefined();
  await refusalOf(lines.list());
  expect(circuit.state().state).toBe('closed');
  expect(circuit.failingMs()).toBeGreaterThanOrEqual(25_000);
  isWell = true;
  await lines.list();
  expect(circuit.failingMs()).toBeUndefined();
});

test('the tries of one call stop when the circuit opens', async () => {
  const { url, seen } = await listen((response) => refuse(response, 500, 'internal_error'));
  const { lines } = open(url, { circuit: { failures: 2 }, retry: { tries: 9 } });
  expect(await refusalOf(lines.list())).toMatchObject({ code: 'circuit_open' });
  expect(seen).toHaveLength(2);
});

test('an answer of the service, even a refusal, ends a row of failures', async () => {
  const { url } = await listen((response, _, number) =>
    number % 3 === 0 ? refuse(response, 404, 'not_found') : refuse(response, 500, 'internal_error'),
  );
  const { calls, circuit } = open(url, { circuit: policy, retry: once });
  for (let i = 0; i < 9; i += 1) await refusalOf(calls.get('1.1'));
  expect(circuit.state()).toEqual({ state: 'closed', failuresInARow: 0 });
});

test('failures that lie far apart do not open it', async () => {
  const { url } = await listen((response) => refuse(response, 500, 'internal_error'));
  const { clock, pass } = unhurried();
  const { lines, circuit } = open(url, { clock, circuit: policy, retry: once });
  for (let i = 0; i < 6; i += 1) {
    await refusalOf(lines.list());
    pass(16_000);
  }
  expect(circuit.state().state).toBe('closed');
});

describe('a service that throttles one operation', () => {
  /** Says that it is throttled of transcripts alone, for so long. */
  async function throttling(retryAfter?: string) {
    const { url, seen } = await listen((response, request) =>
      request.url.endsWith('/transcripts')
        ? refuse(response, 429, 'rate_limited', {}, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
        : json(response, 200, { data: [] }),
    );
    const { clock, pass } = unhurried();
    const service = open(url, { clock, circuit: policy, retry: once });
    for (let i = 0; i < 3; i += 1) await refusalOf(service.calls.transcripts('1.1'));
    return { ...service, pass, seen };
  }

  test('has calls of it rest, and no others', async () => {
    const { calls, circuit, seen } = await throttling();
    expect(await refusalOf(calls.transcripts('1.1'))).toMatchObject({ code: 'circuit_open', retryAfterMs: 5_000 });
    expect(seen).toHaveLength(3);
    await calls.recordings('1.1');
    expect(circuit.state()).toEqual({ state: 'closed', failuresInARow: 0 });
  });

  test('is asked for it as late as it wants to be, by one call at a time', async () => {
    const { calls, pass } = await throttling('9');
    pass(8_000);
    expect(await refusalOf(calls.transcripts('1.1'))).toMatchObject({ code: 'circuit_open', retryAfterMs: 1_000 });
    pass(1_000);
    const errors = await Promise.all([calls.transcripts('1.1'), calls.transcripts('1.2')].map(refusalOf));
    expect(errors.map(({ code }) => code)).toEqual(['rate_limited', 'circuit_open']);
  });

  test('is asked for it every ten seconds at least, unless it wants more', async () => {
    const { calls, pass, seen } = await throttling();
    for (let probe = 1; probe <= 5; probe += 1) {
      pass(10_000);
      await refusalOf(calls.transcripts('1.1'));
    }
    expect(seen).toHaveLength(3 + 5);
  });
});

test('a clock of the machine that is put back does not make it rest longer', async () => {
  const { url } = await listen((response, _, number) =>
    number === 1 ? refuse(response, 500, 'internal_error') : json(response, 200, { data: [] }),
  );
  const now = Date.now.bind(Date);
  let putBackMs = 0;
  const wall = vi.spyOn(Date, 'now').mockImplementation(() => now() - putBackMs);
  onTestFinished(() => wall.mockRestore());
  // Loaded anew, so that it could not have kept the clock of before.
  const file = new URL('../../../src/api-client/transport/concurrency-limiter.ts?put-back', import.meta.url).href;
  const { systemClock: clock }: typeof import('../../../src/api-client/transport/concurrency-limiter.ts') =
    await import(file);
  const { lines } = open(url, { clock, circuit: { failures: 1, openMs: 100 }, retry: once });
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
  expect(circuit.state()).toEqual({ state: 'closed', failuresInARow: 0 });
  expect(seen).toHaveLength(1);
});

test('giving up between two tries ends the call', async () => {
  const { url, seen } = await listen((response) => refuse(response, 500, 'internal_error'));
  const { clock } = unhurried();
  const giveUp = new AbortController();
  const sleep = async (): Promise<void> => {
    giveUp.abort();
    giveUp.signal.throwIfAborted();
  };
  const { lines } = open(url, { clock: { ...clock, sleep } });
  expect(await refusalOf(lines.list({ signal: giveUp.signal }))).toMatchObject({ code: 'aborted' });
  expect(seen).toHaveLength(1);
});

test('a probe that its caller gives up hands its place to the next call', () => {
  const circuit = openCircuit();
  enter(circuit).abandoned();
  enter(circuit).succeeded();
  expect(circuit.state().state).toBe('closed');
});

test('tries from before the circuit opened decide nothing afterwards', () => {
  const { clock, pass } = unhurried();
  const circuit = createCircuitBreaker({ ...policy, failures: 1 }, clock.now, () => {});
  const [first, second, third] = [enter(circuit), enter(circuit), enter(circuit)];
  first.failed();
  pass(1000);
  second.failed();
  expect(circuit.state()).toEqual({ state: 'open', failuresInARow: 1, retryAfterMs: 4000 });
  pass(4000);
  enter(circuit);
  third.succeeded();
  expect(circuit.state().state).toBe('half_open');
});

function openCircuit(): CircuitBreaker {
  const { clock, pass } = unhurried();
  const circuit = createCircuitBreaker({ ...policy, failures: 1 }, clock.now, () => {});
  enter(circuit).failed();
  pass(policy.openMs);
  return circuit;
}

function enter(circuit: CircuitBreaker): Permit {
  expect(circuit.waitMs()).toBe(0);
  return circuit.enter();
}
