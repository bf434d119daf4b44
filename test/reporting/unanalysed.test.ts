import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

/** One day of a busy account, as a restore or a first back-fill leaves it: Postgres has looked at no table yet. */
const callCount = 4_000;

beforeAll(async () => {
  for (const table of ['calls', 'call_legs', 'call_attributions', 'transcripts']) {
    await query(`alter table warehouse.${table} set (autovacuum_enabled = off)`);
  }
  await facts.user(1, ['201']);
  await facts.user(2, [{ endpoint: '202', to: '2026-03-02T12:00:00Z' }]);
  await facts.user(3, [{ endpoint: '202', from: '2026-03-02T12:00:00Z' }, '203']);
  await facts.user(4, ['203']);
  await query(
    `insert into warehouse.calls (call_id, started_at, direction, status, talk_seconds, account_number, legs_fetched_at,
       content_hash, source, fetch_seq, fetched_at)
     select '17000' || n || '.1', timestamptz '2026-03-02 00:00Z' + make_interval(secs => n * 86400.0 / $1::integer), 'inbound', 'answered', 10,
       '15559990000', now(), '', 'test', 1, now() from generate_series(0, $1::integer - 1) n`,
    callCount,
  );
  await query(
    `insert into warehouse.call_legs (call_id, leg_key, ordinal, caller_type, called_type, called_number, talk_seconds, content_hash, source, fetch_seq, fetched_at)
     select call_id, '#' || ordinal, ordinal, 'external', 'user', (200 + ordinal)::text, 10, '', 'test', 1, now()
     from warehouse.calls cross join generate_series(1, 3) ordinal`,
  );
});

test('thousands of calls are attributed at once', async () => {
  await facts.measure(
    ...(await query<{ id: string }>('select call_id as id from warehouse.calls')).map(({ id }) => id),
  );
  expect(
    await query(
      `select endpoint, user_id::integer as user, count(*)::integer from warehouse.call_attributions where kind = 'extension'
       group by 1, 2 order by 1, 2`,
    ),
  ).toEqual([
    { endpoint: '201', user: 1, count: callCount },
    { endpoint: '202', user: 2, count: callCount / 2 },
    { endpoint: '202', user: 3, count: callCount / 2 },
    { endpoint: '203', user: null, count: callCount },
  ]);
  expect(await value(`select count(*)::integer from warehouse.call_attributions where kind = 'number'`)).toBe(
    callCount,
  );
});

test('and again, when nothing of it has changed, without a write', async () => {
  const written = `select max(xmin::text::bigint)::text from warehouse.call_attributions`;
  const before = await value(written);
  await facts.measure(
    ...(await query<{ id: string }>('select call_id as id from warehouse.calls')).map(({ id }) => id),
  );
  expect(await value(written)).toBe(before);
});

test('extensions that were nobody’s are credited when their user is read', async () => {
  await query(`delete from warehouse.user_endpoints where endpoint = '203'`);
  await query(
    `insert into warehouse.user_endpoints (user_id, kind, endpoint, valid_from) values (4, 'extension', '203', '-infinity')`,
  );
  await facts.credit('203');
  expect(
    await value(`select count(*)::integer from warehouse.call_attributions where endpoint = '203' and user_id = 4`),
  ).toBe(callCount);
});

test('their day is rolled up', async () => {
  await facts.drain();
  expect(
    await query(
      'select user_key::integer as user, sum(handled_count)::integer as handled_count from reporting.agent_hourly group by 1 order by 1',
    ),
  ).toEqual([
    { user: 1, handled_count: callCount },
    { user: 2, handled_count: callCount / 2 },
    { user: 3, handled_count: callCount / 2 },
    { user: 4, handled_count: callCount },
  ]);
});
