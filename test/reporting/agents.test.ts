import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { lines, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

beforeAll(() => facts.params({ time_zone: 'America/New_York' }));

test('calls that do not report their connected time are in no average, and an agent who has no other has none', async () => {
  const own = { started_at: '2026-05-05T15:00:00Z', called_type: 'user' };
  await facts.user(3, ['203', '204']);
  await facts.user(4, ['205']);
  await facts.call({ call_id: '1700000040.1', ...own, called_number: '203', talk_seconds: 60 });
  await facts.call({ call_id: '1700000041.1', ...own, called_number: '204', talk_seconds: null });
  await facts.call({ call_id: '1700000042.1', ...own, called_number: '205', talk_seconds: null });
  await facts.drain();
  expect(
    await query(
      `select user_key::integer as id, sum(handled_count)::integer as handled, sum(talk_count)::integer as n, sum(talk_seconds)::integer as talk
       from reporting.agent_hourly where local_date = '2026-05-05' group by 1 order by 1`,
    ),
  ).toEqual([
    { id: 3, handled: 2, n: 1, talk: 60 },
    { id: 4, handled: 1, n: 0, talk: 0 },
  ]);
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

  const columns = `user_key::integer as id, direction, handled_count as handled, answered_count as answered, placed_count as placed,
    connected_count as connected, placed_connected_count as reached, unconnected_count as unconnected, rang_count as rang,
    talk_seconds::integer as talk, talk_count as n`;
  const worked = [
    '6 | internal | 2 | 0 | 2 | 1 | 1 | 1 | 0 | 30 | 1',
    '6 | outbound | 5 | 0 | 5 | 2 | 2 | 2 | 0 | 180 | 2',
    '7 | inbound | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 90 | 1',
    '7 | internal | 1 | 1 | 0 | 1 | 0 | 0 | 1 | 30 | 1',
  ];

  test('internal calls stand apart, and unanswered dials are not connected', async () => {
    expect(
      await lines(
        `select ${columns} from reporting.agent_hourly where local_date = '${day}' and user_key in (6, 7) order by 1, 2`,
      ),
    ).toEqual(worked);
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
      `select local_hour, rang_count, answered_count from reporting.agent_hourly where user_key = 8 order by local_hour`,
    ),
  ).toEqual([
    { local_hour: 9, rang_count: 1, answered_count: 0 },
    { local_hour: 10, rang_count: 2, answered_count: 0 },
  ]);
});
