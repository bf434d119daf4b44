import { afterAll, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, expectRows, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

test('a call that was read whole is attributed to what its legs touched, and counts once for a user whom it reached twice', async () => {
  await facts.user(2, ['201', '202']);
  await call({ call_id: '1.1', started_at: '15:00', transferred_count: 1 }, [
    'external:15550000001>ivr:73626',
    'ivr>queue:601:Q',
    'queue>user:202 - - 0',
    'ivr>huntgroup::Q',
    'huntgroup>user:201 - - 60',
    'user:201>user:202 - - 40',
  ]);
  await facts.drain();
  await expectRows(
    'select kind, endpoint, role, user_id, talk_seconds, source from warehouse.call_attributions order by 1, 2, 3',
  ).toEqual([
    'extension | 201 | answered | 2 | 60 | legs',
    'extension | 201 | transferred_out | 2 | - | legs',
    'extension | 202 | answered | 2 | 40 | legs',
    'extension | 202 | rang | 2 | - | legs',
    'extension | 202 | transferred_to | 2 | - | legs',
    'huntgroup | Q | entered | - | - | legs',
    'number | 15559990000 | entered | - | - | summary',
    'queue | 601 | entered | - | - | legs',
  ]);
  await expectRows(
    'select user_key, role, talk_seconds, direction, source from reporting.fct_call_agent order by 2',
  ).toEqual([
    '2 | answered | 100 | inbound | legs',
    '2 | rang | - | inbound | legs',
    '2 | transferred_out | - | inbound | legs',
    '2 | transferred_to | - | inbound | legs',
  ]);
  await expectRows(
    'select user_key, handled_count, rang_count, talk_seconds, talk_count from reporting.agent_hourly',
  ).toEqual(['2 | 1 | 0 | 100 | 1']);
});

test('calls and the transcripts of what a user passed on are credited when the users are read after them', async () => {
  const placed = { direction: 'outbound', caller_type: 'user', caller_number: '399' };
  // Of these two, the ends alone are known; the third was read whole.
  await call({ call_id: '3.1', started_at: '03-10T15:00', called_number: '399' });
  await call({ call_id: '3.2', started_at: '03-10T15:00', ...placed });
  await call({ call_id: '3.3', started_at: '03-11T15:00', called_number: '299' }, []);
  await call({ call_id: '3.4', started_at: '03-12T15:00', called_type: 'queue' }, ['user:398>external']);
  await facts.insert('warehouse.transcripts', { transcript_id: 30, call_id: '3.4', leg_unique_id: '#1' });
  await facts.drain();
  await facts.user(8, ['398', '399', '299']);
  await facts.drain();
  await expectRows(`
    select local_date::text, user_key, direction, answered_count, placed_count from reporting.agent_hourly
    where local_date between '2026-03-10' and '2026-03-11' order by 1, 3`).toEqual([
    '2026-03-10 | 8 | inbound | 1 | 0',
    '2026-03-10 | 8 | outbound | 0 | 1',
    '2026-03-11 | 8 | inbound | 1 | 0',
  ]);
  await expectRows('select transcript_id, user_key from reporting.fct_transcript').toEqual(['30 | 8']);
});

test('a queue without a number counts under the name that it has now', async () => {
  const queue = { called_type: 'queue', called_number: '', called_name: 'Support' };
  await call({ call_id: '4.1', started_at: '03-14T15:00', ...queue });
  await facts.drain();
  await query(`update warehouse.calls set called_name = 'Help', content_hash = 'new' where call_id = '4.1'`);
  await facts.drain();
  await expectRows(`select queue_key from reporting.fct_queue_visit where call_id = '4.1'`).toEqual(['queue:Help']);
});
