import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Service, ServiceError } from '../../../src/api-client/client.ts';
import { scheduleHours, unproveHours } from '../../../src/completeness/coverage/coverage.ts';
import { daysOfCoverage } from '../../../src/completeness/coverage/days.ts';
import { createReconciler } from '../../../src/completeness/coverage/reconcile.ts';
import { query, retryDeadlock } from '../../../src/db/database.ts';
import { createLog } from '../../../src/shared/log.ts';
import { markCallsGone } from '../../../src/warehouse/calls.ts';
import { createWorld, until } from '../../world.ts';

const hourMs = 3_600_000;

describe('comparing hours of calls', async () => {
  const world = await createWorld({ backend: 'redis' });
  const { context, sandbox } = world;
  afterAll(() => world.close());
  beforeEach(async () => {
    await world.settled();
    sandbox.faults();
    await sandbox.reset();
    // The workers' own housekeeping runs beside it.
    await retryDeadlock(() =>
      world.query('truncate ops.coverage, ops.sync_targets, warehouse.calls, warehouse.call_legs'),
    );
  });

  const service = context.service as Service;
  /** A reconciler whose searches are made by other means. */
  const reconcilerBy = (search: Service['calls']['search']) =>
    createReconciler({
      service: { ...service, calls: { ...service.calls, search } },
      db: context.database.db,
      log: createLog('silent'),
      pauses: context.pauses,
      notify: context.notifier.notify,
    });
  const reconciler = reconcilerBy(service.calls.search);
  /** A time in an hour that is over. */
  const hoursAgo = (hours: number) => new Date(Math.floor(Date.now() / hourMs) * hourMs - hours * hourMs + 600_000);
  const unannounced = (hours: number) =>
    sandbox.emit.call({ startTime: hoursAgo(hours).toISOString(), durationSeconds: 60, announce: false });
  const held = () => world.value('select count(*)::integer from warehouse.calls where deleted_at is null');

  test('calls that no webhook announced are held after a round, with their legs', async () => {
    const { id } = await unannounced(2);
    await unannounced(5);
    const round = await reconciler.round();
    expect(round).toMatchObject({ failed: 0 });
    expect(round.compared).toBeGreaterThanOrEqual(23);
    expect(await held()).toBe(2);
    await world.settled();
    expect(await world.value('select leg_count > 0 from warehouse.calls where call_id = $1', id)).toBe(true);
    const comparisons = () => world.query('select from_at, checked_at from ops.coverage where checked_at is not null');
    const before = await comparisons();
    expect(await reconciler.round()).toMatchObject({ failed: 0, changed: 0 });
    // An hour that became due meanwhile, two minutes after its end, may be compared beside them.
    expect(await comparisons()).toEqual(expect.arrayContaining(before));
  });

  test('an hour that is compared again writes no call that did not change', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await unannounced(3)).id));
    await reconciler.round();
    await world.settled();
    const versions = () => world.query('select call_id, xmin::text as version from warehouse.calls order by call_id');
    const before = await versions();
    expect(before).toHaveLength(ids.length);
    await world.query(`update ops.coverage set due_at = now(), checked_at = null where reported_count > 0`);
    expect(await reconciler.round()).toMatchObject({ failed: 0, changed: 0 });
    expect(
      await world.query(
        'select state, held_count from ops.coverage where reported_count > 0 and checked_at is not null',
      ),
    ).toEqual([{ state: 'proven', held_count: ids.length }]);
    expect(await versions()).toEqual(before);
  });

  test('the first round finds the calls of the hour that is not over, too', async () => {
    const begun = new Date((Math.floor(Date.now() / hourMs) * hourMs + Date.now()) / 2);
    await sandbox.emit.call({ startTime: begun.toISOString(), durationSeconds: 0, announce: false });
    await reconciler.round();
    await until(async () => (await held()) === 1);
  });

  test('an hour in which webhooks were expected counts what they did not announce', async () => {
    await reconciler.round();
    await world.query(
      `update ops.coverage set is_watched = true, due_at = now() where from_at = date_trunc('hour', now(), 'UTC') - interval '3 hours'`,
    );
    await unannounced(3);
    const announced = await unannounced(3);
    await world.deliver('AccountEndedCalls', { callId: announced.id });
    await world.settled();
    await reconciler.round();
    const [row] = await world.query(
      `select state, reported_count, held_count, unannounced_count from ops.coverage where is_watched and reported_count > 0`,
    );
    expect(row).toEqual({ state: 'proven', reported_count: 2, held_count: 2, unannounced_count: 1 });
    expect(await world.value('select count(*)::integer from warehouse.calls where call_id = $1', announced.id)).toBe(1);
  });

  test('what is held and no longer listed is read, and gone only on proof', async () => {
    const { id } = await unannounced(4);
    await reconciler.round();
    await world.settled();
    const begin = Math.floor(Number(id.split('.')[0]) / 3_600) * 3_600;
    await world.query(
      `insert into warehouse.calls (call_id, started_at, content_hash, source, fetch_seq, fetched_at)
       values ($1, to_timestamp($2), '', 'test', 1, now())`,
      `${begin + 5}.77`,
      begin + 5,
    );
    await scheduleHours(context.database.db, { from: begin, to: begin + 3_600 });
    await reconciler.round();
    const [row] = await world.query(
      'select state, reported_count, held_count, last_error from ops.coverage where from_at = to_timestamp($1)',
      begin,
    );
    expect(row).toMatchObject({ state: 'differs', reported_count: 1, held_count: 2 });
    expect(row?.last_error).toContain('1 held calls are no longer listed');
    const [target] = await world.query(`select kind from ops.sync_targets where key = $1`, `${begin + 5}.77`);
    expect(target).toEqual({ kind: 'call' });
  });

  test('calls that were listed and then not found leave their hour in doubt, until both agree', async () => {
    const listed = [await unannounced(4), await unannounced(4)];
    await reconciler.round();
    await world.settled();
    const { db } = context.database;
    const hourOfIt = () =>
      world.query(
        `select state, held_count, due_at <= now() + interval '15 minutes' as is_soon from ops.coverage where reported_count > 0`,
      );
    await world.query('update ops.coverage set due_at = $1 where reported_count > 0', 'infinity');
    for (const { id } of listed) {
      await db.transaction().execute(async (tx) => {
        const [row] = await query<{ seq: string }>(tx, `select nextval('ops.fetch_seq') as seq`, []);
        const read = { fetchSeq: row?.seq ?? '', fetchedAt: new Date().toISOString(), source: 'calls.get' };
        await markCallsGone(tx, () => undefined, [{ callId: id, read }]);
        await unproveHours(tx, [id]);
      });
    }
    expect(await hourOfIt()).toEqual([{ state: 'differs', held_count: 0, is_soon: true }]);
    await world.query('update ops.coverage set due_at = now() where reported_count > 0');
    await reconciler.round();
    expect(await hourOfIt()).toMatchObject([{ state: 'proven', held_count: 2 }]);
    expect(await held()).toBe(2);
  });

  test('an hour that cannot be proven holds up no other', async () => {
    await reconciler.round();
    const [bad] = await world.query<{ begin: number }>(
      `update ops.coverage set due_at = now(), attempts = 0, state = 'waiting' where to_at <= now()
       returning extract(epoch from from_at)::integer as begin`,
    );
    const search: Service['calls']['search'] = async (filter, ...rest) => {
      const begin = bad?.begin ?? 0;
      if (filter.start !== undefined && Number(filter.start) <= begin && Number(filter.end) > begin) {
        throw new ServiceError('unreadable', 'a page that nobody can read', {
          operation: 'calls.search',
          effect: 'none',
        });
      }
      return service.calls.search(filter, ...rest);
    };
    const hampered = reconcilerBy(search);
    await hampered.round();
    await world.query(`update ops.coverage set due_at = now() where to_at <= now() and state <> 'proven'`);
    await hampered.round();
    expect(
      await world.query(
        `select extract(epoch from from_at)::integer as begin from ops.coverage where to_at <= now() and state <> 'proven'`,
      ),
    ).toEqual([{ begin: bad?.begin }]);
  });

  test('a search that breaks leaves no gap claimed', async () => {
    await world.query(
      `insert into ops.gaps (stream, from_at, to_at, reason)
       select 'calls', now() - interval '1 hour', now(), 'a test' from generate_series(1, 2)`,
    );
    const search = () => Promise.reject(new Error('the connection to Postgres was lost'));
    const broken = reconcilerBy(search);
    await expect(broken.round()).rejects.toThrow('the connection to Postgres was lost');
    const due = `select from ops.gaps where reason = 'a test' and next_try_at < now() + interval '2 minutes'`;
    expect(await world.query(due)).toHaveLength(2);
    await world.query('delete from ops.gaps');
  });

  test('a service that fails leaves the hours due, later each time', async () => {
    sandbox.faults({ kind: 'answer', status: 403 });
    const round = await reconciler.round();
    expect(round.compared).toBe(0);
    expect(round.failed).toBeGreaterThanOrEqual(23);
    const states = await world.query(
      `select distinct state, attempts, due_at > now() as is_later, last_error is not null as says_why
       from ops.coverage where to_at <= now() and checked_at is not null`,
    );
    expect(states).toEqual([{ state: 'failed', attempts: 1, is_later: true, says_why: true }]);
    sandbox.faults();
    await world.query('update ops.coverage set due_at = now()');
    expect((await reconciler.round()).failed).toBe(0);
  });

  test('a downtime is planned at the next start', async () => {
    await reconciler.round();
    const planned = `select count(*)::integer from ops.coverage where to_at <= now() and is_watched`;
    await world.query(
      `update ops.coverage set is_watched = true where from_at = date_trunc('hour', now(), 'UTC') - interval '6 hours'`,
    );
    await world.query(`delete from ops.coverage where from_at > date_trunc('hour', now(), 'UTC') - interval '6 hours'`);
    await unannounced(2);
    await reconciler.round();
    expect(await world.value(planned)).toBe(6);
    expect(await held()).toBe(1);
  });

  test('each day is complete, or says why not', async () => {
    await unannounced(1);
    await reconciler.round();
    // An hour that is just over is not compared before calls of it can have been listed.
    await world.query(`update ops.coverage set due_at = now() where state = 'waiting' and to_at <= now()`);
    await reconciler.round();
    const today = new Date();
    const before = new Date(today.getTime() - 3 * 24 * hourMs);
    const days = await daysOfCoverage(context.database.db, before, today);
    expect(days).toHaveLength(4);
    expect(days[0]).toMatchObject({ hours: 24, provenHours: 0, isComplete: false, reported: undefined });
    expect(days[3]).toMatchObject({ isComplete: true });
    await world.query(
      `update ops.coverage set state = 'differs', last_error = 'because' where from_at = date_trunc('hour', now(), 'UTC') - interval '1 hour'`,
    );
    const [yesterday, last] = (await daysOfCoverage(context.database.db, before, today)).slice(-2);
    expect([yesterday, last].some((day) => day?.difference === 'because' && !day.isComplete)).toBe(true);
  });
});
