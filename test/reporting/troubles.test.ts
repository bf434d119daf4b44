import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { NotRolledUp } from '../../src/reporting/rollups/set-aside.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const texted = () =>
  query(
    `select local_date::text as day, sum(outbound_count)::integer as count from reporting.sms_daily group by 1 order by 1`,
  );
const due = () => query(`update ops.rollup_troubles set retry_at = now()`);

beforeAll(async () => {
  await call({ call_id: '1700000001.1', started_at: '2026-03-02T10:00:00Z' });
  // Two counts that are integers each, and together none.
  const endless = { body: null, body_segment_count: 2_000_000_000, sent_by: 1 };
  await facts.thread(1, [
    ['2026-03-02T11:00:00Z', 'in'],
    ['2026-03-02T11:01:00Z', 'out', endless],
    ['2026-03-02T11:02:00Z', 'out', endless],
  ]);
  await facts.thread(2, [['2026-03-03T11:00:00Z', 'out', { sent_by: 1 }]]);
});

test('a fact that makes a total impossible holds up no other, and is told of', async () => {
  const failure = await facts.drain().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NotRolledUp);
  expect(String(failure)).toMatch(/texts from 2026-03-02 00:00 UTC \(.*out of range/);
  expect(await texted()).toEqual([{ day: '2026-03-03', count: 1 }]);
  expect(await query('select local_date::text as day, call_count as calls from reporting.call_hourly')).toEqual([
    { day: '2026-03-02', calls: 1 },
  ]);
  expect(await value('select count(*)::integer from reporting.fct_sms_turn')).toBe(1);
  expect(await value('select count(*)::integer from ops.rollup_markers')).toBe(0);
});

test('what was set aside shows in data_quality', async () => {
  expect(
    await value(`select found_count::integer from reporting.data_quality where check_name = 'changes set aside'`),
  ).toBe(1);
});

test('it rests until it is due, then it is tried and told of again, each time later', async () => {
  await facts.drain();
  for (const [tries, minutes] of [
    [2, 2],
    [3, 4],
    [4, 8],
    [5, 15],
  ]) {
    await due();
    await expect(facts.drain()).rejects.toBeInstanceOf(NotRolledUp);
    expect(
      await query(
        'select try_count, ceil(extract(epoch from retry_at - now()) / 60)::integer as minutes from ops.rollup_troubles',
      ),
    ).toEqual([{ try_count: tries, minutes }]);
  }
});

test('a rebuild goes on past it as well', async () => {
  await query('truncate rollups.sms_day_rollup');
  await expect(rebuildRollups(facts.db)).rejects.toBeInstanceOf(NotRolledUp);
  expect(await texted()).toEqual([{ day: '2026-03-03', count: 1 }]);
});

test('once the fact is mended it is worked in, and nothing is set aside any more', async () => {
  await query('update warehouse.sms_messages set body_segment_count = 1 where conversation_id = 1');
  await due();
  await facts.drain();
  expect(await texted()).toEqual([
    { day: '2026-03-02', count: 2 },
    { day: '2026-03-03', count: 1 },
  ]);
  expect(await value('select count(*)::integer from ops.rollup_troubles')).toBe(0);
});
