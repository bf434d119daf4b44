import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { queueSettings } from '../../config/queues.ts';
import { ServiceError } from '../../src/api-client/client.ts';
import { claimTargets, failTarget } from '../../src/inbox/claims.ts';
import { type SweepDeps, startSweep } from '../../src/inbox/sweep.ts';
import { type DirtyTarget, markDirty, priorities, type Target } from '../../src/inbox/targets.ts';
import { createLog } from '../../src/shared/log.ts';
import { decideRetry } from '../../src/sync/retry-policy.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db, query } = database;
beforeEach(() => query('truncate ops.sync_targets, ops.parked_kinds'));

const { reads } = queueSettings.calls;

/** A sweep whose reads are written down, and end at once or when `ending` does. */
function openSweep({ ending = Promise.resolve(), ...more }: Partial<SweepDeps> & { ending?: Promise<unknown> } = {}) {
  const read: string[] = [];
  const reading = ({ kind, key }: Target) => {
    read.push(`${kind} ${key}`);
    return ending;
  };
  const loop = startSweep({ db, log: createLog('silent'), read: reading, ...more });
  onTestFinished(() => loop.close(0));
  /** Sweeps once; resolves to how many reads it began. */
  const once = async () => {
    const before = read.length;
    await loop.kick();
    return read.length - before;
  };
  return { once, read, loop };
}

const mark = (...targets: readonly DirtyTarget[]) => markDirty(db, targets);
const call = (number: number) => ({ kind: 'call', key: `1700000001.${number}` }) as const;
const thread = { kind: 'thread', key: '15550000001/15550000002' } as const;
const history = [1, 2, 3, 4, 5, 6].map((number) => ({ ...call(number), priority: priorities.history }));
/** As if so many seconds had gone by. */
const pass = (seconds: number) =>
  query(
    `update ops.sync_targets set enqueued_at = enqueued_at - $1 * interval '1 second', due_at = due_at - $1 * interval '1 second'`,
    seconds,
  );
async function fail(target: Target, how: { afterMs?: number; isMiss?: boolean } = {}): Promise<void> {
  const [claim] = await claimTargets(db, [target]);
  if (!claim) throw new Error('nothing was pending');
  await failTarget(db, claim, { error: 'a pause', afterMs: 60_000, countsAsAttempt: true, ...how });
}

test('reads what no worker took for long, once, and nothing that was enqueued a moment ago', async () => {
  const { once, read } = openSweep();
  await mark(call(1));
  expect(await once()).toBe(0);
  await pass(6);
  expect([await once(), await once()]).toEqual([1, 0]);
  expect(read).toEqual(['call 1700000001.1']);
});

test('reads what happens now before history, and of both no more at a time than the queue may', async () => {
  const ending = Promise.withResolvers<void>();
  const { once, read } = openSweep({ ending: ending.promise });
  await mark(...Array.from({ length: 2 * reads }, (_, at) => ({ ...call(at), priority: priorities.history })));
  await mark(call(7));
  await pass(6);
  expect(await once()).toBe(reads);
  expect(read[0]).toBe('call 1700000001.7');
  expect(await once()).toBe(0);
  await mark(thread);
  await pass(6);
  expect(await once(), 'another queue').toBe(1);
  ending.resolve();
  await expect.poll(() => new Set(read).size).toBe(2 * reads + 1);
});

test('history gives way while the service does not take what happens now', async () => {
  const { once, read } = openSweep();
  await mark(...history, thread);
  const again = () => query(`update ops.sync_targets set due_at = now() where kind = 'thread'`);
  await fail(thread);
  await pass(6);
  expect(await once()).toBe(1);
  await again();
  await fail(thread, { isMiss: true });
  expect(await once(), 'not found is no pause').toBe(5);
  await query(`update ops.sync_targets set enqueued_at = '-infinity', misses = 0 where kind = 'call'`);
  await again();
  await fail(thread);
  expect(await once(), 'nor is what always fails').toBe(6);
  expect(read.every((each) => each.startsWith('call'))).toBe(true);
});

test('history goes on while events outrun what they tell of', async () => {
  const { once } = openSweep();
  await mark(...history, call(7));
  const [claim] = await claimTargets(db, [call(7)]);
  if (!claim) throw new Error('nothing was pending');
  const missing = { operation: 'calls.get', effect: 'none', status: 404 } as const;
  const outcome = decideRetry(new ServiceError('not_found', 'no such call', missing), claim, () => 0.5);
  if (outcome.kind !== 'retry') throw new Error(`a first miss is to ${outcome.kind}`);
  await failTarget(db, claim, { error: 'no such call', ...outcome });
  expect(await once()).toBe(6);
});

test('repeats a failed read when its back-off is over', async () => {
  const { once } = openSweep();
  await mark(call(1));
  await fail(call(1));
  expect(await once()).toBe(0);
  await query('update ops.sync_targets set due_at = now()');
  expect(await once()).toBe(1);
});

test('reads what has been due longest first, and only kinds of its own queues', async () => {
  const { once, read } = openSweep({ queues: ['calls'] });
  for (const number of [1, 2, 3]) await mark(call(number));
  await mark({ kind: 'users', key: 'all' });
  await pass(10);
  await once();
  expect(read).toEqual([1, 2, 3].map((number) => `call 1700000001.${number}`));
});

test('the reads in hand are aborted at the deadline, and waited for', async () => {
  await mark(call(1));
  await pass(6);
  const aborted = Promise.withResolvers<void>();
  let isAborted = false;
  const read: SweepDeps['read'] = (_target, signal) => {
    signal.addEventListener('abort', () => {
      isAborted = true;
      aborted.resolve();
    });
    return aborted.promise;
  };
  const { loop } = openSweep({ read });
  await loop.kick();
  const closed = loop.close(1_300);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(isAborted).toBe(false);
  await closed;
  expect(isAborted).toBe(true);
});
