import { afterAll, expect, test } from 'vitest';
import { deleteOldRuns } from '../../src/rules/runs.ts';
import { migratedDatabase } from '../world/database.ts';

const { db, query, value, ...database } = await migratedDatabase();
afterAll(() => database[Symbol.asyncDispose]());

async function runs(rule: string, days: number, isMatched: boolean, count = 1): Promise<void> {
  await query(
    `insert into ops.rule_runs (rule, version, trigger_kind, trigger_key, trigger_at, evaluated_at, mode, is_matched, reason)
     select $1, 'v', 'message_received', '1/' || n, now(), now() - $2 * interval '1 day', 'live', $3, 'a test'
     from generate_series(1, $4::integer) n`,
    rule,
    days,
    isMatched,
    count,
  );
}
const left = async () =>
  (await query<{ rule: string }>('select distinct rule from ops.rule_runs order by rule')).map(({ rule }) => rule);

test('runs that did not match are forgotten after the retention, those that did after four hundred days', async () => {
  await runs('fresh', 29, false);
  await runs('old', 46, false);
  await runs('old-match', 399, true);
  await runs('ancient-match', 401, true);
  expect(await deleteOldRuns(db, 45)).toBe(2);
  expect(await left()).toEqual(['fresh', 'old-match']);
});

test('thirty days are kept, however short the retention', async () => {
  await runs('month', 29.5, false);
  expect(await deleteOldRuns(db, 1)).toBe(0);
});

test('a match with an action that still waits is kept with it', async () => {
  await runs('waits', 500, true);
  await query(
    `insert into ops.rule_actions (run_id, ordinal, kind, state) select run_id, 1, 'reply', 'waiting' from ops.rule_runs where rule = 'waits'`,
  );
  expect(await deleteOldRuns(db, 30)).toBe(0);
  await query(`update ops.rule_actions set state = 'done'`);
  expect(await deleteOldRuns(db, 30)).toBe(1);
  expect(await value('select count(*)::int from ops.rule_actions')).toBe(0);
});

test('many go in bounded steps, and a process that ends stops between two', async () => {
  await runs('many', 60, false, 12_000);
  const stopped = AbortSignal.abort();
  expect(await deleteOldRuns(db, 30, stopped)).toBe(0);
  expect(await deleteOldRuns(db, 30)).toBe(12_000);
});
