import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { claimTargets, finishTargets } from '../../src/inbox/claims.ts';
import { parkStream, resumeStreams, retryForbidden } from '../../src/inbox/parking.ts';
import { markDirty, priorities } from '../../src/inbox/targets.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.streams'));

const recordings = { kind: 'recordings', key: '1700000001.1' } as const;
const call = { kind: 'call', key: '1700000001.1' } as const;
const refusal = { code: 'insufficient_scope', reason: 'refused', missingScope: 'recordings:read' };
const endWait = () => database.query('update ops.streams set parked_until = now()');

async function waitSeconds(): Promise<number> {
  return Number(await database.value('select extract(epoch from parked_until - now()) from ops.streams'));
}

test('a parked stream gives no claims, and others do', async () => {
  await markDirty(db, [recordings, call], { activeMs: 0, refusedMs: 0 });
  await parkStream(db, 'recordings', refusal);
  expect((await claimTargets(db, [recordings, call])).map(({ kind }) => kind)).toEqual(['call']);
});

test('one request a kind tries again every 15 seconds, so that reading soon resumes', async () => {
  const waits: number[] = [];
  for (let turn = 0; turn < 12; turn += 1) {
    await parkStream(db, 'recordings', refusal);
    waits.push(Math.round(await waitSeconds()));
    await endWait();
  }
  expect(new Set(waits)).toEqual(new Set([15]));
});

test('once one stream reads again, those that the same credential parked try at once', async () => {
  await parkStream(db, 'thread', { code: 'unauthenticated', reason: 'unauthorized' });
  await parkStream(db, 'call', { code: 'unauthenticated', reason: 'unauthorized' });
  await parkStream(db, 'recordings', refusal);
  await resumeStreams(db, ['thread']);
  expect(await database.query('select kind, parked_until <= now() as tries from ops.streams order by kind')).toEqual([
    { kind: 'call', tries: true },
    { kind: 'recordings', tries: false },
  ]);
});

test('a read after the wait is a probe, and a stream that reads again is gone', async () => {
  await markDirty(db, [recordings], { activeMs: 0, refusedMs: 0 });
  await parkStream(db, 'recordings', refusal);
  await endWait();
  expect(await claimTargets(db, [recordings])).toMatchObject([{ isProbe: true }]);
  await resumeStreams(db, ['recordings']);
  expect(await database.query('select kind from ops.streams')).toEqual([]);
});

describe('what was forbidden, when somebody else has logged in', () => {
  const pauses = { activeMs: 0, refusedMs: 60_000 };
  const daySeconds = 86_400;

  async function settled(key: string, state: 'active' | 'forbidden', priority: 0 | 1 = priorities.live): Promise<void> {
    const target = { kind: 'call', key } as const;
    await markDirty(db, [{ ...target, priority }], pauses);
    const claims = await claimTargets(db, [target]);
    const outcome = { state, error: state === 'active' ? undefined : 'not yours', recheckSeconds: daySeconds };
    await database.db.transaction().execute((tx) =>
      finishTargets(
        tx,
        claims.map((claim) => ({ ...claim, ...outcome })),
        [],
        pauses,
      ),
    );
  }

  const dueIn = async () =>
    Object.fromEntries(
      (
        await database.query<{ key: string; seconds: number }>(
          `select key, round(extract(epoch from due_at - now()))::integer as seconds from ops.sync_targets
           where dirty_version > clean_version and enqueued_at < due_at`,
        )
      ).map(({ key, seconds }) => [key, seconds]),
    );

  test('is due after the given time, and nothing else is', async () => {
    await settled('1700000001.1', 'forbidden');
    await settled('1700000002.1', 'active');
    expect(await dueIn()).toEqual({ '1700000001.1': daySeconds, '1700000002.1': daySeconds });
    expect(await retryForbidden(db, 15)).toBe(1);
    expect(await dueIn()).toEqual({ '1700000001.1': 15, '1700000002.1': daySeconds });
    await retryForbidden(db, 0);
    expect(await claimTargets(db, [{ kind: 'call', key: '1700000001.1' }])).toHaveLength(1);
  });

  test('is not due later than it was', async () => {
    await settled('1700000001.1', 'forbidden');
    await database.query("update ops.sync_targets set due_at = now() + interval '5 seconds'");
    await retryForbidden(db, 15);
    expect(await dueIn()).toEqual({ '1700000001.1': 5 });
  });

  test('is asked for again also when a read of it is under way with what was before', async () => {
    await settled('1700000001.1', 'forbidden');
    await database.query('update ops.sync_targets set due_at = now()');
    const claims = await claimTargets(db, [{ kind: 'call', key: '1700000001.1' }]);
    await retryForbidden(db, 15);
    const refusal = { state: 'forbidden', error: 'not yours', recheckSeconds: daySeconds } as const;
    await database.db.transaction().execute((tx) =>
      finishTargets(
        tx,
        claims.map((claim) => ({ ...claim, ...refusal })),
        [],
        pauses,
      ),
    );
    expect((await dueIn())['1700000001.1']).toBeLessThan(61);
  });

  test('comes back over some minutes when it is much, what is live first', async () => {
    await database.query(
      `insert into ops.sync_targets (kind, key, dirty_version, clean_version, due_at, read_at, priority, state, last_error)
       select 'call', '17000' || lpad(n::text, 5, '0') || '.1', 2, 1, now() + interval '1 day', now(), n % 2, 'forbidden', 'no'
       from generate_series(1, 20000) n`,
    );
    await retryForbidden(db, 0);
    const [spread] = await database.query<Record<string, number>>(
      `select count(*) filter (where due_at <= now() + interval '10 seconds')::integer as soon,
         count(*) filter (where priority = 0 and due_at > now() + interval '2 minutes')::integer as late_live,
         max(extract(epoch from due_at - now()))::integer as last from ops.sync_targets`,
    );
    expect(spread?.soon).toBeLessThan(1_500);
    expect(spread?.late_live).toBe(0);
    expect(spread?.last).toBeGreaterThan(150);
    expect(spread?.last).toBeLessThan(600);
  });
});
