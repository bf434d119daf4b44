import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { NotRolledUp } from '../../src/reporting/rollups/set-aside.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, insert, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const [poisoned, sound] = ['1700000001.1', '1700000002.1'];
const transcribed = () =>
  query(
    `select local_date::text as day, sum(transcript_count)::integer as count from reporting.quality_daily group by 1 order by 1`,
  );
const due = () => query(`update ops.rollup_troubles set retry_at = now()`);

beforeAll(async () => {
  await call({ call_id: poisoned, started_at: '2026-03-02T10:00:00Z' });
  await call({ call_id: sound, started_at: '2026-03-03T10:00:00Z' });
  // Two lengths that are numbers each, and together none.
  const endless = { agent_talk_seconds: 1.7e308, customer_talk_seconds: 1.7e308 };
  await insert('warehouse.transcripts', { transcript_id: 1, call_id: poisoned, ...endless });
  await insert('warehouse.transcripts', { transcript_id: 2, call_id: sound });
  await facts.thread(1, [['2026-03-02T11:00:00Z', 'in']]);
});

test('a fact that makes a total impossible holds up no other, and is told of', async () => {
  const failure = await facts.drain().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NotRolledUp);
  expect(String(failure)).toMatch(/calls from 2026-03-02 00:00 UTC \(.*out of range/);
  expect(await transcribed()).toEqual([{ day: '2026-03-03', count: 1 }]);
  expect(
    await query('select local_date::text as day, call_count::integer as calls from reporting.call_daily order by 1'),
  ).toEqual([
    { day: '2026-03-02', calls: 1 },
    { day: '2026-03-03', calls: 1 },
  ]);
  expect(await value('select sum(turn_count)::integer from reporting.sms_response_daily')).toBe(1);
  expect(await value('select count(*)::integer from ops.rollup_markers')).toBe(0);
});

test('what was set aside shows in data_quality', async () => {
  expect(
    await value(
      `select found_count::integer from reporting.data_quality where check_name = 'rollup changes set aside'`,
    ),
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
        'select try_count, (extract(epoch from retry_at - last_failed_at) / 60)::integer as minutes from ops.rollup_troubles',
      ),
    ).toEqual([{ try_count: tries, minutes }]);
  }
});

test('a rebuild goes on past it as well', async () => {
  await query('truncate rollups.quality_rollup');
  await expect(rebuildRollups(facts.db)).rejects.toBeInstanceOf(NotRolledUp);
  expect(await transcribed()).toEqual([{ day: '2026-03-03', count: 1 }]);
});

test('once the fact is mended it is worked in, and nothing is set aside any more', async () => {
  await query(
    `update warehouse.transcripts set agent_talk_seconds = 30, content_hash = 'mended' where transcript_id = 1`,
  );
  await due();
  await facts.drain();
  expect(await transcribed()).toEqual([
    { day: '2026-03-02', count: 1 },
    { day: '2026-03-03', count: 1 },
  ]);
  expect(await value('select count(*)::integer from ops.rollup_troubles')).toBe(0);
});
