import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const missed = { status: 'missed', talk_seconds: 0 };

beforeAll(async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await facts.user(1, [{ endpoint: '201', to: '2026-03-03T12:00:00Z' }]);
  await facts.user(2, [{ endpoint: '201', from: '2026-03-03T12:00:00Z' }, '202']);
  await facts.user(3, ['203']);
  await facts.user(4, ['203']);
  // Monday 2026-03-02 in New York, five hours behind UTC.
  const called = { called_number: '201' };
  await call({ call_id: '1700000001.1', started_at: '2026-03-02T15:00:00Z', ...called });
  await call({ call_id: '1700000002.1', started_at: '2026-03-02T15:14:59Z', talk_seconds: 90, ...called });
  await call({
    call_id: '1700000003.1',
    started_at: '2026-03-02T15:15:00Z',
    ...missed,
    duration_seconds: 5,
    is_abandoned: true,
  });
  await call({
    call_id: '1700000004.1',
    started_at: '2026-03-02T16:00:00Z',
    ...missed,
    duration_seconds: 6,
    is_abandoned: true,
  });
  await call({ call_id: '1700000005.1', started_at: '2026-03-02T16:01:00Z', ...missed, duration_seconds: 40 });
  await call({
    call_id: '1700000006.1',
    started_at: '2026-03-02T16:02:00Z',
    status: 'voicemail',
    talk_seconds: 20,
    duration_seconds: 50,
  });
  await call({
    call_id: '1700000007.1',
    started_at: '2026-03-02T16:03:00Z',
    status: 'unknown',
    talk_seconds: null,
    duration_seconds: null,
    ended_at: null,
  });
  await call({
    call_id: '1700000008.1',
    started_at: '2026-03-02T16:04:00Z',
    direction: 'outbound',
    caller_type: 'user',
    caller_number: '202',
    called_type: 'external',
    transferred_count: 1,
  });
  await call({
    call_id: '1700000009.1',
    started_at: '2026-03-02T16:05:00Z',
    is_internal: true,
    external_number: null,
    account_number: null,
    caller_type: 'user',
    caller_number: '202',
    ...called,
  });
  // Over midnight: it began on Monday and ended on Tuesday.
  await call({
    call_id: '1700000010.1',
    started_at: '2026-03-03T04:59:50Z',
    ended_at: '2026-03-03T05:01:50Z',
    called_number: '203',
    account_number: null,
  });
  // Tuesday, after 201 changed hands.
  await call({ call_id: '1700000011.1', started_at: '2026-03-03T13:00:00Z', ...called });
  await call({
    call_id: '1700000012.1',
    started_at: '2026-03-03T13:00:01Z',
    deleted_at: '2026-03-04T00:00:00Z',
    ...called,
  });
  await call({ call_id: '1700000013.1', started_at: null });
  await facts.drain();
});

describe('call_daily', () => {
  test('counts each outcome once, and leaves internal and deleted calls out', async () => {
    expect(
      await query(
        `select call_count::integer, answered_count::integer, voicemail_count::integer, abandoned_count::integer,
           short_abandoned_count::integer, missed_count::integer, unknown_count::integer
         from reporting.call_daily where local_date = '2026-03-02' and direction = 'inbound'`,
      ),
    ).toEqual([
      {
        call_count: 8,
        answered_count: 3,
        voicemail_count: 1,
        abandoned_count: 1,
        short_abandoned_count: 1,
        missed_count: 1,
        unknown_count: 1,
      },
    ]);
  });

  test('has three service levels side by side', async () => {
    // Answered within 20 s: two of three. Offered without the short-abandoned: seven. Answered and abandoned: four.
    expect(
      await query(
        `select answered_in_time_count::integer as in_time, service_level_pct::float8 as offered,
           service_level_answered_abandoned_pct::float8 as answered_abandoned, service_level_answered_pct::float8 as answered,
           abandon_rate_pct::float8 as abandoned, answer_rate_pct::float8 as rate, answer_rate_without_short_pct::float8 as rate_without_short
         from reporting.call_daily where local_date = '2026-03-02' and direction = 'inbound'`,
      ),
    ).toEqual([
      {
        in_time: 2,
        offered: 28.57,
        answered_abandoned: 50,
        answered: 66.67,
        abandoned: 14.29,
        rate: 37.5,
        rate_without_short: 42.86,
      },
    ]);
  });

  test('shows each average beside its n, and NULL where there is none', async () => {
    expect(
      await query(
        `select direction, answer_wait_count::integer as waits, answer_wait_avg_seconds::float8 as wait, longest_wait_seconds::integer as longest,
           talk_count::integer as talks, talk_avg_seconds::float8 as talk, service_level_pct::float8 as level, transfer_rate_pct::float8 as transfers
         from reporting.call_daily where local_date = '2026-03-02' order by direction`,
      ),
    ).toEqual([
      { direction: 'inbound', waits: 3, wait: 16.7, longest: 40, talks: 3, talk: 103.3, level: 28.57, transfers: 0 },
      { direction: 'outbound', waits: 0, wait: null, longest: 10, talks: 1, talk: 110, level: null, transfers: 100 },
    ]);
  });

  test('has a changed service level at once, without a rebuild', async () => {
    await facts.params({ service_level_seconds: 30 });
    expect(
      await value(
        `select answered_in_time_count::integer from reporting.call_daily where local_date = '2026-03-02' and direction = 'inbound'`,
      ),
    ).toBe(3);
    await facts.params({ service_level_seconds: 20 });
  });

  test('has no row for a day without calls', async () => {
    expect(await query(`select from reporting.call_daily where local_date = '2026-03-01'`)).toEqual([]);
    expect(
      await query(
        `select d.local_date::text, d.is_business_day, c.call_count from reporting.dim_date d
         left join reporting.call_daily c using (local_date) where d.local_date = '2026-03-01'`,
      ),
    ).toEqual([{ local_date: '2026-03-01', is_business_day: false, call_count: null }]);
  });

  test('agrees with the calls themselves', async () => {
    expect(
      await query(
        `(select local_date, direction, count(*) from reporting.fct_call where not is_internal and started_at is not null group by 1, 2)
         except (select local_date, direction, call_count from reporting.call_daily)`,
      ),
    ).toEqual([]);
  });
});

test('call_interval begins a quarter at its first second and ends it before the next', async () => {
  expect(
    await query(
      `select bucket_at, local_hour, call_count::integer from reporting.call_interval
       where bucket_at < '2026-03-02T15:30:00Z' order by 1`,
    ),
  ).toEqual([
    { bucket_at: new Date('2026-03-02T15:00:00Z'), local_hour: 10, call_count: 2 },
    { bucket_at: new Date('2026-03-02T15:15:00Z'), local_hour: 10, call_count: 1 },
  ]);
});

test('call_heatmap puts a call that ends after midnight into the hour in which it began', async () => {
  expect(
    await query(
      `select local_date::text, isodow, call_count::integer from reporting.call_heatmap where local_hour = 23`,
    ),
  ).toEqual([{ local_date: '2026-03-02', isodow: 1, call_count: 1 }]);
});

test('number_daily keeps calls that report no number of the account apart', async () => {
  expect(
    await query(
      `select account_number, number_key as key, direction, call_count::integer from reporting.number_daily
       where local_date = '2026-03-02' order by 2, 3`,
    ),
  ).toEqual([
    { account_number: '15559990000', key: '15559990000', direction: 'inbound', call_count: 7 },
    { account_number: '15559990000', key: '15559990000', direction: 'outbound', call_count: 1 },
    { account_number: null, key: 'unknown', direction: 'inbound', call_count: 1 },
  ]);
});

describe('agent_daily', () => {
  test('credits an extension to whoever had it when the call started', async () => {
    expect(
      await query(
        `select local_date::text as day, user_id::integer, direction, handled_count from reporting.agent_daily
         where direction <> 'outbound' and user_id in (1, 2) order by 1, 2, 3`,
      ),
    ).toEqual([
      { day: '2026-03-02', user_id: 1, direction: 'inbound', handled_count: 2 },
      { day: '2026-03-02', user_id: 1, direction: 'internal', handled_count: 1 },
      { day: '2026-03-02', user_id: 2, direction: 'internal', handled_count: 1 },
      { day: '2026-03-03', user_id: 2, direction: 'inbound', handled_count: 1 },
    ]);
  });

  test('credits an extension that two users share to neither', async () => {
    expect(await query('select from reporting.agent_daily where user_id in (3, 4)')).toEqual([]);
    expect(await value(`select is_shared from reporting.dim_endpoint where user_id = 3`)).toBe(true);
    expect(await value(`select bool_or(is_shared) from reporting.dim_endpoint where endpoint = '201'`)).toBe(false);
  });
});

describe('on the days of the time change', () => {
  test('an hour that the clock repeats holds two, and a day has its calls of 25 hours', async () => {
    // 2026-11-01: 01:30 in New York is 05:30 and 06:30 UTC; the day ends at 05:00 UTC.
    for (const [at, time] of ['04:00:00Z', '05:30:00Z', '06:30:00Z'].entries()) {
      await call({ call_id: `170000003${at}.1`, started_at: `2026-11-01T${time}` });
    }
    await call({ call_id: '1700000035.1', started_at: '2026-11-02T04:59:59Z' });
    await call({ call_id: '1700000036.1', started_at: '2026-11-02T05:00:00Z' });
    await facts.drain();
    expect(
      await query(
        `select local_hour, call_count::integer from reporting.call_heatmap where local_date = '2026-11-01' order by 1`,
      ),
    ).toEqual([
      { local_hour: 0, call_count: 1 },
      { local_hour: 1, call_count: 2 },
      { local_hour: 23, call_count: 1 },
    ]);
  });

  test('an hour that the clock skips has no calls, and the day those of 23 hours', async () => {
    // 2026-03-08: 02:00 does not exist in New York; 07:00 UTC is 03:00.
    await call({ call_id: '1700000040.1', started_at: '2026-03-08T06:59:59Z' });
    await call({ call_id: '1700000041.1', started_at: '2026-03-08T07:00:00Z' });
    await call({ call_id: '1700000042.1', started_at: '2026-03-09T03:59:59Z' });
    await call({ call_id: '1700000043.1', started_at: '2026-03-09T04:00:00Z' });
    await facts.drain();
    expect(
      await query(
        `select local_hour, call_count::integer from reporting.call_heatmap where local_date = '2026-03-08' order by 1`,
      ),
    ).toEqual([
      { local_hour: 1, call_count: 1 },
      { local_hour: 3, call_count: 1 },
      { local_hour: 23, call_count: 1 },
    ]);
  });
});
