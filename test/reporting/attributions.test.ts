import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, lines, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

describe('a call that was read whole', () => {
  const id = '1700000020.1';
  const leg = (ordinal: number, values: Record<string, unknown>) =>
    facts.insert('warehouse.call_legs', { call_id: id, leg_key: `#${ordinal}`, ordinal, ...values });

  beforeAll(async () => {
    await facts.user(2, ['201', '202']);
    await call({
      call_id: id,
      started_at: '2026-03-05T15:00:00Z',
      legs_fetched_at: '2026-03-05T16:00:00Z',
      transferred_count: 1,
    });
    const queue = (number: string, kind = 'queue') => ({ called_type: kind, called_number: number, called_name: 'Q' });
    await leg(1, { caller_type: 'external', caller_number: '15550000001', called_type: 'ivr', called_number: '73626' });
    await leg(2, { caller_type: 'ivr', ...queue('601') });
    await leg(3, {
      caller_type: 'queue',
      called_type: 'user',
      called_number: '202',
      talk_seconds: 0,
      status: 'noanswer',
    });
    await leg(4, { caller_type: 'ivr', ...queue('', 'huntgroup') });
    await leg(5, {
      caller_type: 'huntgroup',
      called_type: 'user',
      called_number: '201',
      talk_seconds: 60,
      status: 'answer',
    });
    await leg(6, {
      caller_type: 'user',
      caller_number: '201',
      called_type: 'user',
      called_number: '202',
      talk_seconds: 40,
      bridged_from_call_id: id,
    });
    await facts.measure(id);
    await facts.drain();
  });

  test('is attributed to what its legs touched, with the source', async () => {
    expect(
      await lines(
        `select kind, endpoint, role, user_id::integer, talk_seconds, source from warehouse.call_attributions
         where call_id = $1 order by kind, endpoint, role`,
        id,
      ),
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
  });

  test('has a row for each user and role', async () => {
    expect(
      await query(
        `select user_key::integer as user, role, talk_seconds::integer as talk, direction, source from reporting.fct_call_agent
         where call_id = $1 order by 2`,
        id,
      ),
    ).toEqual(
      [
        { role: 'answered', talk: 100 },
        { role: 'rang', talk: null },
        { role: 'transferred_out', talk: null },
        { role: 'transferred_to', talk: null },
      ].map((each) => ({ user: 2, ...each, direction: 'inbound', source: 'legs' })),
    );
  });

  test('counts once for a user whom it reached twice', async () => {
    expect(
      await lines(
        `select user_key::integer as user, user_name, handled_count, rang_count, talk_seconds::integer, talk_count
         from reporting.agent_hourly where local_date = '2026-03-05'`,
      ),
    ).toEqual(['2 | User 2 | 1 | 0 | 100 | 1']);
  });

  test('is credited when the users are read after it', async () => {
    await call({
      call_id: '1700000021.1',
      started_at: '2026-03-06T15:00:00Z',
      legs_fetched_at: '2026-03-06T16:00:00Z',
      called_number: '299',
    });
    await facts.measure('1700000021.1');
    await facts.user(9, ['299']);
    await facts.drain();
    expect(
      await query(
        `select user_key::integer as user, handled_count from reporting.agent_hourly where local_date = '2026-03-06'`,
      ),
    ).toEqual([{ user: 9, handled_count: 1 }]);
  });
});

test('calls whose ends alone are known, and transcripts of what a user passed on, are credited when the users are read after them', async () => {
  const id = '1700000030.1';
  const started_at = '2026-03-10T15:00:00Z';
  await call({ call_id: id, started_at, legs_fetched_at: '2026-03-10T16:00:00Z' });
  await facts.insert('warehouse.call_legs', {
    call_id: id,
    leg_key: '1700000030.2',
    ordinal: 2,
    caller_type: 'user',
    caller_number: '398',
    called_type: 'external',
  });
  await facts.insert('warehouse.transcripts', { transcript_id: 30, call_id: id, leg_unique_id: '1700000030.2' });
  await call({ call_id: '1700000031.1', started_at, called_number: '399' });
  await call({ call_id: '1700000032.1', started_at, direction: 'outbound', caller_type: 'user', caller_number: '399' });
  await facts.drain();
  await facts.user(8, ['398', '399']);
  await facts.drain();
  expect(
    await query(
      `select user_key::integer as user, direction, handled_count from reporting.agent_hourly where local_date = '2026-03-10' order by 2`,
    ),
  ).toEqual([
    { user: 8, direction: 'inbound', handled_count: 1 },
    { user: 8, direction: 'outbound', handled_count: 1 },
  ]);
  expect(await query(`select user_key::integer as user from reporting.fct_transcript where call_id = $1`, id)).toEqual([
    { user: 8 },
  ]);
});

test('a queue without a number counts under the name that it has now', async () => {
  const queue = { called_type: 'queue', called_number: '', called_name: 'Support' };
  await call({ call_id: '1700000040.1', started_at: '2026-03-11T15:00:00Z', ...queue });
  await facts.drain();
  await query(`update warehouse.calls set called_name = 'Help', content_hash = 'new' where call_id = '1700000040.1'`);
  await facts.drain();
  expect(await query(`select endpoint from reporting.fct_queue_visit where local_date = '2026-03-11'`)).toEqual([
    { endpoint: 'Help' },
  ]);
});
