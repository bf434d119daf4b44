import { afterAll, beforeEach, expect, test } from 'vitest';
import type { QueueName } from '../../config/queues.ts';
import { ServiceError } from '../../src/api-client/client.ts';
import { claimTargets, failTarget } from '../../src/inbox/claims.ts';
import { type SweepPace, sweepTargets } from '../../src/inbox/sweep.ts';
import { type DirtyTarget, type DueTarget, markDirty, priorities } from '../../src/inbox/targets.ts';
import { decideRetry } from '../../src/sync/retry-policy.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.streams'));

const pauses = { activeMs: 0, refusedMs: 0 };
const never: SweepPace = { everyMs: 3_600_000, lostAfterMs: 5_000, maxWaiting: 100, maxHistoryWaiting: 10 };

/** A sweep whose jobs are written down; `waiting` is what the queues say they hold. */
function openSweep(pace: Partial<SweepPace> = {}, waiting: Partial<Record<QueueName, number>> = {}) {
  const enqueued: string[] = [];
  const notifier = {
    notify: (due: readonly DueTarget[]) => void enqueued.push(...due.map(({ kind, key }) => `${kind} ${key}`)),
  };
  const deps = { db, notifier, queues: { waiting: async (queue: QueueName) => waiting[queue] ?? 0 } };
  return { sweep: { once: () => sweepTargets(deps, { ...never, ...pace }) }, enqueued };
}

const bump = (...bumps: DirtyTarget[]) => markDirty(db, bumps, pauses);
const call = (number: number) => ({ kind: 'call', key: `1700000001.${number}` }) as const;
/** As if so many seconds had gone by. */
const pass = (seconds: number) =>
  database.query(
    `update ops.sync_targets set enqueued_at = enqueued_at - $1 * interval '1 second', due_at = due_at - $1 * interval '1 second'`,
    seconds,
  );

test('enqueues nothing that was enqueued a moment ago', async () => {
  const { sweep } = openSweep();
  await bump(call(1));
  expect(await sweep.once()).toBe(0);
});

test('asks the queues for nothing while nothing is overdue', async () => {
  await bump(call(1));
  const asked: string[] = [];
  const queues = { waiting: async (queue: QueueName) => asked.push(queue) };
  const once = () => sweepTargets({ db, notifier: { notify: () => undefined }, queues }, never);
  await once();
  expect(asked).toEqual([]);
  await pass(6);
  await once();
  expect(asked).toContain('calls');
});

test('enqueues history behind what happens now, and only while little waits', async () => {
  const history = { priority: priorities.history } as const;
  await bump({ ...call(1), ...history }, { ...call(2), ...history }, { ...call(3), ...history });
  const busy = openSweep({ maxHistoryWaiting: 2 }, { calls: 2 });
  expect(await busy.sweep.once()).toBe(0);
  const { sweep, enqueued } = openSweep({ maxHistoryWaiting: 2 });
  await bump(call(3));
  await pass(6);
  expect(await sweep.once()).toBe(3);
  expect(enqueued).toEqual(['call 1700000001.3', 'call 1700000001.1', 'call 1700000001.2']);
});

test('history gives way while the service does not take what happens now', async () => {
  const history = [1, 2, 3, 4, 5, 6].map((number) => ({ ...call(number), priority: priorities.history }));
  const live = { kind: 'thread', key: '15550000001/15550000002' } as const;
  const { sweep, enqueued } = openSweep();
  await bump(...history, live);
  const fail = async (how: { afterMs?: number; isMiss?: boolean } = {}) => {
    const [claim] = await claimTargets(db, [live]);
    if (claim) await failTarget(db, claim, { error: 'a pause', afterMs: 60_000, countsAsAttempt: true, ...how });
  };
  const again = () => database.query(`update ops.sync_targets set due_at = now() where kind = 'thread'`);
  await fail();
  await pass(6);
  expect(await sweep.once()).toBe(1);

  await again();
  await fail({ isMiss: true });
  expect(await sweep.once(), 'not found is no pause').toBe(5);
  await database.query(`update ops.sync_targets set enqueued_at = '-infinity', misses = 0 where kind = 'call'`);
  await again();
  await fail();
  expect(await sweep.once(), 'nor is what always fails').toBe(6);
  expect(enqueued.every((each) => each.startsWith('call'))).toBe(true);
});

test('history goes on while events outrun what they tell of', async () => {
  const history = [1, 2, 3, 4, 5, 6].map((number) => ({ ...call(number), priority: priorities.history }));
  const live = { kind: 'call', key: call(7).key } as const;
  const { sweep } = openSweep();
  await bump(...history, live);
  const [claim] = await claimTargets(db, [live]);
  if (!claim) throw new Error('nothing was pending');
  const notFound = new ServiceError('not_found', 'no such call', {
    operation: 'calls.get',
    effect: 'none',
    status: 404,
  });
  const outcome = decideRetry(notFound, claim, Math.random);
  if (outcome.kind !== 'retry') throw new Error(`a first miss is to ${outcome.kind}`);
  await failTarget(db, claim, { error: notFound.message, ...outcome });
  expect(await sweep.once()).toBe(6);
});

test('a hint makes history urgent, and history makes nothing less urgent', async () => {
  await bump({ ...call(1), priority: priorities.history });
  expect(await bump(call(1))).toMatchObject([{ key: call(1).key }]);
  await bump({ ...call(1), priority: priorities.history });
  const [claim] = await claimTargets(db, [call(1)]);
  expect(claim?.priority).toBe(priorities.live);
});

test('enqueues again what was not answered for long', async () => {
  const { sweep, enqueued } = openSweep();
  await bump(call(1));
  await pass(6);
  expect(await sweep.once()).toBe(1);
  expect(enqueued).toEqual(['call 1700000001.1']);
  expect(await sweep.once()).toBe(0);
});

test('enqueues nothing that is being read, however long that takes', async () => {
  const { sweep } = openSweep();
  await bump(call(1));
  await claimTargets(db, [call(1)]);
  await pass(60);
  expect(await sweep.once()).toBe(0);
  await database.query('update ops.sync_targets set claimed_until = now()');
  expect(await sweep.once()).toBe(1);
});

test('enqueues what has become due, and not before', async () => {
  const { sweep } = openSweep();
  await bump({ ...call(1), afterSeconds: 60 });
  expect(await sweep.once()).toBe(0);
  await pass(61);
  expect(await sweep.once()).toBe(1);
});

test('enqueues a failed read when its back-off is over', async () => {
  const { sweep } = openSweep();
  await bump(call(1));
  const [claim] = await claimTargets(db, [call(1)]);
  if (!claim) throw new Error('nothing was pending');
  await failTarget(db, claim, { error: 'failed', afterMs: 30_000, countsAsAttempt: true });
  expect(await sweep.once()).toBe(0);
  await database.query('update ops.sync_targets set due_at = now()');
  expect(await sweep.once()).toBe(1);
});

test('tops a queue up to its limit only, oldest due first', async () => {
  const { sweep, enqueued } = openSweep({ maxWaiting: 10 }, { calls: 7 });
  for (let number = 1; number <= 6; number += 1) await bump(call(number));
  await pass(10);
  expect(await sweep.once()).toBe(3);
  expect(enqueued.sort()).toEqual([1, 2, 3].map((number) => `call 1700000001.${number}`));
});

test('enqueues nothing into a queue that is full, and goes on with the others', async () => {
  const { sweep, enqueued } = openSweep({ maxWaiting: 10 }, { calls: 10 });
  await bump(call(1), { kind: 'thread', key: '15550000001/15550000002' });
  await pass(10);
  await sweep.once();
  expect(enqueued).toEqual(['thread 15550000001/15550000002']);
});

test('leaves out a parked stream until its time is over', async () => {
  const { sweep } = openSweep();
  await database.query(
    `insert into ops.streams (kind, parked_until, reason) values ('call', now() + interval '1 min', 'x')`,
  );
  await bump(call(1));
  await pass(10);
  expect(await sweep.once()).toBe(0);
  await database.query('update ops.streams set parked_until = now()');
  expect(await sweep.once()).toBe(1);
});

test('two sweeps at once enqueue each target once', async () => {
  const [one, two] = [openSweep(), openSweep()];
  await bump(...Array.from({ length: 60 }, (_, at) => call(at)));
  await pass(10);
  await Promise.all([one.sweep.once(), two.sweep.once()]);
  expect([...one.enqueued, ...two.enqueued]).toHaveLength(60);
});
