import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { query as ask, inTransaction } from '../../src/db/database.ts';
import { rebuildReturns } from '../../src/reporting/rollups/returns.ts';
import { atMost, hoursOf, piecesOf, quartersOf } from '../../src/reporting/rollups/steps.ts';
import { drainBehindMirror } from '../../src/reporting/rollups.ts';
import { type Following, recordFollowing } from '../../src/warehouse/what-follows.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, db, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
const mark = (changes: Following) => inTransaction(db, (tx) => recordFollowing(tx, changes));
const markers = () =>
  query('select kind, bucket_at, conversation_id::integer as conversation from ops.rollup_markers order by marker_id');
const at = (time: string) => new Date(`2026-03-02T${time}Z`);

beforeEach(async () => {
  await facts.mark();
  for (const table of ['calls', 'sms_messages', 'sms_conversations']) await query(`delete from warehouse.${table}`);
  await facts.drain();
});

describe('marking', () => {
  test('writes each quarter of an hour and each conversation once', async () => {
    await mark({
      calls: [at('10:00:00.001'), at('10:14:59'), at('10:15:00')],
      texts: [at('10:16:00')],
      threads: ['7', '7'],
    });
    expect(await markers()).toEqual([
      { kind: 'calls', bucket_at: at('10:00:00'), conversation: null },
      { kind: 'calls', bucket_at: at('10:15:00'), conversation: null },
      { kind: 'texts', bucket_at: at('10:15:00'), conversation: null },
      { kind: 'thread', bucket_at: null, conversation: 7 },
    ]);
  });

  test('writes nothing when nothing changed', async () => {
    await mark({});
    expect(await markers()).toEqual([]);
  });

  test('is all that a drain needs', async () => {
    await call({ call_id: '1.1', started_at: '2026-03-02T10:00:00Z', ...missed });
    await mark({ calls: [at('10:00:00')] });
    await facts.drain();
    await call({ call_id: '1.2', started_at: '2026-03-04T09:00:00Z', direction: 'outbound' });
    await facts.thread(1, [['2026-03-03T10:00:00Z', 'in']]);
    await mark({ calls: [new Date('2026-03-04T09:00:00Z')], threads: ['1'] });
    await facts.drain();
    expect(await query('select local_date::text as day, returned_by from reporting.missed_calls')).toEqual([
      { day: '2026-03-02', returned_by: 'outbound_call' },
    ]);
    expect(await query('select local_date::text as day from reporting.fct_sms_turn')).toEqual([{ day: '2026-03-03' }]);
  });
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

  test('hold no more calls than are taken at once, also in a burst', async () => {
    await addCalls(90, '2026-03-02T10:00:00Z', 1);
    await addCalls(10, '2026-03-02T12:00:00Z', 1);
    const day = { date: '2026-03-02', from: at('00:00:00'), to: new Date('2026-03-03T00:00:00Z') };
    const pieces = await piecesOf(db, 'calls', 20, await quartersOf(db, 'calls', day));
    const counts = await query<{ count: number }>(
      `select count(c.call_id)::integer as count from unnest($1::timestamptz[], $2::timestamptz[]) with ordinality p (from_at, to_at, n)
         left join warehouse.calls c on c.started_at >= p.from_at and c.started_at < p.to_at
       group by n order by n`,
      pieces.map(({ from }) => from),
      pieces.map(({ to }) => to),
    );
    expect(counts.map(({ count }) => count).filter((count) => count > 0)).toEqual([20, 20, 20, 20, 10, 10]);
    expect([pieces[0]?.from, pieces.at(-1)?.to]).toEqual([day.from, day.to]);
    const gaps = pieces.slice(1).filter(({ from }, n) => Number(from) !== Number(pieces[n]?.to));
    expect(gaps).toEqual([]);
  });

  test('are whole hours, of which the clock repeats one in autumn', async () => {
    await facts.params({ time_zone: 'America/New_York' });
    const day = {
      date: '2026-11-01',
      from: new Date('2026-11-01T04:00:00Z'),
      to: new Date('2026-11-02T05:00:00Z'),
    };
    const hours = hoursOf(await quartersOf(db, 'calls', day));
    expect(hours).toHaveLength(24);
    expect(hours[1]).toEqual({
      from: new Date('2026-11-01T05:00:00Z'),
      to: new Date('2026-11-01T07:00:00Z'),
      hours: [1],
      count: 0,
    });
    expect(atMost(100, hours)).toMatchObject([
      { hours: Array.from({ length: 24 }, (_, hour) => hour), ...{ count: 0 } },
    ]);
    await call({ call_id: '1.1', started_at: '2026-11-01T05:30:00Z' });
    await facts.drain();
    await call({ call_id: '1.2', started_at: '2026-11-01T06:30:00Z' });
    await facts.drain();
    expect(
      await query('select local_hour, sum(call_count)::integer as count from reporting.call_hourly group by 1'),
    ).toEqual([{ local_hour: 1, count: 2 }]);
    await facts.params({ time_zone: 'UTC' });
  });

  test('somebody who calls thousands of times has each call read a few times, not once for each other', async () => {
    await addCalls(3_000, '2026-03-02T10:00:00Z', 5);
    await query('analyze warehouse.calls');
    const fetched = await inTransaction(db, async (tx) => {
      const ids = await ask<{ id: string }>(
        tx,
        'select call_id as id from warehouse.calls order by started_at limit 300',
        [],
      );
      const read = async () => {
        const [row] = await ask<{ read: number }>(
          tx,
          `select (idx_tup_fetch + seq_tup_read)::integer as read from pg_stat_xact_user_tables where relid = 'warehouse.calls'::regclass`,
          [],
        );
        return row?.read ?? 0;
      };
      const before = await read();
      await rebuildReturns(
        tx,
        ids.map(({ id }) => id),
      );
      return (await read()) - before;
    });
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
    await query('delete from ops.streams');
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
      `insert into ops.streams (kind, parked_at, parked_until, reason) values ('call', now(), now() + interval '1 hour', 'refused')`,
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
