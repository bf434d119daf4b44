import { afterAll, beforeEach, expect, test } from 'vitest';
import { bumpTargets } from '../../src/inbox/bumps.ts';
import { claimTargets } from '../../src/inbox/claims.ts';
import { parkStream, resumeStreams } from '../../src/inbox/streams.ts';
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
  await bumpTargets(db, [recordings, call], { activeMs: 0, refusedMs: 0 });
  await parkStream(db, 'recordings', refusal);
  expect((await claimTargets(db, [recordings, call])).map(({ kind }) => kind)).toEqual(['call']);
});

test('refusals that arrive together count once', async () => {
  await Promise.all(Array.from({ length: 8 }, () => parkStream(db, 'recordings', refusal)));
  expect(await database.value('select times_parked from ops.streams')).toBe(1);
});

test('the wait doubles from try to try, up to a minute', async () => {
  const waits: number[] = [];
  for (let turn = 0; turn < 12; turn += 1) {
    await parkStream(db, 'recordings', refusal);
    waits.push(Math.round(await waitSeconds()));
    await endWait();
  }
  expect(waits.slice(0, 4)).toEqual([15, 30, 60, 60]);
  expect(waits.at(-1)).toBe(60);
});

test('a read after the wait is a probe, and a stream that reads again is gone', async () => {
  await bumpTargets(db, [recordings], { activeMs: 0, refusedMs: 0 });
  await parkStream(db, 'recordings', refusal);
  await endWait();
  expect(await claimTargets(db, [recordings])).toMatchObject([{ isProbe: true }]);
  await resumeStreams(db, ['recordings']);
  expect(await database.query('select kind from ops.streams')).toEqual([]);
});
