import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { query as ask } from '../../src/db/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, insert, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

beforeAll(async () => {
  await facts.params({ is_text_shown: true });
  await facts.user(1, ['201']);
  for (const at of [1, 2]) {
    const call_id = `170000000${at}.1`;
    await facts.call({ call_id, started_at: '2026-03-02T10:00:00Z' });
    const leg = { leg_key: '1700000001.7', ordinal: 1, called_type: 'user', called_number: '201' };
    if (at === 1) await insert('warehouse.call_legs', { call_id, ...leg });
    await insert('warehouse.transcripts', {
      transcript_id: at,
      call_id,
      leg_unique_id: at === 1 ? leg.leg_key : null,
      agent_name: 'Somebody heard',
    });
  }
  await facts.drain();
});

describe('the account’s own measures', () => {
  const kpi = async (id: number, ordinal: number, name: string, score: number | null) => {
    await insert('warehouse.transcript_kpis', {
      transcript_id: id,
      ordinal,
      kpi_name: name,
      kpi_value: score,
      kpi_note: 'why',
    });
    await query(
      'insert into rollups.kpi_names (kpi_name) select $1 where not exists (select from rollups.kpi_names where kpi_name = $1)',
      name,
    );
  };
  const heard = { heard: 'Somebody heard' };
  const columns = async () =>
    (
      await query<{ name: string }>(
        `select attname as name from pg_attribute where attrelid = 'reporting.kpi_pivot'::regclass and attnum > 9 order by attnum`,
      )
    ).map(({ name }) => name);

  test('stand in kpi_scores one by one', async () => {
    await kpi(1, 1, 'Greeting', 3);
    await kpi(1, 2, 'Sold "Plus" – 100%', null);
    await kpi(2, 1, 'Greeting', 0);
    expect(
      await query(
        'select transcript_id::integer as id, kpi_name, kpi_value, kpi_note, agent_name, heard_agent_name as heard from reporting.kpi_scores order by 1, 2',
      ),
    ).toEqual([
      { id: 1, kpi_name: 'Greeting', kpi_value: 3, kpi_note: 'why', agent_name: 'User 1', ...heard },
      { id: 1, kpi_name: 'Sold "Plus" – 100%', kpi_value: null, kpi_note: 'why', agent_name: 'User 1', ...heard },
      { id: 2, kpi_name: 'Greeting', kpi_value: 0, kpi_note: 'why', agent_name: null, ...heard },
    ]);
  });

  test('are summed in kpi_daily by day and agent, beside how many were scored', async () => {
    await facts.drain();
    expect(
      await query(
        `select local_date::text as day, agent_name, heard_agent_name as heard, kpi_name, transcript_count, score_count, score_avg::float8 as average, score_sum::integer as sum
         from reporting.kpi_daily order by heard_agent_name, kpi_name`,
      ),
    ).toEqual([
      {
        day: '2026-03-02',
        agent_name: null,
        ...heard,
        kpi_name: 'Greeting',
        transcript_count: 1,
        score_count: 1,
        average: 0,
        sum: 0,
      },
      {
        day: '2026-03-02',
        agent_name: 'User 1',
        heard: null,
        kpi_name: 'Greeting',
        transcript_count: 1,
        score_count: 1,
        average: 3,
        sum: 3,
      },
      {
        day: '2026-03-02',
        agent_name: 'User 1',
        heard: null,
        kpi_name: 'Sold "Plus" – 100%',
        transcript_count: 1,
        score_count: 0,
        average: null,
        sum: 0,
      },
    ]);
  });

  test('become columns of kpi_pivot, new ones at the end', async () => {
    await facts.drain();
    expect(await columns()).toEqual(['kpi_1_greeting', 'kpi_2_sold_plus_100']);
    await kpi(2, 2, 'Apology', 1);
    await facts.drain();
    expect(await columns()).toEqual(['kpi_1_greeting', 'kpi_2_sold_plus_100', 'kpi_3_apology']);
    expect(
      await query(
        'select transcript_id::integer as id, kpi_1_greeting as a, kpi_2_sold_plus_100 as b, kpi_3_apology as c from reporting.kpi_pivot order by 1',
      ),
    ).toEqual([
      { id: 1, a: 3, b: null, c: null },
      { id: 2, a: 0, b: null, c: 1 },
    ]);
    expect(await value(`select col_description('reporting.kpi_pivot'::regclass, 11)`)).toContain('Sold "Plus" – 100%');
  });

  test('become columns when nobody reads kpi_pivot, whose readers hold up no drain', async () => {
    await kpi(2, 3, 'Patience', 2);
    await facts.db.transaction().execute(async (analyst) => {
      await ask(analyst, 'select from reporting.kpi_pivot', []);
      await facts.drain();
      expect(await columns()).toHaveLength(3);
    });
    await facts.drain();
    expect(await columns()).toContain('kpi_4_patience');
  });
});
