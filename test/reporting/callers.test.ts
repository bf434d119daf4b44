import { SegmentedMessage } from 'sms-segments-calculator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { query as ask } from '../../src/db/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { call } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const missed = { status: 'missed', talk_seconds: 0, duration_seconds: 30 };
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

beforeAll(async () => {
  const anna = { external_number: '12125550001' };
  await call({ ...anna, call_id: '1.1', started_at: '15:00' });
  await call({ ...anna, ...missed, call_id: '1.2', started_at: '03-07T15:00' });
  await call({ ...anna, call_id: '1.3', started_at: '03-08T15:00' });
  await call({ ...anna, call_id: '1.4', started_at: '03-20T15:00' });
  await call({ call_id: '2.1', started_at: hoursAgo(2), external_number: '12125550002' });
  await facts.drain();
});

test('caller_calls tells first and repeated calls, and those after which nobody called again', async () => {
  const told = (from: string, to: string, span: string) =>
    facts.expectRows(
      'select call_id, is_first_time, is_repeat, is_resolved from reporting.caller_calls($1, $2, $3) order by call_id',
      `2026-${from}`,
      `2026-${to}`,
      span,
    );
  await told('03-01', '03-31', '7 days').toEqual([
    '1.1 | true | false | false',
    '1.2 | false | true | -',
    '1.3 | false | true | true',
    '1.4 | false | false | true',
  ]);
  // Calls outside of the days count as the caller's other calls.
  await told('03-08', '03-08', '1 day').toEqual(['1.3 | false | true | true']);
  await told('03-08', '03-08', '23 hours').toEqual(['1.3 | false | false | true']);
  await told('03-20', '03-20', '30 days').toEqual(['1.4 | false | true | true']);
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
  await own.calls(`
    call_id started_at ended_at
    1.1     09:10      11:05
    1.2     09:20      09:30
    1.3     09:30      09:40`);
  await own
    .expectRows(`
    select local_hour, peak_count, peak_at from reporting.concurrent_calls('2026-03-02', '2026-03-02') where peak_count > 0 order by 1`)
    .toEqual(['9 | 2 | 2026-03-02T09:20:00Z', '10 | 1 | 2026-03-02T10:00:00Z', '11 | 1 | 2026-03-02T11:00:00Z']);
});

test('a contact is of the country that its number begins with', async () => {
  await using own = await factsDatabase();
  const contacts = [
    '12125550001 | 1',
    '1999 | -',
    '35312345678 | 353',
    '447700900123 | 44',
    '5551234 | -',
    '79161234567 | 7',
    'unknown | -',
  ];
  for (const contact of contacts.slice(0, -1))
    await own.query('insert into rollups.contacts values ($1)', contact.split(' ')[0]);
  await own.expectRows('select contact_key, calling_code from reporting.dim_contact order by 1').toEqual(contacts);
});

test('segments are estimated as the calculator of segments counts them', async () => {
  const times = (text: string, ...counts: number[]) => counts.map((count) => text.repeat(count));
  const texts = [
    ...['', 'Hi', '~^{}[]\\|', 'é'.repeat(306), 'a\r\nb@£$-_!"#¤%&\'()*+,./:;<=>?¡¿§', 'ç'.repeat(71)],
    ...[...times('o', 160, 161), ...times('€', 80, 81), ...times('Я', 70, 71), ...times('🙂', 35, 36)],
  ];
  for (const text of texts) {
    const expected = Math.max(1, new SegmentedMessage(text).segmentsCount);
    expect(await facts.value('select reporting.sms_segments($1)', text), text.slice(0, 20)).toBe(expected);
  }
});
