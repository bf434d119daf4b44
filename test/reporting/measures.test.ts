import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, insert } = facts;
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
  };
  test('stand in fct_kpi one by one', async () => {
    await kpi(1, 1, 'Greeting', 3);
    await kpi(1, 2, 'Sold "Plus" – 100%', null);
    await kpi(2, 1, 'Greeting', 0);
    expect(
      await query(
        'select transcript_id::integer as id, kpi_name, kpi_value, kpi_note, agent_name from reporting.fct_kpi order by 1, 2',
      ),
    ).toEqual([
      { id: 1, kpi_name: 'Greeting', kpi_value: 3, kpi_note: 'why', agent_name: 'User 1' },
      { id: 1, kpi_name: 'Sold "Plus" – 100%', kpi_value: null, kpi_note: 'why', agent_name: 'User 1' },
      { id: 2, kpi_name: 'Greeting', kpi_value: 0, kpi_note: 'why', agent_name: null },
    ]);
  });
});
