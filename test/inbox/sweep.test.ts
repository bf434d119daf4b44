import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { queueSettings } from '../../config/queues.ts';
import { ServiceError } from '../../src/api-client/client.ts';
import { claimTargets, failTarget } from '../../src/inbox/claims.ts';
import { startSweep } from '../../src/inbox/sweep.ts';
import { type DirtyTarget, markDirty, priorities } from '../../src/inbox/targets.ts';
import { createLog } from '../../src/shared/log.ts';
import { decideRetry } from '../../src/sync/retry-policy.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.streams'));

const pauses = { activeMs: 0, refusedMs: 0 };
const pace = { everyMs: 3_600_000, lostAfterMs: 5_000 };
const { reads } = queueSettings.calls;

/** A sweep whose reads are written down, and end at once or when `ending` does. `once` resolves to how many it began. */
function openSweep(ending: Promise<unknown> = Promise.resolve()) {
  const read: string[] = [];
  const loop = startSweep(
    {
      db,
      log: createLog('silent'),
      read: ({ kind, key }) => {
        read.push(`${kind} ${key}`);
        return ending;
      },
    },
    pace,
  );
  onTestFinished(() => loop.close(0));
  const sweep = {
    async once() {
      const before = read.length;
      await loop.kick();
      return read.length - before;
    },
  };
  return { sweep, read };
}

const bump = (...bumps: DirtyTarget[]) => markDirty(db, bumps, pauses);
const call = (number: number) => ({ kind: 'call', key: `1700000001.${number}` }) as const;
/** As if so many seconds had gone by. */
const pass = (seconds: number) =>
  database.query(
    `update ops.sync_targets set enqueued_at = enqueued_at - $1 * interval '1 second', due_at = due_at - $1 * interval '1 second'`,
    seconds,
  );

test('reads nothing that was enqueued a moment ago', async () => {
  const { sweep } = openSweep();
  await bump(call(1));
  expect(await sweep.once()).toBe(0);
});

test('reads what happens now before history, and of both no more at a time than the queue may', async () => {
  const history = { priority: priorities.history } as const;
  const ending = Promise.withResolvers<void>();
  const { sweep, read } = openSweep(ending.promise);
  const many = Array.from({ length: 2 * reads }, (_, at) => call(at));
  await bump(...many.map((target) => ({ ...target, ...history })));
  await bump(call(7));
  await pass(6);
  expect(await sweep.once()).toBe(reads);
  expect(read[0]).toBe('call 1700000001.7');
  expect(await sweep.once()).toBe(0);
  await bump({ kind: 'thread', key: '15550000001/15550000002' });
  await pass(6);
  expect(await sweep.once(), 'another queue').toBe(1);
  ending.resolve();
  await expect.poll(() => new Set(read).size).toBe(2 * reads + 1);
});

test('history gives way while the service does not take what happens now', async () => {
  const history = [1, 2, 3, 4, 5, 6].map((number) => ({ ...call(number), priority: priorities.history }));
  const live = { kind: 'thread', key: '15550000001/15550000002' } as const;
  const { sweep, read } = openSweep();
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
  expect(read.every((each) => each.startsWith('call'))).toBe(true);
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
  const outcome = decideRetry(notFound, claim, () => 0.5);
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

test('reads what no worker took for long, once', async () => {
  const { sweep, read } = openSweep();
  await bump(call(1));
  await pass(6);
  expect(await sweep.once()).toBe(1);
  expect(read).toEqual(['call 1700000001.1']);
  expect(await sweep.once()).toBe(0);
});

test('repeats a failed read when its back-off is over', async () => {
  const { sweep } = openSweep();
  await bump(call(1));
  const [claim] = await claimTargets(db, [call(1)]);
  if (!claim) throw new Error('nothing was pending');
  await failTarget(db, claim, { error: 'failed', afterMs: 30_000, countsAsAttempt: true });
  expect(await sweep.once()).toBe(0);
  await database.query('update ops.sync_targets set due_at = now()');
  expect(await sweep.once()).toBe(1);
});

test('reads what has been due longest first, and only kinds of its own queues', async () => {
  for (let number = 1; number <= 3; number += 1) await bump(call(number));
  await bump({ kind: 'users', key: 'all' });
  await pass(10);
  const read: string[] = [];
  const loop = startSweep(
    { db, log: createLog('silent'), queues: ['calls'], read: async ({ key }) => read.push(key) },
    pace,
  );
  onTestFinished(() => loop.close(0));
  await loop.kick();
  expect(read).toEqual([1, 2, 3].map((number) => `1700000001.${number}`));
});

test('the reads in hand are aborted at the deadline, and waited for', async () => {
  await bump(call(1));
  await pass(6);
  let isAborted = false;
  const loop = startSweep(
    {
      db,
      log: createLog('silent'),
      read: (_target, signal) =>
        new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            isAborted = true;
            resolve();
          }),
        ),
    },
    pace,
  );
  await loop.kick();
  const closed = loop.close(1_300);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(isAborted).toBe(false);
  await closed;
  expect(isAborted).toBe(true);
});
