import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from '../reporting/facts.ts';
import { question } from './queries.ts';

/* What the cookbook answers, on rows that were worked out by hand. */

const facts = await factsDatabase();
const { call, insert, query, user } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** The instant of a local time, so many local days ago. */
async function local(daysAgo: number, time: string): Promise<string> {
  const moment = await facts.value(
    `select (reporting.local_day(now()) - $1::integer + $2::time) at time zone 'America/New_York'`,
    daysAgo,
    time,
  );
  return (moment as Date).toISOString();
}

let isodow: number;
const ids = Array.from({ length: 40 }, (_, at) => `18000${String(at).padStart(5, '0')}.1`);
const nextId = () => ids.pop();
const gaveUp = { status: 'missed', is_abandoned: true, talk_seconds: 0 };

beforeAll(async () => {
  await facts.params({ time_zone: 'America/New_York', short_abandon_seconds: 5, service_level_seconds: 20 });
  isodow = Number(await facts.value('select extract(isodow from reporting.local_day(now()) - 7)'));
  // A week ago and two weeks ago at ten: five answered, one given up, one given up at once. At eleven nobody was there.
  for (const daysAgo of [7, 7, 7, 14, 14]) await call({ call_id: nextId(), started_at: await local(daysAgo, '10:05') });
  await call({ ...gaveUp, call_id: nextId(), started_at: await local(7, '10:30'), duration_seconds: 40 });
  await call({ ...gaveUp, call_id: nextId(), started_at: await local(7, '10:40'), duration_seconds: 3 });
  for (const daysAgo of [7, 14, 21]) {
    await call({
      ...gaveUp,
      ...{ call_id: nextId(), started_at: await local(daysAgo, '11:15'), duration_seconds: 60 },
      external_number: `1555000010${daysAgo}`,
    });
  }
  // Today is not over, and would count a fifth time: it is left out.
  await call({ call_id: nextId(), started_at: await local(0, '00:00'), external_number: '15550000200' });

  // Two agents of one name, in a queue and a huntgroup of one name.
  await user(1, ['201']);
  await user(2, ['202']);
  await query(`update warehouse.users set first_name = 'Sam', last_name = 'Lee'`);
  const answered = [
    { to: '201', by: { called_type: 'queue', called_number: '6001' }, score: 2, wait: 15 },
    { to: '202', by: { called_type: 'queue', called_number: '6001' }, score: 5, wait: 25 },
    { to: '202', by: { called_type: 'huntgroup', called_number: '6001' }, score: 5, wait: 10 },
  ];
  for (const [at, { to, by, score, wait }] of answered.entries()) {
    const id = nextId();
    const started = await local(3, '14:00');
    await call({
      ...by,
      call_id: id,
      started_at: started,
      legs_fetched_at: started,
      legs_wait_seconds: wait,
      leg_count: 2,
    });
    const leg = { call_id: id, started_at: started, direction: 'inbound', status: 'answered', talk_seconds: 60 };
    await insert(
      'warehouse.call_legs',
      { ...leg, ...by, leg_key: 'a', ordinal: 1, caller_type: 'external' },
      {
        ...leg,
        leg_key: 'b',
        ordinal: 2,
        caller_type: by.called_type,
        called_type: 'user',
        called_number: to,
        duration_seconds: 60 + wait,
      },
    );
    await insert('warehouse.transcripts', {
      ...{ transcript_id: at + 1, call_id: id, leg_unique_id: 'b', leg_pairing: 'exact', csat_score: score },
    });
    await facts.measure(String(id));
  }
  // Given up in the queue after 50 and after 2 seconds; and one that a user sent into it from inside, outbound.
  for (const seconds of [50, 2]) {
    await call({
      ...{ ...gaveUp, call_id: nextId(), started_at: await local(3, '15:00'), duration_seconds: seconds },
      ...{
        called_type: 'queue',
        called_number: '6001',
        external_number: `155500003${String(seconds).padStart(2, '0')}`,
      },
    });
  }
  await call({
    ...{ call_id: nextId(), started_at: await local(3, '16:00'), direction: 'outbound', called_type: 'queue' },
    ...{ called_number: '6001', external_number: '15550000400' },
  });
  await facts.drain();
});

const numbers = (row: object | undefined, ...names: string[]) =>
  names.map((name) => {
    const value = (row as Record<string, unknown> | undefined)?.[name];
    return value === null ? null : Number(value);
  });

describe('when people call and nobody is there (02)', () => {
  const hour = async (at: number, day = isodow) => {
    const rows = await query<{ isodow: number; local_hour: number }>(question('02'));
    expect(rows).toHaveLength(7 * 24);
    return rows.find((row) => row.isodow === day && row.local_hour === at);
  };

  test('an hour that somebody answers, given up at once left out', async () => {
    const row = await hour(10);
    expect(numbers(row, 'calls', 'not_answered', 'answered_pct')).toEqual([7, 1, 83.3]);
    expect(numbers(row, 'busiest_rank', 'not_answered_rank')).toEqual([1, 2]);
  });

  test('an hour in which nobody answers, although few call', async () => {
    expect(numbers(await hour(11), 'calls', 'not_answered', 'answered_pct', 'not_answered_rank')).toEqual([3, 3, 0, 1]);
  });

  test('an hour in which nobody calls is known as such', async () => {
    expect(numbers(await hour(3), 'calls', 'not_answered', 'answered_pct')).toEqual([0, 0, null]);
  });
});

test('the customers who wait, without callers who gave up at once (04)', async () => {
  await using own = await factsDatabase();
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  for (const [index, seconds] of [40, 3].entries()) {
    const values = { call_id: `190000${index}.1`, external_number: `1555000060${index}`, duration_seconds: seconds };
    await own.call({ ...gaveUp, ...values, started_at: anHourAgo, leg_count: 1, legs_fetched_at: anHourAgo });
    const rang = { called_type: 'user', called_number: '201' };
    await own.insert('warehouse.call_legs', { call_id: values.call_id, leg_key: '#0', ordinal: 1, ...rang });
  }
  await own.drain();
  const called = (rows: readonly Record<string, unknown>[]) => rows.map((row) => row.external_number);
  expect(called(await own.query(question('04')))).toEqual(['15550000600']);
  expect(numbers((await own.query(question('05')))[0], 'missed', 'not_returned')).toEqual([1, 1]);
});

test('how missed calls are returned, and how fast, over all of a week’s (05)', async () => {
  await using own = await factsDatabase();
  // Monday two weeks ago, by UTC: four missed calls, returned after 10, 20 and 60 minutes and never. Half within 20.
  const monday = (await own.value(
    `select (date_trunc('week', reporting.local_day(now())::timestamp) - interval '14 days') at time zone 'UTC'`,
  )) as Date;
  const at = (day: number, minutes: number) => new Date(+monday + (day * 1440 + minutes) * 60_000).toISOString();
  for (const [index, returned] of [10, 20, 60, undefined].entries()) {
    const number = `1555000050${index}`;
    // On days of their own: the median of the days' medians, 30 minutes, would be wrong.
    const day = index < 2 ? 0 : index;
    const missed = { call_id: `1900000${index}.1`, external_number: number, duration_seconds: 40 };
    await own.call({ ...gaveUp, ...missed, started_at: at(day, 600) });
    if (returned === undefined) continue;
    await own.call({
      ...{ call_id: `1900001${index}.1`, started_at: at(day, 600 + returned), direction: 'outbound' },
      external_number: number,
    });
  }
  await own.drain();
  const [row, ...others] = await own.query(question('05'));
  expect(others).toEqual([]);
  expect(
    numbers(
      row,
      'missed',
      'by_call',
      'not_returned',
      'returned_pct',
      'half_within_minutes',
      'nine_of_ten_within_minutes',
    ),
  ).toEqual([4, 3, 1, 75, 20, 52]);
});

test('how the queues do: inbound calls alone, and what became of them (07)', async () => {
  const rows = await query<{ queue_key: string }>(question('07'));
  expect(rows).toHaveLength(1);
  expect(rows[0]?.queue_key).toBe('queue:6001');
  // Two answered after 15 and 25 seconds, one given up after 50, one after 2, which is left out of the shares.
  expect(
    numbers(
      rows[0],
      'visits',
      'answered',
      'abandoned',
      'answered_pct',
      'abandoned_pct',
      'in_time_pct',
      'half_answered_within_seconds',
    ),
  ).toEqual([4, 2, 1, 66.7, 33.3, 33.3, 20]);
});

describe('namesakes stay apart', () => {
  const own = async (text: string, column: string) => {
    const rows = await query(text);
    return rows.filter((row) => row[column] === 'Sam Lee');
  };

  test('as agents', async () => {
    expect((await own(question('08'), 'user_name')).map((row) => [row.user_key, Number(row.handled)])).toEqual([
      ['2', 2],
      ['1', 1],
    ]);
  });

  test('in satisfaction', async () => {
    expect((await own(question('17'), 'agent')).map((row) => [row.user_key, Number(row.csat_avg)])).toEqual([
      ['2', 5],
      ['1', 2],
    ]);
  });
});
