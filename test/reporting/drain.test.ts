import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { query as ask, inTransaction } from '../../src/db/database.ts';
import { rebuildReturns } from '../../src/reporting/rollups/returns.ts';
import { atMost, hoursOf, quartersOf } from '../../src/reporting/rollups/steps.ts';
import { drainBehindMirror } from '../../src/reporting/rollups.ts';
import { type Following, recordFollowing } from '../../src/warehouse/what-follows.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, db, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const mark = (changes: Following) => inTransaction(db, (tx) => recordFollowing(tx, changes));
const at = (time: string) => new Date(`2026-03-02T${time}Z`);

beforeEach(async () => {
  await facts.mark();
  for (const table of ['calls', 'sms_messages', 'sms_conversations']) await query(`delete from warehouse.${table}`);
  await facts.drain();
});

describe('the parts of a day', () => {
  const addCalls = (count: number, from: string, everySeconds: number) =>
    query(
      `insert into warehouse.calls (call_id, started_at, direction, status, external_number, is_internal, content_hash, source, fetch_seq, fetched_at)
       select n || '.' || $2::text, $2::timestamptz + n * $3 * interval '1 second', 'inbound', 'missed', '15550000009', false, 'h', 'test', 1, now()
       from generate_series(0, $1::integer - 1) n`,
      count,
      from,
      everySeconds,
    );

  test('are whole hours, of which the clock repeats one in autumn', async () => {
    await facts.params({ time_zone: 'America/New_York' });
    const span = (from: string, to: string) => ({ from: new Date(`2026-11-${from}Z`), to: new Date(`2026-11-${to}Z`) });
    const day = { date: '2026-11-01', ...span('01T04:00', '02T05:00') };
    const hours = hoursOf(await quartersOf(db, 'calls', day));
    expect(hours).toHaveLength(24);
    expect(hours[1]).toEqual({ ...span('01T05:00', '01T07:00'), hours: [1], count: 0 });
    expect(atMost(100, hours)).toMatchObject([{ hours: Array.from({ length: 24 }, (_, hour) => hour), count: 0 }]);
    await call({ call_id: '1.1', started_at: '11-01T05:30' });
    await facts.drain();
    await call({ call_id: '1.2', started_at: '11-01T06:30' });
    await facts.drain();
    const counted = 'select local_hour, sum(call_count) as count from reporting.call_hourly group by 1';
    await facts.expectRows(counted).toEqual(['1 | 2']);
    await facts.params({ time_zone: 'UTC' });
  });

  test('somebody who calls thousands of times has each call read a few times, not once for each other', async () => {
    await addCalls(3_000, '2026-03-02T10:00:00Z', 5);
    await query('analyze warehouse.calls');
    const held = `select (idx_tup_fetch + seq_tup_read)::integer as read from pg_stat_xact_user_tables
      where relid = 'warehouse.calls'::regclass`;
    const ids = await facts.lines('select call_id from warehouse.calls order by started_at limit 300');
    const fetched = await inTransaction(db, async (tx) => {
      await rebuildReturns(tx, ids);
      return (await ask<{ read: number }>(tx, held, []))[0]?.read ?? 0;
    });
    expect(fetched).toBeGreaterThan(300);
    expect(fetched).toBeLessThan(10_000);
  });
});

describe('behind the mirror', () => {
  const none = new AbortController().signal;
  const waiting = () => value('select count(*)::integer from ops.rollup_markers');
  const target = (seconds: number, priority: number, kind = 'call') =>
    query(
      `insert into ops.sync_targets (kind, key, due_at, priority) values ($1, 'k', now() - $2 * interval '1 second', $3)`,
      kind,
      seconds,
      priority,
    );
  beforeEach(async () => {
    await query('delete from ops.sync_targets');
    await query('delete from ops.parked_kinds');
    await call({ call_id: '1.1', started_at: '2026-03-02T10:00:00Z' });
    await mark({ calls: [at('10:00:00')] });
  });

  test.each([
    ['a live read that is due for more than a minute', 70, 0, 1],
    ['one of history', 70, 1, 1],
    ['one that is due for less', 50, 0, 0],
    ['a target that may not exist', 70, 2, 0],
  ])('%s holds the reports back, or does not', async (_, seconds, priority, left) => {
    await target(seconds, priority);
    await drainBehindMirror(db, none);
    expect(await waiting()).toBe(left);
  });

  test('what is parked holds nothing back', async () => {
    await target(70, 0);
    await query(
      `insert into ops.parked_kinds (kind, parked_at, parked_until, reason) values ('call', now(), now() + interval '1 hour', 'refused')`,
    );
    await drainBehindMirror(db, none);
    expect(await waiting()).toBe(0);
  });

  test('a backlog that lasts holds them back for a quarter of an hour', async () => {
    await target(2_000, 0);
    await query(`update ops.rollup_markers set marked_at = now() - interval '16 minutes'`);
    await drainBehindMirror(db, none);
    expect(await waiting()).toBe(0);
  });
});
