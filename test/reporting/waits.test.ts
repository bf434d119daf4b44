import { afterAll, beforeAll, expect, test } from 'vitest';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, call } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const day = '2026-03-02';
const givenUp = { status: 'missed', is_abandoned: true };

beforeAll(async () => {
  await call({ call_id: '1.1', started_at: `${day}T15:00:00Z`, duration_seconds: 100, talk_seconds: 60 });
  await call({ call_id: '1.2', started_at: `${day}T15:01:00Z`, duration_seconds: 100, talk_seconds: 100 });
  await call({ call_id: '1.3', started_at: `${day}T15:02:00Z`, duration_seconds: 100, talk_seconds: null });
  await call({ call_id: '1.4', started_at: `${day}T15:03:00Z`, duration_seconds: null, talk_seconds: 60 });
  await call({ call_id: '1.5', started_at: `${day}T15:04:00Z`, ...givenUp, duration_seconds: 96, talk_seconds: null });
  await call({ call_id: '1.6', started_at: `${day}T15:05:00Z`, ...givenUp, duration_seconds: 3, talk_seconds: 0 });
  await facts.drain();
});

test('a wait of which the service reports only a part is not known, and no wait of zero is', async () => {
  expect(
    await query(
      'select call_id, wait_seconds, wait_basis, answer_wait_seconds, outcome from reporting.fct_call order by call_id',
    ),
  ).toEqual([
    { call_id: '1.1', wait_seconds: 40, wait_basis: 'summary', answer_wait_seconds: 40, outcome: 'answered' },
    { call_id: '1.2', wait_seconds: 0, wait_basis: 'summary', answer_wait_seconds: 0, outcome: 'answered' },
    { call_id: '1.3', wait_seconds: null, wait_basis: null, answer_wait_seconds: null, outcome: 'answered' },
    { call_id: '1.4', wait_seconds: null, wait_basis: null, answer_wait_seconds: null, outcome: 'answered' },
    { call_id: '1.5', wait_seconds: null, wait_basis: null, answer_wait_seconds: null, outcome: 'abandoned' },
    { call_id: '1.6', wait_seconds: 3, wait_basis: 'summary', answer_wait_seconds: null, outcome: 'short_abandoned' },
  ]);
});

test('it counts neither for the speed of answer nor for the service level', async () => {
  expect(
    await query(
      `select answered_count, answer_wait_count, answer_wait_avg_seconds, answered_in_time_count, abandoned_count,
         short_abandoned_count, longest_wait_seconds
       from reporting.call_daily where local_date = $1`,
      day,
    ),
  ).toEqual([
    {
      answered_count: '4',
      answer_wait_count: '2',
      answer_wait_avg_seconds: '20.0',
      answered_in_time_count: '1',
      abandoned_count: '1',
      short_abandoned_count: '1',
      longest_wait_seconds: 40,
    },
  ]);
});
