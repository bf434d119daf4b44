import { afterAll, beforeEach, expect, test } from 'vitest';
import { claimDue } from '../../src/inbox/claims.ts';
import { createDueFloor } from '../../src/inbox/due-floor.ts';
import { priorities } from '../../src/inbox/targets.ts';
import { databaseForTest } from '../stores/databases.ts';
import { migrated, openDatabase } from '../world/database.ts';

const url = await databaseForTest(migrated);
const database = openDatabase(url);
const { db, query, value } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => query('truncate ops.sync_targets, ops.streams'));

const pending = (key: string, due: string, more = '') =>
  query(
    `insert into ops.sync_targets (kind, key, due_at${more && `, ${more.split(' ')[0]}`}) values ('call', $1, ${due}${more && `, ${more.split(' ')[1]}`})`,
    key,
  );
const keys = async (floor = createDueFloor(db)) => (await claimDue(db, ['call'], 10, floor)).map(({ key }) => key);

test('is the oldest pending target of its rank, whatever waits before it in a parked kind', async () => {
  await pending('old', `now() - interval '2 hours'`);
  await pending('history', `now() - interval '1 hour'`, 'priority 1');
  await query(`insert into ops.sync_targets (kind, key, due_at) values ('users', 'all', now() - interval '1 day')`);
  await query(`insert into ops.streams (kind, parked_until, reason) values ('users', now() + interval '1 day', '')`);
  const floor = createDueFloor(db);
  expect(floor.of(priorities.live)).toBe('-infinity');
  await floor.raise();
  for (const [rank, key] of [
    [priorities.live, 'old'],
    [priorities.history, 'history'],
  ] as const) {
    expect(
      await value(
        `select due_at >= $1 and due_at < $1::timestamptz + interval '2 ms' from ops.sync_targets where key = $2`,
        floor.of(rank),
        key,
      ),
    ).toBe(true);
  }
  expect(await keys(floor)).toEqual(['old']);
});

test('leaves room for transactions that are not committed yet', async () => {
  const floor = createDueFloor(db);
  await floor.raise();
  await pending('late', `now() - interval '1.5 seconds'`);
  expect(await keys(floor)).toEqual(['late']);
});

test('what became due below it is found by the next scan from the start', async () => {
  const floor = createDueFloor(db);
  await floor.raise();
  await pending('exception', `now() - interval '1 hour'`);
  await floor.raise();
  expect(await keys(floor)).toEqual([]);
  await expect
    .poll(
      async () => {
        await floor.raise();
        return keys(floor);
      },
      { interval: 500 },
    )
    .toEqual(['exception']);
});
