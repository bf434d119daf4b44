import { expect, test } from 'vitest';
import { recordHours } from '../../../src/completeness/coverage/coverage.ts';
import { migratedDatabase } from '../../world/database.ts';

const database = await migratedDatabase();

const hour = 1_790_000_000 - (1_790_000_000 % 3_600);

/** Records a comparison of the hour, and answers with the minutes until the next one. */
async function compared(problem: string | undefined): Promise<number> {
  const calls = new Map<string, number>();
  await database.db.transaction().execute((tx) => recordHours(tx, { hours: [hour], calls, problem }));
  return Math.round(
    (await database.value(
      'select (extract(epoch from due_at - checked_at) / 60)::float8 from ops.coverage where from_at = to_timestamp($1)',
      hour,
    )) as number,
  );
}

test('an hour that differs in the same way is compared after a minute, then two, … up to a day; a new problem within the hour', async () => {
  const same: number[] = [];
  for (let at = 0; at < 13; at += 1) same.push(await compared('the service counts 41 calls and lists 40'));
  expect(same).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440]);
  expect(await compared('the service counts 41 calls and lists 39')).toBe(60);
});
