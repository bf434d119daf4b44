import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** Calls that user 1 answered, by local day in New York; the last of March begins in April by the UTC clock. */
const answered = [
  '2026-01-31T15:00:00Z',
  '2026-02-01T15:00:00Z',
  '2026-02-28T15:00:00Z',
  '2026-03-01T15:00:00Z',
  '2026-03-15T15:00:00Z',
  '2026-04-01T03:30:00Z',
  '2026-04-01T15:00:00Z',
  '2026-04-30T15:00:00Z',
];

beforeAll(async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await facts.user(1, ['201']);
  await facts.user(2, ['202']);
  const own = { called_type: 'user', called_number: '201', talk_seconds: 100 };
  for (const [at, started_at] of answered.entries()) {
    await facts.call({ call_id: `17000000${10 + at}.1`, started_at, ...own });
  }
  await facts.call({
    call_id: '1700000030.1',
    started_at: '2026-02-10T15:00:00Z',
    ...own,
    status: 'missed',
    talk_seconds: 0,
  });
  await facts.call({ call_id: '1700000031.1', started_at: '2026-02-10T16:00:00Z', ...own, called_number: '202' });
  await facts.drain();
});

test('agent_monthly sums the days of each local month', async () => {
  expect(
    await query(
      `select month_start_date::text as month, user_name, handled_count::integer as handled, rang_count::integer as rang,
         talk_seconds::integer as talk, talk_avg_seconds::float8 as average, pickup_rate_pct::float8 as pickup
       from reporting.agent_monthly where user_id = 1 order by 1`,
    ),
  ).toEqual([
    { month: '2026-01-01', user_name: 'User 1', handled: 1, rang: 0, talk: 100, average: 100, pickup: 100 },
    { month: '2026-02-01', user_name: 'User 1', handled: 2, rang: 1, talk: 200, average: 100, pickup: 66.67 },
    { month: '2026-03-01', user_name: 'User 1', handled: 3, rang: 0, talk: 300, average: 100, pickup: 100 },
    { month: '2026-04-01', user_name: 'User 1', handled: 2, rang: 0, talk: 200, average: 100, pickup: 100 },
  ]);
});

test.each([
  ['2026-02-01', '2026-02-28', 2],
  ['2026-02-02', '2026-02-27', null],
  ['2026-02-02', '2026-03-31', 4],
  ['2026-01-31', '2026-04-01', 7],
  ['2026-03-01', '2026-03-01', 1],
  ['2026-03-02', '2026-03-31', 2],
  ['2026-03-16', '2026-04-29', 2],
  ['2026-01-01', '2026-12-31', 8],
  ['2026-04-30', '2026-04-01', null],
])('agent_totals from %s to %s counts what agent_daily has on these days', async (from, to, handled) => {
  const [total] = await query<{ handled_count: string; talk: number; days: number }>(
    `select t.handled_count, t.talk_seconds::integer as talk,
       (select sum(handled_count)::integer from reporting.agent_daily d where d.user_id = 1 and local_date between $1 and $2) as days
     from reporting.agent_totals($1, $2) t where t.user_id = 1 and t.handled_count > 0`,
    from,
    to,
  );
  expect(total).toEqual(
    handled === null ? undefined : { handled_count: String(handled), talk: handled * 100, days: handled },
  );
});

test('agent_totals has the user, the direction and the rates', async () => {
  expect(
    await query(
      `select user_id::integer, user_name, direction, handled_count::integer as handled, rang_count::integer as rang,
         transferred_to_count::integer as transferred, talk_avg_seconds::float8 as average, pickup_rate_pct::float8 as pickup
       from reporting.agent_totals('2026-02-05', '2026-03-10') order by 1`,
    ),
  ).toEqual([
    {
      user_id: 1,
      user_name: 'User 1',
      direction: 'inbound',
      handled: 2,
      rang: 1,
      transferred: 0,
      average: 100,
      pickup: 66.67,
    },
    {
      user_id: 2,
      user_name: 'User 2',
      direction: 'inbound',
      handled: 1,
      rang: 0,
      transferred: 0,
      average: 100,
      pickup: 100,
    },
  ]);
});

test('calls that do not report their connected time are in no average, and an agent who has no other has none', async () => {
  const own = { started_at: '2026-05-05T15:00:00Z', called_type: 'user' };
  await facts.user(3, ['203', '204']);
  await facts.user(4, ['205']);
  await facts.call({ call_id: '1700000040.1', ...own, called_number: '203', talk_seconds: 60 });
  await facts.call({ call_id: '1700000041.1', ...own, called_number: '204', talk_seconds: null });
  await facts.call({ call_id: '1700000042.1', ...own, called_number: '205', talk_seconds: null });
  await facts.drain();
  const averages = (from: string) =>
    query(
      `select user_id::integer as id, handled_count::integer as handled, talk_count::integer as n, talk_avg_seconds::float8 as average
       from ${from} and user_id in (3, 4) order by 1`,
    );
  const expected = [
    { id: 3, handled: 2, n: 1, average: 60 },
    { id: 4, handled: 1, n: 0, average: null },
  ];
  expect(await averages(`reporting.agent_daily where local_date = '2026-05-05'`)).toEqual(expected);
  expect(await averages(`reporting.agent_monthly where month_start_date = '2026-05-01'`)).toEqual(expected);
  expect(await averages(`reporting.agent_totals('2026-05-01', '2026-05-05') where true`)).toEqual(expected);
});
