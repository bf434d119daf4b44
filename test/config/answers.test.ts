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
  const answered: [string, string, number, number][] = [
    ['201', 'queue', 2, 15],
    ['202', 'queue', 5, 25],
    ['202', 'huntgroup', 5, 10],
  ];
  const sixth = { called_type: 'queue', called_number: '6001' };
  for (const [at, [extension, kind, csat_score, wait]] of answered.entries()) {
    const call_id = nextId();
    const legs = [`${kind}:6001 0 0 0`, `${kind}>user:${extension} 0 ${wait} 60`];
    await call({ ...sixth, called_type: kind, call_id, started_at: await local(3, '14:00') }, legs);
    const paired = { leg_unique_id: '#2', leg_pairing: 'exact' };
    await insert('warehouse.transcripts', { transcript_id: at + 1, call_id, ...paired, csat_score });
  }
  // Given up in the queue after 50 and after 2 seconds; and one that a user sent into it from inside, outbound.
  for (const seconds of [50, 2]) {
    const values = { call_id: nextId(), started_at: await local(3, '15:00'), duration_seconds: seconds };
    await call({ ...gaveUp, ...sixth, ...values, external_number: `155500003${String(seconds).padStart(2, '0')}` });
  }
  const outbound = { direction: 'outbound', external_number: '15550000400' };
  await call({ ...sixth, ...outbound, call_id: nextId(), started_at: await local(3, '16:00') });
  await facts.drain();
});

/** The numbers of a row, as a text. */
const numbers = (row: object | undefined, names: string) =>
  names
    .split(' ')
    .map((name) => (row as Record<string, unknown> | undefined)?.[name] ?? '-')
    .map((value) => (value === '-' ? value : Number(value)))
    .join(' ');

describe('when people call and nobody is there', () => {
  const hour = async (at: number, day = isodow) => {
    const rows = await query<{ isodow_key: number; local_hour: number }>(question('busiest-hours'));
    expect(rows).toHaveLength(7 * 24);
    return rows.find((row) => row.isodow_key === day && row.local_hour === at);
  };

  test.each([
    ['that somebody answers, given up at once left out', 10, '7 1 83.3'],
    ['in which nobody answers, although few call', 11, '3 3 0'],
    ['in which nobody calls is known as such', 3, '0 0 -'],
  ])('an hour %s', async (_, at, expected) => {
    expect(numbers(await hour(at), 'calls not_answered answered_pct')).toBe(expected);
  });

  test('ranks hours', async () => {
    expect(numbers(await hour(10), 'busiest_rank not_answered_rank')).toBe('1 2');
    expect(numbers(await hour(11), 'not_answered_rank')).toBe('1');
  });
});

test('the customers who wait, without callers who gave up at once', async () => {
  await using own = await factsDatabase();
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  for (const [index, seconds] of [40, 3].entries()) {
    const values = { call_id: `190000${index}.1`, external_number: `1555000060${index}`, duration_seconds: seconds };
    await own.call({ ...gaveUp, ...values, started_at: anHourAgo }, ['user:201']);
  }
  await own.drain();
  const called = (rows: readonly Record<string, unknown>[]) => rows.map((row) => row.external_number);
  expect(called(await own.query(question('customers-who-wait')))).toEqual(['15550000600']);
  expect(numbers((await own.query(question('missed-calls')))[0], 'missed not_returned')).toBe('1 1');
});

test('how missed calls are returned, and how fast, over all of a week’s', async () => {
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
    const outbound = { direction: 'outbound', external_number: number };
    await own.call({ call_id: `1900001${index}.1`, started_at: at(day, 600 + returned), ...outbound });
  }
  await own.drain();
  const [row, ...others] = await own.query(question('missed-calls'));
  expect(others).toEqual([]);
  const names = 'missed by_call not_returned returned_pct half_within_minutes nine_of_ten_within_minutes';
  expect(numbers(row, names)).toBe('4 3 1 75 20 52');
});

test('how the queues do: inbound calls alone, and what became of them', async () => {
  const [row, ...others] = await query<{ queue_key: string }>(question('queues'));
  expect(others).toEqual([]);
  expect(row?.queue_key).toBe('queue:6001');
  // Two answered after 15 and 25 seconds, one given up after 50, one after 2, which is left out of the shares.
  const names = 'visits answered abandoned answered_pct abandoned_pct in_time_pct half_answered_within_seconds';
  expect(numbers(row, names)).toBe('4 2 1 66.7 33.3 33.3 20');
});

test.each([
  ['as agents', 'agents', 'user_name', 'handled', ['2 2', '1 1']],
  ['in satisfaction', 'satisfaction-by-agent', 'agent', 'csat_average', ['2 5', '1 2']],
])('namesakes stay apart: %s', async (_, number, name, column, expected) => {
  const rows = (await query(question(number))).filter((row) => row[name] === 'Sam Lee');
  expect(rows.map((row) => numbers(row, `user_key ${column}`))).toEqual(expected);
});

test('the texts that left after an opt-out, not those before it or after it was taken back', async () => {
  await using own = await factsDatabase();
  const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  const [stop, start] = [{ body: 'STOP' }, { body: 'START' }];
  await own.thread(1, [
    [ago(5), 'out'],
    [ago(4), 'in', stop],
    [ago(3), 'out'],
  ]);
  await own.thread(2, [
    [ago(4), 'in', stop],
    [ago(3), 'out'],
    [ago(2), 'in', start],
    [ago(1), 'out'],
  ]);
  const rows = await own.query(question('texts-after-opt-out'));
  expect(rows.map(({ sent_at }) => (sent_at as Date).toISOString())).toEqual(
    [ago(3)].map((at) => expect.stringContaining(at.slice(0, 16))),
  );
});
