import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, lines, query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const missed = { status: 'missed', talk_seconds: 0 };

beforeAll(async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await facts.user(1, [{ endpoint: '201', to: '2026-03-03T12:00:00Z' }]);
  await facts.user(2, [{ endpoint: '201', from: '2026-03-03T12:00:00Z' }, '202']);
  await facts.user(3, ['203']);
  await facts.user(4, ['203']);
  // Monday 2026-03-02 in New York, five hours behind UTC; on Tuesday 201 changes hands.
  const called = { called_number: '201' };
  const nobody = { external_number: null, account_number: null };
  const byUser = { caller_type: 'user', caller_number: '202' };
  const calls: [string | null, object][] = [
    ['2026-03-02T15:00:00Z', called],
    ['2026-03-02T15:14:59Z', { talk_seconds: 90, ...called }],
    ['2026-03-02T15:15:00Z', { ...missed, duration_seconds: 5, is_abandoned: true }],
    ['2026-03-02T16:00:00Z', { ...missed, duration_seconds: 6, is_abandoned: true }],
    ['2026-03-02T16:01:00Z', { ...missed, duration_seconds: 40 }],
    ['2026-03-02T16:02:00Z', { status: 'voicemail', talk_seconds: 20, duration_seconds: 50 }],
    ['2026-03-02T16:03:00Z', { status: 'unknown', talk_seconds: null, duration_seconds: null, ended_at: null }],
    ['2026-03-02T16:04:00Z', { direction: 'outbound', ...byUser, called_type: 'external', transferred_count: 1 }],
    ['2026-03-02T16:05:00Z', { is_internal: true, ...nobody, ...byUser, ...called }],
    // Over midnight: it began on Monday and ended on Tuesday.
    ['2026-03-03T04:59:50Z', { ended_at: '2026-03-03T05:01:50Z', called_number: '203', account_number: null }],
    ['2026-03-03T13:00:00Z', called],
    ['2026-03-03T13:00:01Z', { deleted_at: '2026-03-04T00:00:00Z', ...called }],
    [null, {}],
  ];
  for (const [at, [started_at, values]] of calls.entries())
    await call({ call_id: `17000000${String(at + 1).padStart(2, '0')}.1`, started_at, ...values });
  await facts.drain();
});

const ofMonday = (direction: string) =>
  `reporting.call_hourly where local_date = '2026-03-02' and direction = '${direction}'`;

describe('call_hourly', () => {
  test('counts each outcome once, and leaves deleted calls out', async () => {
    expect(
      await query(
        `select sum(call_count)::integer as calls, sum(answered_count)::integer as answered, sum(voicemail_count)::integer as voicemail,
           sum(abandoned_count)::integer as abandoned, sum(short_abandoned_count)::integer as short, sum(missed_count)::integer as missed,
           sum(unknown_count)::integer as unknown, sum(answerable_count)::integer as answerable
         from ${ofMonday('inbound')}`,
      ),
    ).toEqual([{ calls: 8, answered: 3, voicemail: 1, abandoned: 1, short: 1, missed: 1, unknown: 1, answerable: 7 }]);
  });

  test('has what service levels and averages are made of, each beside its n', async () => {
    // Waits of 10, 30 and 10 s; answered within 20 s: two.
    const sums = (direction: string) =>
      query(
        `select sum(answered_in_time_count)::integer as in_time, sum(answer_wait_unknown_count)::integer as unknown,
           sum(answer_wait_count)::integer as waits, sum(answer_wait_seconds)::integer as waited, max(longest_wait_seconds) as longest,
           sum(talk_count)::integer as talks, sum(talk_seconds)::integer as talked, sum(transferred_count)::integer as transfers
         from ${ofMonday(direction)}`,
      );
    expect(await sums('inbound')).toEqual([
      { in_time: 2, unknown: 0, waits: 3, waited: 50, longest: 40, talks: 3, talked: 310, transfers: 0 },
    ]);
    expect(await sums('outbound')).toEqual([
      { in_time: 0, unknown: 0, waits: 0, waited: 0, longest: 10, talks: 1, talked: 110, transfers: 1 },
    ]);
  });

  test('has a changed service level at once, without a rebuild', async () => {
    await facts.params({ service_level_seconds: 30 });
    expect(await value(`select sum(answered_in_time_count)::integer from ${ofMonday('inbound')}`)).toBe(3);
    await facts.params({ service_level_seconds: 20 });
  });

  test('has no row for a day without calls', async () => {
    expect(
      await query(
        `select d.local_date::text, d.is_business_day, c.call_count from reporting.dim_date d
         left join reporting.call_hourly c using (local_date) where d.local_date = '2026-03-01'`,
      ),
    ).toEqual([{ local_date: '2026-03-01', is_business_day: false, call_count: null }]);
  });

  test('agrees with the calls themselves, internal ones included', async () => {
    expect(
      await query(
        `(select local_date, local_hour, number_key, case when is_internal then 'internal' else direction end, is_business_hours, count(*)
          from reporting.fct_call where started_at is not null group by 1, 2, 3, 4, 5)
         except (select local_date, local_hour, number_key, direction, is_business_hours, call_count from reporting.call_hourly)`,
      ),
    ).toEqual([]);
  });

  test('puts a call that ends after midnight into the hour in which it began', async () => {
    expect(await query(`select local_date::text, call_count from reporting.call_hourly where local_hour = 23`)).toEqual(
      [{ local_date: '2026-03-02', call_count: 1 }],
    );
  });

  test('keeps calls that report no number of the account apart', async () => {
    expect(
      await lines(
        `select account_number, number_key as key, direction, sum(call_count)::integer as calls from reporting.call_hourly
         where local_date = '2026-03-02' group by 1, 2, 3 order by 2, 3`,
      ),
    ).toEqual([
      '15559990000 | 15559990000 | inbound | 7',
      '15559990000 | 15559990000 | outbound | 1',
      '- | unknown | inbound | 1',
      '- | unknown | internal | 1',
    ]);
  });
});

describe('agent_hourly', () => {
  test('credits an extension to whoever had it when the call started', async () => {
    expect(
      await lines(
        `select local_date::text as day, user_key::integer as user, direction, sum(handled_count)::integer as handled
         from reporting.agent_hourly where direction <> 'outbound' and user_key in (1, 2) group by 1, 2, 3 order by 1, 2, 3`,
      ),
    ).toEqual([
      '2026-03-02 | 1 | inbound | 2',
      '2026-03-02 | 1 | internal | 1',
      '2026-03-02 | 2 | internal | 1',
      '2026-03-03 | 2 | inbound | 1',
    ]);
  });

  test('credits an extension that two users share to neither', async () => {
    expect(await query('select from reporting.agent_hourly where user_key in (3, 4)')).toEqual([]);
  });
});

describe('on the days of the time change', () => {
  test('an hour that the clock repeats holds two, and a day has its calls of 25 hours', async () => {
    // 2026-11-01: 01:30 in New York is 05:30 and 06:30 UTC; the day ends at 05:00 UTC.
    const moments = ['01T04:00:00Z', '01T05:30:00Z', '01T06:30:00Z', '02T04:59:59Z', '02T05:00:00Z'];
    for (const [at, time] of moments.entries())
      await call({ call_id: `170000003${at}.1`, started_at: `2026-11-${time}` });
    await facts.drain();
    expect(
      await lines(
        `select local_hour, call_count from reporting.call_hourly where local_date = '2026-11-01' order by 1`,
      ),
    ).toEqual(['0 | 1', '1 | 2', '23 | 1']);
  });

  test('an hour that the clock skips has no calls, and the day those of 23 hours', async () => {
    // 2026-03-08: 02:00 does not exist in New York; 07:00 UTC is 03:00.
    for (const [at, time] of ['08T06:59:59Z', '08T07:00:00Z', '09T03:59:59Z', '09T04:00:00Z'].entries())
      await call({ call_id: `170000004${at}.1`, started_at: `2026-03-${time}` });
    await facts.drain();
    expect(
      await lines(
        `select local_hour, call_count from reporting.call_hourly where local_date = '2026-03-08' order by 1`,
      ),
    ).toEqual(['1 | 1', '3 | 1', '23 | 1']);
  });
});
