import { beforeEach, describe, expect, test } from 'vitest';
import { type ErrorCode, ServiceError } from '../../../src/api-client/errors.ts';
import { backfillCalls, createOutageRetry } from '../../../src/completeness/coverage/backfill.ts';
import { migratedDatabase } from '../../world/database.ts';
import { callAt, createHistory, serveHistory } from './history.ts';

const database = await migratedDatabase();
const { db, query, value } = database;
beforeEach(() => query('truncate ops.coverage, ops.backfills, ops.sync_targets, warehouse.calls, warehouse.call_legs'));

const hours = 20 * 24;
const end = 1_790_000_000 - (1_790_000_000 % 3_600);
const all = { from: end - hours * 3_600, to: end };
const never = new AbortController().signal;

/** A service with 200 calls in these days. */
async function open() {
  const history = createHistory();
  for (let at = 0; at < 200; at += 1) history.calls.push(callAt(all.from + at * 8_000, at));
  const { client } = await serveHistory(history);
  const deps = { db };
  type Options = { range?: typeof all; withArtefacts?: boolean; signal?: AbortSignal; onProgress?: () => void };
  const fill = ({ range = all, withArtefacts = false, signal = never, onProgress = () => undefined }: Options = {}) =>
    backfillCalls({ ...deps, service: client }, { range, withArtefacts }, onProgress, signal);
  return {
    history,
    fill,
    /** A run that is stopped at its first page. */
    cutOff(range = all) {
      const stopping = new AbortController();
      return fill({ range, signal: stopping.signal, onProgress: () => stopping.abort() });
    },
    /** A run that is stopped while it waits for a service that asks for a pause. */
    stoppedInPause() {
      const stopping = new AbortController();
      const pause = { operation: 'calls.search', effect: 'none', retryAfterMs: 3_600 } as const;
      const search = () => Promise.reject(new ServiceError('rate_limited', 'the service asks for a pause', pause));
      const service = { ...client, calls: { ...client.calls, search } };
      const onWait = () => stopping.abort();
      const asked = { range: all, withArtefacts: false };
      return backfillCalls({ ...deps, service, onWait }, asked, () => undefined, stopping.signal);
    },
  };
}
const held = () => value('select count(*)::integer from warehouse.calls where deleted_at is null');
const runs = () => query('select finished_at is not null as is_finished from ops.backfills');

describe('filling in the history of calls', () => {
  test('all of it is held and proven, and nothing else is read', async () => {
    const { fill } = await open();
    expect(await fill()).toMatchObject({ share: 1, isFinished: true, unproven: [], resumedFrom: undefined });
    expect(await held()).toBe(200);
    const counts = `select concat_ws(' ', count(*), sum(reported_count), sum(held_count), string_agg(distinct state, ' ')) from ops.coverage`;
    expect(await value(counts)).toBe(`${hours} 200 200 proven`);
    expect(await value('select count(*)::integer from ops.sync_targets')).toBe(0);
  });

  test('a run that is cut off goes on at its last range, and doubles nothing', async () => {
    const { fill, cutOff } = await open();
    const cut = await cutOff();
    expect(cut).toMatchObject({ isFinished: false });
    expect(await held()).toBeLessThan(200);
    expect(await fill()).toMatchObject({ isFinished: true, resumedFrom: cut.doneUntil });
    expect(await held()).toBe(200);
    expect(await runs()).toEqual([{ is_finished: true }]);
  });

  test('a run that is asked for again in a later hour is the same run', async () => {
    const { fill, cutOff } = await open();
    const cut = await cutOff({ from: all.from, to: all.to - 2 * 3_600 });
    expect(await fill()).toMatchObject({ isFinished: true, share: 1, resumedFrom: cut.doneUntil });
    expect(await held()).toBe(200);
    expect(await runs()).toEqual([{ is_finished: true }]);
  });

  test('a wait for the service ends when the run is told to stop, and the next run goes on', async () => {
    const { fill, stoppedInPause } = await open();
    expect(await stoppedInPause()).toMatchObject({ isFinished: false });
    expect(await fill()).toMatchObject({ isFinished: true });
    expect(await held()).toBe(200);
  });

  test('artefacts follow behind live work, also for calls that were filled in without, and what was read is not read again', async () => {
    const { fill } = await open();
    const pending = () => value(`select count(*)::integer from ops.sync_targets where kind = 'call' and priority = 1`);
    await fill();
    await fill({ withArtefacts: true });
    expect(await pending()).toBe(200);
    await query('update warehouse.calls set leg_count = 1, legs_fetched_at = now()');
    await query('truncate ops.sync_targets');
    await fill({ withArtefacts: true });
    expect(await pending()).toBe(0);
  });

  test('each call counts once, however often the service has to be asked for it', async () => {
    const { history, fill } = await open();
    history.calls.length = 0;
    for (let at = 0; at < 1_000; at += 1) history.calls.push(callAt(all.from + at * 3, at));
    history.cap = 100;
    let asked = 0;
    history.before = ({ offset }) => {
      asked += 1;
      if (offset === 300 && history.calls.length === 1_000) history.calls.push(callAt(all.from, 99_999));
    };
    const { mirrored, unproven } = await fill({ range: { from: all.from, to: all.from + 3_600 } });
    expect([mirrored, unproven]).toEqual([1_001, []]);
    expect(asked * history.cap).toBeGreaterThan(1_200);
  });
});

describe('an outage', () => {
  const failed = (code: ErrorCode, retryAfterMs?: number) =>
    new ServiceError(code, 'it failed', { operation: 'calls.search', effect: 'none', retryAfterMs });
  function* forever(code: ErrorCode) {
    for (;;) yield failed(code);
  }

  /** A clock that a wait moves on, and what a service answers, one failure after the other. */
  function waiting() {
    let now = 0;
    const waits: number[] = [];
    const sleep = async (ms: number) => {
      now += ms;
    };
    const outageRetry = createOutageRetry(
      (_, ms) => void waits.push(ms),
      () => now,
      sleep,
    );
    const outlast = (failures: Iterable<ServiceError>) => {
      const left = failures[Symbol.iterator]();
      return outageRetry(async () => {
        const { value } = left.next();
        if (value) throw value;
        return 'an answer';
      }, never);
    };
    return { outlast, waits };
  }

  test.each(['network', 'unreadable', 'redirect', 'unexpected_status'] as const)(
    'before anything ever came is not waited for after %s: the address may be wrong',
    async (code) => {
      const { outlast, waits } = waiting();
      await expect(outlast([failed(code)])).rejects.toMatchObject({ code });
      await outlast([]);
      expect(await outlast([failed(code)])).toBe('an answer');
      expect(waits).toEqual([2_000]);
    },
  );

  test.each([
    'unauthenticated',
    'insufficient_scope',
    'permission_denied',
    'invalid_request',
    'account_unrecognized',
  ] as const)('that no wait cures is told at once: %s', async (code) => {
    const { outlast, waits } = waiting();
    await outlast([]);
    await expect(outlast([failed(code)])).rejects.toMatchObject({ code });
    expect(waits).toEqual([]);
  });

  test('is waited for as long as the service asks, and longer each time where it does not', async () => {
    const { outlast, waits } = waiting();
    await outlast([failed('server'), failed('rate_limited', 60_000), failed('circuit_open', 1_000)]);
    expect(waits).toEqual([2_000, 60_000, 8_000]);
  });

  test('is given up after half an hour', async () => {
    const { outlast, waits } = waiting();
    await expect(outlast(forever('server'))).rejects.toMatchObject({ code: 'server' });
    expect(waits.slice(0, 7)).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 120_000]);
    const together = waits.reduce((a, b) => a + b);
    expect([together > 1_600_000, together <= 1_800_000]).toEqual([true, true]);
  });
});
