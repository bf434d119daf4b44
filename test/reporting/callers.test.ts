import { afterAll, beforeAll, expect, test } from 'vitest';
import { query as ask } from '../../src/db/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call, query } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

beforeAll(async () => {
  const anna = { external_number: '12125550001' };
  const days = ['2026-03-02', '2026-03-07', '2026-03-08', '2026-03-20'];
  await call({ ...anna, call_id: '1.1', started_at: `${days[0]}T15:00:00Z` });
  await call({ ...anna, ...missed, call_id: '1.2', started_at: `${days[1]}T15:00:00Z` });
  await call({ ...anna, call_id: '1.3', started_at: `${days[2]}T15:00:00Z` });
  await call({ ...anna, call_id: '1.4', started_at: `${days[3]}T15:00:00Z` });
  await call({ call_id: '2.1', started_at: hoursAgo(2), external_number: '12125550002' });
  await facts.drain();
});

const told = (from: string, to: string, span: string) =>
  query(
    `select call_id, is_first_time, is_repeat, is_resolved from reporting.caller_calls($1, $2, $3) order by call_id`,
    from,
    to,
    span,
  );

test('caller_calls tells first and repeated calls, and those after which nobody called again', async () => {
  const row = (call_id: string, is_first_time: boolean, is_repeat: boolean, is_resolved: boolean | null) => ({
    ...{ call_id, is_first_time, is_repeat, is_resolved },
  });
  expect(await told('2026-03-01', '2026-03-31', '7 days')).toEqual([
    row('1.1', true, false, false),
    row('1.2', false, true, null),
    row('1.3', false, true, true),
    row('1.4', false, false, true),
  ]);
  // Calls outside of the days count as the caller's other calls.
  expect(await told('2026-03-08', '2026-03-08', '1 day')).toEqual([row('1.3', false, true, true)]);
  expect(await told('2026-03-08', '2026-03-08', '23 hours')).toEqual([row('1.3', false, false, true)]);
  expect(await told('2026-03-20', '2026-03-20', '30 days')).toEqual([row('1.4', false, true, true)]);
});

test('whether one call was enough is not known before the window is over', async () => {
  const today = `reporting.local_day(now()) - 1, reporting.local_day(now())`;
  const resolved = (span: string) =>
    facts.value(`select is_resolved from reporting.caller_calls(${today}, '${span}') where call_id = '2.1'`);
  expect([await resolved('3 hours'), await resolved('1 hour')]).toEqual([null, true]);
});

test('a day of the window has 24 hours in every session', async () => {
  // The clock of New York went forward between the two.
  const repeated = (zone: string) =>
    facts.db.transaction().execute(async (tx) => {
      await ask(tx, `set local time zone '${zone}'`, []);
      return ask(tx, `select is_repeat from reporting.caller_calls('2026-03-08', '2026-03-08', '1 day')`, []);
    });
  expect(await repeated('America/New_York')).toEqual(await repeated('UTC'));
});
