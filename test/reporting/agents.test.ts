import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

describe('dials and internal calls', () => {
  const day = '2026-06-10';
  const at = (minute: number) => `${day}T15:${String(minute).padStart(2, '0')}:00Z`;
  const placed = { direction: 'outbound', caller_type: 'user', caller_number: '206', called_type: 'external' };
  const internal = { ...placed, called_type: 'user', is_internal: true, external_number: null, account_number: null };

  beforeAll(async () => {
    await facts.user(6, ['206']);
    await facts.user(7, ['207']);
    let minute = 0;
    const state = (values: Record<string, unknown>) => {
      minute += 1;
      return facts.call({ call_id: `17000001${String(minute).padStart(2, '0')}.1`, started_at: at(minute), ...values });
    };
    // User 6 dials four times: two talk, nobody answers one, the service says nothing of the last.
    await state({ ...placed, talk_seconds: 60 });
    await state({ ...placed, talk_seconds: 120 });
    await state({ ...placed, status: 'missed', talk_seconds: 0 });
    await state({ ...placed, status: 'unknown', talk_seconds: null });
    // A mailbox answered: talk is reported, and nobody talked.
    await state({ ...placed, status: 'voicemail', talk_seconds: 20 });
    // Among colleagues: 7 answers one and misses one.
    await state({ ...internal, called_number: '207', talk_seconds: 30 });
    await state({ ...internal, called_number: '207', status: 'missed', talk_seconds: 0 });
    // 7 takes a customer's call.
    await state({ called_number: '207', talk_seconds: 90 });
    await facts.drain();
  });

  const columns = `user_id::integer as id, direction, handled_count::integer as handled, answered_count::integer as answered,
    placed_count::integer as placed, connected_count::integer as connected, placed_connected_count::integer as reached, unconnected_count::integer as unconnected,
    connect_rate_pct::float8 as connect_rate, rang_count::integer as rang, talk_seconds::integer as talk, talk_count::integer as n,
    talk_avg_seconds::float8 as average, pickup_rate_pct::float8 as pickup`;
  const worked = [
    {
      ...{ id: 6, direction: 'internal', handled: 2, answered: 0, placed: 2, connected: 1, reached: 1, unconnected: 1 },
      ...{ connect_rate: 50, rang: 0, talk: 30, n: 1, average: 30, pickup: null },
    },
    {
      ...{ id: 6, direction: 'outbound', handled: 5, answered: 0, placed: 5, connected: 2, reached: 2, unconnected: 2 },
      ...{ connect_rate: 50, rang: 0, talk: 180, n: 2, average: 90, pickup: null },
    },
    {
      ...{ id: 7, direction: 'inbound', handled: 1, answered: 1, placed: 0, connected: 1, reached: 0, unconnected: 0 },
      ...{ connect_rate: null, rang: 0, talk: 90, n: 1, average: 90, pickup: 100 },
    },
    {
      ...{ id: 7, direction: 'internal', handled: 1, answered: 1, placed: 0, connected: 1, reached: 0, unconnected: 0 },
      ...{ connect_rate: null, rang: 1, talk: 30, n: 1, average: 30, pickup: 50 },
    },
  ];

  test.each([
    ['agent_daily', `reporting.agent_daily where local_date = '${day}'`],
    ['agent_monthly', `reporting.agent_monthly where month_start_date = '2026-06-01'`],
    ['agent_totals', `reporting.agent_totals('${day}', '${day}') where true`],
    ['agent_totals over months', `reporting.agent_totals('2026-05-31', '2026-07-02') where true`],
  ])('%s keeps internal calls apart, and unanswered dials out of the average', async (_, from) => {
    expect(await query(`select ${columns} from ${from} and user_id in (6, 7) order by 1, 2`)).toEqual(worked);
  });
});

test('agent_hourly counts by the local hour in which the call began', async () => {
  await facts.user(8, ['208']);
  const rang = { called_type: 'user', called_number: '208', status: 'missed', talk_seconds: 0 };
  const zone = await facts.value('select time_zone from reporting.params');
  for (const [at, local] of ['2026-07-01 09:59:59', '2026-07-01 10:00', '2026-07-01 10:59'].entries()) {
    const startedAt = await facts.value('select $1::timestamp at time zone $2', local, zone);
    await facts.call({ ...rang, call_id: `17000002${at}.1`, started_at: startedAt });
  }
  await facts.drain();
  expect(
    await query(
      `select isodow, local_hour, rang_count, answered_count from reporting.agent_hourly where user_key = 8 order by local_hour`,
    ),
  ).toEqual([
    { isodow: 3, local_hour: 9, rang_count: 1, answered_count: 0 },
    { isodow: 3, local_hour: 10, rang_count: 2, answered_count: 0 },
  ]);
});
