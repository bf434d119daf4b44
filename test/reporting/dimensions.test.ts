import { expect, test } from 'vitest';
import { factsDatabase, rowsOf } from './facts.ts';

test('dim_user names users by what is known, those who left included, and shows no address and no private number', async () => {
  await using facts = await factsDatabase();
  await facts.insert(
    'warehouse.users',
    { user_id: 11, first_name: 'Ann', last_name: 'Lee', username: 'ann', title: 'Billing', time_zone: 'Asia/Tokyo' },
    {
      user_id: 12,
      first_name: ' ',
      last_name: '',
      username: 'portal-name',
      deleted_at: '10:00',
      deleted_reason: 'gone',
    },
    { user_id: 13, first_name: null, last_name: null, username: '' },
  );
  await facts
    .expectRows('select user_key, user_name, is_active from reporting.dim_user order by 1')
    .toEqual(['11 | Ann Lee | true', '12 | portal-name | false', '13 | user 13 | true']);
  const columns = await facts.lines(
    `select attname from pg_attribute where attrelid = 'reporting.dim_user'::regclass and attnum > 0`,
  );
  expect(columns).not.toEqual(expect.arrayContaining([expect.stringMatching(/mail|mobile/)]));
});

test('a day of completeness is whole where every hour is proven, else it says why not; an hour that is not over does not count', async () => {
  await using facts = await factsDatabase();
  const hours = (date: string, count: number, values: object) =>
    facts.insert(
      'ops.coverage',
      ...Array.from({ length: count }, (_, hour) => ({
        ...{
          stream: 'calls',
          from_at: `${date}T${String(hour).padStart(2, '0')}:00`,
          due_at: 'infinity',
          is_watched: true,
        },
        ...{ to_at: new Date(Date.parse(`2026-${date}T00:00Z`) + (hour + 1) * 3_600_000), state: 'proven' },
        ...{ reported_count: 2, held_count: 2, unannounced_count: 0, ...values },
      })),
    );
  await hours('03-02', 24, {});
  await hours('03-03', 23, { unannounced_count: 1 });
  await hours('03-04', 24, { is_watched: false, unannounced_count: null });
  await facts.query(`
    update ops.coverage set state = 'differs', held_count = 1, last_error = 'one is missing' where from_at = '2026-03-04T05:00:00Z'`);
  await facts.query(`
    insert into ops.coverage (stream, from_at, to_at, due_at, is_watched)
    values ('calls', now() + interval '1 minute', now() + interval '61 minutes', 'infinity', true)`);
  await facts
    .expectRows(`
    select utc_date::text, hour_count as hours, proven_hour_count as proven, reported_count as reported, held_count as held,
      unannounced_count as unannounced, is_complete, difference from reporting.completeness order by 1`)
    .toEqual([
      '2026-03-02 | 24 | 24 | 48 | 48 | 0 | true | -',
      '2026-03-03 | 24 | 23 | 46 | 46 | 23 | false | not every hour was compared',
      '2026-03-04 | 24 | 23 | 48 | 47 | - | false | one is missing',
    ]);
});

test('fct_transcript has the transcripts of calls that are held, a score of zero as zero and none as NULL', async () => {
  await using facts = await factsDatabase();
  await facts.params({ time_zone: 'America/New_York' });
  // Half past midnight in New York, on the day on which the clock goes forward.
  await facts.call({ call_id: '1.1', started_at: '03-08T05:30', ended_at: null });
  const transcripts = rowsOf(`
    transcript_id call_id csat_score agent_name agent_talk_seconds customer_talk_seconds deleted_at  deleted_reason
    1             1.1     0          Somebody   30                 90                    -           -
    2             1.1     -          -          0                  0                     -           -
    3             1.9     5          -          -                  -                     -           -
    4             1.1     5          -          -                  -                     03-09T00:00 gone`);
  await facts.insert('warehouse.transcripts', ...transcripts);
  await facts.drain();
  await facts
    .expectRows(`
    select transcript_id, local_date::text, csat_score, heard_agent_name, agent_talk_seconds::float8 from reporting.fct_transcript
    order by 1`)
    .toEqual(['1 | 2026-03-08 | 0 | Somebody | 30', '2 | 2026-03-08 | - | - | 0']);
});
