import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { lines, query, insert, call } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

describe('dim_user', () => {
  test('names users by what is known, those who left included, and shows no address and no private number', async () => {
    await insert(
      'warehouse.users',
      { user_id: 11, first_name: 'Ann', last_name: 'Lee', username: 'ann', title: 'Billing', time_zone: 'Asia/Tokyo' },
      {
        user_id: 12,
        first_name: ' ',
        last_name: '',
        username: 'portal-name',
        deleted_at: '2026-03-01T00:00:00Z',
        deleted_reason: 'gone',
      },
      { user_id: 13, first_name: null, last_name: null, username: '' },
    );
    expect(await lines('select user_id::integer, user_name, is_active from reporting.dim_user order by 1')).toEqual([
      '11 | Ann Lee | true',
      '12 | portal-name | false',
      '13 | user 13 | true',
    ]);
    const columns = await query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = 'reporting.dim_user'::regclass and attnum > 0`,
    );
    expect(columns.map(({ name }) => name)).not.toEqual(expect.arrayContaining([expect.stringMatching(/mail|mobile/)]));
  });
});

describe('completeness', () => {
  const hours = (date: string, count: number, values: Readonly<Record<string, unknown>>) =>
    Promise.all(
      Array.from({ length: count }, (_, hour) => {
        const from = new Date(Date.parse(`${date}T00:00:00Z`) + hour * 3_600_000);
        return insert('ops.coverage', {
          ...{ stream: 'calls', from_at: from, to_at: new Date(from.getTime() + 3_600_000), due_at: 'infinity' },
          ...{ is_watched: true, state: 'proven', reported_count: 2, held_count: 2, unannounced_count: 0, ...values },
        });
      }),
    );

  test('is whole where every hour is proven, else says why not; an hour that is not over does not count', async () => {
    await hours('2026-03-02', 24, {});
    await hours('2026-03-03', 23, { unannounced_count: 1 });
    await hours('2026-03-04', 24, { is_watched: false, unannounced_count: null });
    await query(
      `update ops.coverage set state = 'differs', held_count = 1, last_error = 'one is missing' where from_at = '2026-03-04T05:00:00Z'`,
    );
    await insert('ops.coverage', {
      ...{ stream: 'calls', from_at: new Date(Date.now() + 60_000), to_at: new Date(Date.now() + 3_660_000) },
      ...{ due_at: 'infinity', is_watched: true },
    });
    expect(
      await lines(
        `select utc_date::text as day, hour_count, proven_hour_count as proven, reported_count as reported, held_count as held,
           unannounced_count as unannounced, is_complete, difference from reporting.completeness order by 1`,
      ),
    ).toEqual([
      '2026-03-02 | 24 | 24 | 48 | 48 | 0 | true | -',
      '2026-03-03 | 24 | 23 | 46 | 46 | 23 | false | not every hour was compared',
      '2026-03-04 | 24 | 23 | 48 | 47 | - | false | one is missing',
    ]);
  });
});

describe('fct_transcript', () => {
  beforeAll(async () => {
    await facts.params({ time_zone: 'America/New_York' });
    // Half past midnight in New York, on the day on which the clock goes forward.
    await call({ call_id: '1700000001.1', started_at: '2026-03-08T05:30:00Z', ended_at: null });
    await insert(
      'warehouse.transcripts',
      {
        transcript_id: 1,
        call_id: '1700000001.1',
        csat_score: 0,
        agent_name: 'Somebody',
        agent_talk_seconds: 30,
        customer_talk_seconds: 90,
      },
      { transcript_id: 2, call_id: '1700000001.1', agent_talk_seconds: 0, customer_talk_seconds: 0 },
      { transcript_id: 3, call_id: '1700000009.1', csat_score: 5 },
      {
        transcript_id: 4,
        call_id: '1700000001.1',
        csat_score: 5,
        deleted_at: '2026-03-09T00:00:00Z',
        deleted_reason: 'gone',
      },
    );
    await facts.drain();
  });

  test('has the transcripts of calls that are held, a score of zero as zero and none as NULL', async () => {
    expect(
      await query(
        `select transcript_id::integer as id, local_date::text as day, csat_score, heard_agent_name as heard, agent_talk_seconds::float8 as talk
         from reporting.fct_transcript order by 1`,
      ),
    ).toEqual([
      { id: 1, day: '2026-03-08', csat_score: 0, heard: 'Somebody', talk: 30 },
      { id: 2, day: '2026-03-08', csat_score: null, heard: null, talk: 0 },
    ]);
  });
});
