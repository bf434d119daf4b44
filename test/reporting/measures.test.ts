import { test } from 'vitest';
import { factsDatabase } from './facts.ts';

test('the account’s own measures stand in fct_kpi one by one', async () => {
  await using facts = await factsDatabase();
  await facts.params({ is_text_shown: true });
  await facts.user(1, ['201']);
  await facts.call({ call_id: '1.1', started_at: '10:00' }, ['user:201']);
  await facts.call({ call_id: '1.2', started_at: '10:00' });
  for (const [id, leg_unique_id] of [
    [1, '#1'],
    [2, null],
  ]) {
    const heard = { leg_unique_id, agent_name: 'Somebody heard' };
    await facts.insert('warehouse.transcripts', { transcript_id: id, call_id: `1.${id}`, ...heard });
  }
  await facts.query(`
    insert into warehouse.transcript_kpis (transcript_id, ordinal, kpi_name, kpi_value, kpi_note)
    values (1, 1, 'Greeting', 3, 'why'), (1, 2, 'Sold "Plus" – 100%', null, 'why'), (2, 1, 'Greeting', 0, 'why')`);
  await facts.drain();
  await facts
    .expectRows('select transcript_id, kpi_name, kpi_value, kpi_note, agent_name from reporting.fct_kpi order by 1, 2')
    .toEqual([
      '1 | Greeting | 3 | why | User 1',
      '1 | Sold "Plus" – 100% | - | why | User 1',
      '2 | Greeting | 0 | why | -',
    ]);
});
