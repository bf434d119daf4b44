import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Service, ServiceError } from '../../../src/api-client/client.ts';
import { backfillCalls } from '../../../src/completeness/coverage/backfill.ts';
import { retryDeadlock } from '../../../src/db/database.ts';
import { createWorld } from '../../world.ts';

const day = 86_400;

describe('filling in the history of calls', async () => {
  const world = await createWorld({ backend: 'postgres', sandbox: { calls: 200, threads: 0 } });
  const { context } = world;
  afterAll(() => world.close());
  beforeEach(async () => {
    await world.settled();
    // The workers' own housekeeping runs beside it.
    await retryDeadlock(() =>
      world.query('truncate ops.coverage, ops.backfills, ops.sync_targets, warehouse.calls, warehouse.call_legs'),
    );
  });

  const parts = {
    service: context.service as Service,
    db: context.database.db,
    pauses: context.pauses,
  };
  const now = Math.floor(Date.now() / 1_000);
  const range = { from: now - 20 * day, to: now };
  const never = new AbortController().signal;
  const fill = (how: { withArtefacts?: boolean; signal?: AbortSignal; onProgress?: () => void } = {}) =>
    backfillCalls(
      parts,
      { range, withArtefacts: how.withArtefacts ?? false },
      how.onProgress ?? (() => undefined),
      how.signal ?? never,
    );
  const held = () => world.value('select count(*)::integer from warehouse.calls where deleted_at is null');

  test('all of the history is held and proven, and nothing else is read', async () => {
    const outcome = await fill();
    expect(outcome).toMatchObject({ share: 1, isFinished: true, unproven: [], resumedFrom: undefined });
    expect(await held()).toBe(200);
    const [coverage] = await world.query(
      `select count(*)::integer as hours, sum(reported_count)::integer as reported, sum(held_count)::integer as held,
         count(*) filter (where state <> 'proven')::integer as open from ops.coverage`,
    );
    expect(coverage).toEqual({ hours: 20 * 24, reported: 200, held: 200, open: 0 });
    expect(await world.value('select count(*)::integer from ops.sync_targets')).toBe(0);
  });

  test('a run that is cut off goes on at its last range, and doubles nothing', async () => {
    const stopping = new AbortController();
    const cut = await fill({ signal: stopping.signal, onProgress: () => stopping.abort() });
    expect(cut).toMatchObject({ isFinished: false });
    expect(await held()).toBeLessThan(200);
    const again = await fill();
    expect(again).toMatchObject({ isFinished: true, resumedFrom: cut.doneUntil });
    expect(await held()).toBe(200);
    expect(await world.value('select count(*)::integer from ops.backfills')).toBe(1);
  });

  test('a run that is asked for again in a later hour is the same run', async () => {
    const stopping = new AbortController();
    const earlier = { from: range.from, to: range.to - 2 * 3_600 };
    const ask = (part: typeof range, signal: AbortSignal, onProgress = () => {}) =>
      backfillCalls(parts, { range: part, withArtefacts: false }, onProgress, signal);
    const cut = await ask(earlier, stopping.signal, () => stopping.abort());
    expect(await ask(range, never)).toMatchObject({ isFinished: true, share: 1, resumedFrom: cut.doneUntil });
    expect(await held()).toBe(200);
    expect(await world.query('select finished_at is not null as is_finished from ops.backfills')).toEqual([
      { is_finished: true },
    ]);
  });

  test('a throttle that is longer than a retry lasts is waited out', async () => {
    const waits: string[] = [];
    const outcome = await backfillCalls(
      { ...parts, service: throttled(3), onWait: (error, ms) => void waits.push(`${error.code} ${ms}`) },
      { range, withArtefacts: false },
      () => undefined,
      never,
    );
    expect(outcome).toMatchObject({ isFinished: true, unproven: [] });
    expect(await held()).toBe(200);
    expect(waits).toEqual(['rate_limited 7000']);
  });

  test('the wait for a throttle ends when it is told to stop', async () => {
    const stopping = new AbortController();
    const run = backfillCalls(
      { ...parts, service: throttled(1), onWait: () => stopping.abort() },
      { range, withArtefacts: false },
      () => undefined,
      stopping.signal,
    );
    expect(await run).toMatchObject({ isFinished: false });
  });

  /** The service, whose search asks for a pause of seven seconds once. */
  function throttled(at: number): Service {
    let asked = 0;
    const search: Service['calls']['search'] = (...given) => {
      asked += 1;
      if (asked !== at) return parts.service.calls.search(...given);
      const details = { operation: 'calls.search', effect: 'none', retryAfterMs: 7_000 } as const;
      return Promise.reject(new ServiceError('rate_limited', 'the service asks for a pause (429)', details));
    };
    return { ...parts.service, calls: { ...parts.service.calls, search } };
  }

  test('artefacts follow for calls that were filled in without', async () => {
    await fill();
    await fill({ withArtefacts: true });
    const pending = () =>
      world.value(`select count(*)::integer from ops.sync_targets where kind = 'call' and priority = 1`);
    expect(await pending()).toBe(200);
    await world.settled();
    await world.query(`delete from ops.sync_targets where kind = 'call'`);
    await fill({ withArtefacts: true });
    expect(await pending(), 'what was read is not read again').toBe(0);
  });

  test('artefacts follow behind live work', async () => {
    await fill({ withArtefacts: true });
    expect(
      await world.value(`select count(*)::integer from ops.sync_targets where kind = 'call' and priority = 1`),
    ).toBe(200);
    const { id } = await world.sandbox.emit.call({ status: 'missed' });
    await world.settled();
    expect(await world.value('select leg_count > 0 from warehouse.calls where call_id = $1', id)).toBe(true);
    expect(await world.value(`select count(*)::integer from warehouse.calls where leg_count is null`)).toBe(0);
    expect(await world.value('select count(*) > 30 from warehouse.transcripts')).toBe(true);
  });
});
