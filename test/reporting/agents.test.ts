import { test } from 'vitest';
import { factsDatabase } from './facts.ts';

const placed = { direction: 'outbound', caller_type: 'user', caller_number: '206', called_type: 'external' };
const internal = { ...placed, called_type: 'user', is_internal: true, external_number: null, account_number: null };

test('agent_hourly has internal calls apart, unanswered dials as not connected, and no unreported time in an average', async () => {
  await using facts = await factsDatabase();
  for (const user of [3, 4, 6, 7, 8]) await facts.user(user, [`20${user}`]);
  const missed = { status: 'missed', talk_seconds: 0 };
  const calls = [
    { called_number: '203', talk_seconds: 60 },
    { called_number: '203', talk_seconds: null },
    { called_number: '204', talk_seconds: null },
    // User 6 dials five times: two talk, nobody answers one, the service says nothing of one, and a mailbox answers the last.
    { ...placed, talk_seconds: 60 },
    { ...placed, talk_seconds: 120 },
    { ...placed, ...missed },
    { ...placed, status: 'unknown', talk_seconds: null },
    { ...placed, status: 'voicemail', talk_seconds: 20 },
    // Among colleagues: 7 answers one and misses one.
    { ...internal, called_number: '207', talk_seconds: 30 },
    { ...internal, called_number: '207', ...missed },
    { called_number: '207', talk_seconds: 90 },
  ];
  for (const [at, values] of calls.entries())
    await facts.call({ call_id: `1.${10 + at}`, started_at: '15:00', ...values });
  await facts.drain();
  await facts
    .expectRows(`
    select user_key, direction, handled_count as handled, answered_count as answered, placed_count as placed, connected_count as connected,
      placed_connected_count as reached, unconnected_count as unconnected, rang_count as rang, talk_seconds as talk, talk_count as n
    from reporting.agent_hourly order by 1, 2`)
    .toEqual([
      '3 | inbound | 2 | 2 | 0 | 2 | 0 | 0 | 0 | 60 | 1',
      '4 | inbound | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0',
      '6 | internal | 2 | 0 | 2 | 1 | 1 | 1 | 0 | 30 | 1',
      '6 | outbound | 5 | 0 | 5 | 2 | 2 | 2 | 0 | 180 | 2',
      '7 | inbound | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 90 | 1',
      '7 | internal | 1 | 1 | 0 | 1 | 0 | 0 | 1 | 30 | 1',
    ]);
});

test('agent_hourly counts by the local hour in which the call began', async () => {
  await using facts = await factsDatabase();
  await facts.params({ time_zone: 'America/New_York' });
  await facts.user(8, ['208']);
  // In New York, four hours behind UTC: 09:59:59, 10:00 and 10:59.
  for (const started_at of ['07-01T13:59:59', '07-01T14:00', '07-01T14:59']) {
    await facts.call({ call_id: started_at, started_at, called_number: '208', status: 'missed', talk_seconds: 0 });
  }
  await facts.drain();
  await facts
    .expectRows('select local_hour, rang_count, answered_count from reporting.agent_hourly order by 1')
    .toEqual(['9 | 1 | 0', '10 | 2 | 0']);
});
