import { SegmentedMessage } from 'sms-segments-calculator';
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

test('concurrent_calls carries calls over into hours in which none begins', async () => {
  await using own = await factsDatabase();
  const lasting = (id: string, from: string, to: string) =>
    own.call({ call_id: id, started_at: `2026-03-02T${from}Z`, ended_at: `2026-03-02T${to}Z` });
  await lasting('1.1', '09:10:00', '11:05:00');
  await lasting('1.2', '09:20:00', '09:30:00');
  await lasting('1.3', '09:30:00', '09:40:00');
  const hours = await own.query(
    `select local_hour, peak_count::integer as peak, peak_at from reporting.concurrent_calls('2026-03-02', '2026-03-02')
     where peak_count > 0 order by 1`,
  );
  expect(hours).toEqual([
    { local_hour: 9, peak: 2, peak_at: new Date('2026-03-02T09:20:00Z') },
    { local_hour: 10, peak: 1, peak_at: new Date('2026-03-02T10:00:00Z') },
    { local_hour: 11, peak: 1, peak_at: new Date('2026-03-02T11:00:00Z') },
  ]);
});

test('a contact is of the country that its number begins with', async () => {
  await using own = await factsDatabase();
  const numbers = {
    '12125550001': '1',
    '447700900123': '44',
    '35312345678': '353',
    '79161234567': '7',
    '1999': null,
    '5551234': null,
  };
  for (const number of Object.keys(numbers)) await own.query('insert into rollups.contacts values ($1)', number);
  const rows = await own.query<{ number: string; code: string | null }>(
    'select number, calling_code as code from reporting.dim_contact where number is not null',
  );
  expect(Object.fromEntries(rows.map(({ number, code }) => [number, code]))).toEqual(numbers);
});

test('segments are estimated as the calculator of segments counts them', async () => {
  const texts = [
    '',
    'Hi',
    'o'.repeat(160),
    'o'.repeat(161),
    '€'.repeat(80),
    '€'.repeat(81),
    'é'.repeat(306),
    '~^{}[]\\|',
  ];
  texts.push(
    'Я'.repeat(70),
    'Я'.repeat(71),
    '🙂'.repeat(35),
    '🙂'.repeat(36),
    'ç'.repeat(71),
    'a\r\nb@£$-_!"#¤%&\'()*+,./:;<=>?¡¿§',
  );
  for (const text of texts) {
    const expected = Math.max(1, new SegmentedMessage(text).segmentsCount);
    expect(await facts.value('select reporting.sms_segments($1)', text), text.slice(0, 20)).toBe(expected);
  }
});
