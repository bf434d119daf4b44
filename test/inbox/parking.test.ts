import { afterAll, beforeEach, expect, test } from 'vitest';
import { claimTargets } from '../../src/inbox/claims.ts';
import { parkStream, resumeStreams } from '../../src/inbox/parking.ts';
import { markDirty } from '../../src/inbox/targets.ts';
import { migratedDatabase } from '../world/database.ts';

const database = await migratedDatabase();
const { db } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => database.query('truncate ops.sync_targets, ops.streams'));

const recordings = { kind: 'recordings', key: '1700000001.1' } as const;
const call = { kind: 'call', key: '1700000001.1' } as const;
const refusal = { reason: 'refused', missingScope: 'recordings:read' };
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
  await parkStream(db, 'thread', { reason: 'unauthorized' });
  await parkStream(db, 'call', { reason: 'unauthorized' });
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
