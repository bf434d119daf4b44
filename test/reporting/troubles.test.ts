import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuildRollups } from '../../src/reporting/rebuild.ts';
import { NotRolledUp } from '../../src/reporting/rollups/set-aside.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, expectRows, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const texted = () =>
  expectRows('select local_date::text, sum(outbound_count) from reporting.sms_daily group by 1 order by 1');
const due = () => query(`update ops.rollup_troubles set retry_at = now()`);

beforeAll(async () => {
  await call({ call_id: '1700000001.1', started_at: '10:00' });
  // Too long for the key of a total.
  const endless = { line: `9${randomBytes(5_000).toString('hex')}`, sent_by: 1 };
  await facts.thread(1, [
    ['11:00', 'in'],
    ['11:01', 'out', endless],
  ]);
  await facts.thread(2, [['03-03T11:00', 'out', { sent_by: 1 }]]);
});

test('a fact that makes a total impossible holds up no other, and is told of', async () => {
  const failure = await facts.drain().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NotRolledUp);
  expect(String(failure)).toMatch(/texts from 2026-03-02 00:00 UTC \(.*index row/);
  await texted().toEqual(['2026-03-03 | 1']);
  await expectRows('select local_date::text, call_count from reporting.call_hourly').toEqual(['2026-03-02 | 1']);
  expect(await value('select count(*)::integer from reporting.fct_sms_turn')).toBe(1);
  expect(await value('select count(*)::integer from ops.rollup_markers')).toBe(0);
});

test('what was set aside shows in data_quality', () =>
  expectRows(`select found_count from reporting.data_quality where check_name = 'changes set aside'`).toEqual(['1']));

test('it rests until it is due, then it is tried and told of again, each time later', async () => {
  await facts.drain();
  for (const [at, minutes] of [2, 4, 8, 15].entries()) {
    const tries = at + 2;
    await due();
    await expect(facts.drain()).rejects.toBeInstanceOf(NotRolledUp);
    const rest =
      'select try_count, ceil(extract(epoch from retry_at - now()) / 60) as minutes from ops.rollup_troubles';
    await expectRows(rest).toEqual([`${tries} | ${minutes}`]);
  }
});

test('a rebuild goes on past it as well', async () => {
  await query('truncate rollups.sms_day_rollup');
  await expect(rebuildRollups(facts.db)).rejects.toBeInstanceOf(NotRolledUp);
  await texted().toEqual(['2026-03-03 | 1']);
});

test('once the fact is mended it is worked in, and nothing is set aside any more', async () => {
  await query('update warehouse.sms_messages set line = $1 where conversation_id = 1', '15559990000');
  await due();
  await facts.drain();
  await texted().toEqual(['2026-03-02 | 1', '2026-03-03 | 1']);
  expect(await value('select count(*)::integer from ops.rollup_troubles')).toBe(0);
});
