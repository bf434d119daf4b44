import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { planWindows } from '../../../src/completeness/attribution/windows.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();
const { query } = database;
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => query('truncate ops.coverage, ops.attribution_windows'));

const day = 86_400;
/** The first second of the day so many days ago, UTC. */
const daysAgo = (days: number) => (Math.floor(Date.now() / 1_000 / day) - days) * day;

describe('planned is', () => {
  const proven = (from: number, to: number, values = "'proven', 5, h + interval '2 hours'") =>
    query(
      `insert into ops.coverage (stream, from_at, to_at, is_watched, due_at, state, reported_count, proven_at)
       select 'calls', h, h + interval '1 hour', true, now(), ${values}
       from generate_series(to_timestamp($1), to_timestamp($2) - interval '1 second', '1 hour') h`,
      from,
      to,
    );
  const planned = () =>
    query(
      `select kind, extract(epoch from to_at - from_at)::integer / 3600 as hours, count(*)::integer as windows
       from ops.attribution_windows group by 1, 2 order by 1, 2`,
    );

  test('every hour since yesterday for groups, whole days for people and for what is older', async () => {
    await proven(daysAgo(40), daysAgo(38));
    await proven(daysAgo(2), daysAgo(0));
    await planWindows(database.db);
    await planWindows(database.db);
    expect(await planned()).toEqual([
      { kind: 'extension', hours: 24, windows: 2 },
      { kind: 'huntgroup', hours: 1, windows: 24 },
      { kind: 'huntgroup', hours: 24, windows: 3 },
      { kind: 'queue', hours: 1, windows: 24 },
      { kind: 'queue', hours: 24, windows: 3 },
      { kind: 'user', hours: 24, windows: 2 },
    ]);
  });

  test('nothing that is not proven, was proven too early, or has no calls', async () => {
    await proven(daysAgo(1), daysAgo(1) + 3_600, `'differs', 5, h + interval '2 hours'`);
    await proven(daysAgo(1) + 3_600, daysAgo(1) + 7_200, `'proven', 5, h + interval '62 minutes'`);
    await proven(daysAgo(1) + 7_200, daysAgo(1) + 10_800, `'proven', 0, h + interval '2 hours'`);
    // A day that lacks an hour.
    await proven(daysAgo(5), daysAgo(4) - 3_600);
    await planWindows(database.db);
    expect(await planned()).toEqual([]);
  });
});
