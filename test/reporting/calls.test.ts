import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, expectRows, value } = facts;
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
    ['15:00', called],
    ['15:14:59', { talk_seconds: 90, ...called }],
    ['15:15', { ...missed, duration_seconds: 5, is_abandoned: true }],
    ['16:00', { ...missed, duration_seconds: 6, is_abandoned: true }],
    ['16:01', { ...missed, duration_seconds: 40 }],
    ['16:02', { status: 'voicemail', talk_seconds: 20, duration_seconds: 50 }],
    ['16:03', { status: 'unknown', talk_seconds: null, duration_seconds: null, ended_at: null }],
    ['16:04', { direction: 'outbound', ...byUser, called_type: 'external', transferred_count: 1 }],
    ['16:05', { is_internal: true, ...nobody, ...byUser, ...called }],
    // Over midnight: it began on Monday and ended on Tuesday.
    ['03-03T04:59:50', { ended_at: '03-03T05:01:50', called_number: '203', account_number: null }],
    ['03-03T13:00', called],
    ['03-03T13:00:01', { deleted_at: '03-04T00:00', ...called }],
    [null, {}],
  ];
  for (const [at, [started_at, values]] of calls.entries())
    await call({ call_id: `1.${10 + at}`, started_at, ...values });
  await facts.drain();
});

const ofMonday = (direction: string) =>
  `reporting.call_hourly where local_date = '2026-03-02' and direction = '${direction}'`;

describe('call_hourly', () => {
  test('counts each outcome once, and leaves deleted calls out', () =>
    expectRows(`
      select sum(call_count) as calls, sum(answered_count) as answered, sum(voicemail_count) as voicemail, sum(abandoned_count) as abandoned,
        sum(short_abandoned_count) as short, sum(missed_count) as missed, sum(unknown_count) as unknown, sum(answerable_count) as answerable
      from ${ofMonday('inbound')}`).toEqual(['8 | 3 | 1 | 1 | 1 | 1 | 1 | 7']));

  test('has what service levels and averages are made of, each beside its n', async () => {
    // Waits of 10, 30 and 10 s; answered within 20 s: two.
    const sums = (direction: string) =>
      expectRows(`
        select sum(answered_in_time_count) as in_time, sum(answer_wait_unknown_count) as unknown, sum(answer_wait_count) as waits,
          sum(answer_wait_seconds) as waited, sum(talk_count) as talks, sum(talk_seconds) as talked,
          sum(transferred_count) as transfers
        from ${ofMonday(direction)}`);
    await sums('inbound').toEqual(['2 | 0 | 3 | 50 | 3 | 310 | 0']);
    await sums('outbound').toEqual(['0 | 0 | 0 | 0 | 1 | 110 | 1']);
  });

  test('has a changed service level at once, without a rebuild', async () => {
    await facts.params({ service_level_seconds: 30 });
    expect(await value(`select sum(answered_in_time_count)::integer from ${ofMonday('inbound')}`)).toBe(3);
    await facts.params({ service_level_seconds: 20 });
  });

  test('agrees with the calls themselves, internal ones included', () =>
    expectRows(`
      (select local_date, local_hour, account_number, case when is_internal then 'internal' else direction end, is_business_hours, count(*)
       from reporting.fct_call where started_at is not null group by 1, 2, 3, 4, 5)
      except (select local_date, local_hour, account_number, direction, is_business_hours, call_count from reporting.call_hourly)`).toEqual(
      [],
    ));

  test('puts a call that ends after midnight into the hour in which it began', () =>
    expectRows('select local_date::text, call_count from reporting.call_hourly where local_hour = 23').toEqual([
      '2026-03-02 | 1',
    ]));

  test('keeps calls that report no number of the account apart', () =>
    expectRows(`
      select account_number, direction, sum(call_count) from reporting.call_hourly
      where local_date = '2026-03-02' group by 1, 2 order by 1, 2`).toEqual([
      '15559990000 | inbound | 7',
      '15559990000 | outbound | 1',
      '- | inbound | 1',
      '- | internal | 1',
    ]));
});

test('agent_hourly credits an extension to whoever had it when the call started, and one that two users share to neither', () =>
  expectRows(`
    select local_date::text, user_key, direction, sum(handled_count) from reporting.agent_hourly
    where direction <> 'outbound' group by 1, 2, 3 order by 1, 2, 3`).toEqual([
    '2026-03-02 | 1 | inbound | 2',
    '2026-03-02 | 1 | internal | 1',
    '2026-03-02 | 2 | internal | 1',
    '2026-03-03 | 2 | inbound | 1',
  ]));

// 2026-11-01: 01:30 in New York is 05:30 and 06:30 UTC, and the day ends at 05:00 UTC. 2026-03-08: 07:00 UTC is 03:00.
test.each([
  [
    'an hour that the clock repeats holds two, and a day has its calls of 25 hours',
    '2026-11-01',
    ['11-01T04:00', '11-01T05:30', '11-01T06:30', '11-02T04:59:59', '11-02T05:00'],
    ['0 | 1', '1 | 2', '23 | 1'],
  ],
  [
    'an hour that the clock skips has no calls, and the day those of 23 hours',
    '2026-03-08',
    ['03-08T06:59:59', '03-08T07:00', '03-09T03:59:59', '03-09T04:00'],
    ['1 | 1', '3 | 1', '23 | 1'],
  ],
])('%s', async (_, day, moments, counts) => {
  for (const [at, started_at] of moments.entries()) await call({ call_id: `${day}.${at}`, started_at });
  await facts.drain();
  const hours = 'select local_hour, call_count from reporting.call_hourly where local_date = $1 order by 1';
  await expectRows(hours, day).toEqual(counts);
});
