import { afterAll, beforeAll, expect, test } from 'vitest';
import { query as ask } from '../../src/db/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { expectRows, value } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const text = 'select reporting.business_seconds($1, $2, $3)';
// Lines of offices: without one, always open, with a break, on Sunday morning, on Saturday night.
const [office, always, breaking, early, night] = ['', '12125550102', '12125550103', '12125550104', '12125550105'];
const everyDay = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const on = (days: readonly string[], span: string) => days.map((day) => `${day}: ${span}`).join(', ');

beforeAll(() =>
  facts.hours(`
business_hours: { ${on(everyDay.slice(0, 5), '09:00-17:00')}, holidays: [2026-03-31] }
offices:
  always: { lines: ["${always}"], ${on(everyDay, '00:00-24:00')} }
  with-a-break: { lines: ["${breaking}"], time_zone: Asia/Kolkata, monday: ["09:00-12:00", "13:00-17:00"] }
  early: { lines: ["${early}"], time_zone: America/Havana, sunday: 00:00-06:00 }
  night: { lines: ["${night}"], time_zone: America/Havana, saturday: 22:00-24:00 }`),
);

const hour = 3_600;
// Monday 2026-03-02 to Friday, nine to five in New York: 14:00 to 22:00 UTC.
test.each<[string, string, string, string | undefined, number]>([
  ['within the hours', '2026-03-02T15:00Z', '2026-03-02T15:00:30Z', office, 30],
  ['from opening', '2026-03-02T10:00Z', '2026-03-02T14:10Z', office, 600],
  ['over a night', '2026-03-02T21:50Z', '2026-03-03T14:05Z', office, 900],
  ['from closing to opening', '2026-03-02T22:00Z', '2026-03-03T14:00Z', office, 0],
  ['over a weekend, in which the clock changes', '2026-03-06T21:00Z', '2026-03-09T14:00Z', office, 2 * hour],
  ['a weekend', '2026-03-07T00:00-05:00', '2026-03-09T00:00-04:00', office, 0],
  ['over a holiday', '2026-03-30T20:00Z', '2026-04-01T14:00Z', office, 2 * hour],
  ['a day of 23 hours', '2026-03-08T00:00-05:00', '2026-03-09T00:00-04:00', always, 23 * hour],
  ['a day of 25 hours', '2026-11-01T00:00-04:00', '2026-11-02T00:00-05:00', always, 25 * hour],
  ['the day after the clock went forward', '2026-03-09T00:00Z', '2026-03-09T13:30Z', office, 1_800],
  ['the day after it went back', '2026-11-02T00:00Z', '2026-11-02T13:30Z', office, 0],
  ['over a break', '2026-03-02T10:00+05:30', '2026-03-02T14:00+05:30', breaking, 3 * hour],
  ['from the first of two midnights', '2026-10-31T22:00Z', '2026-11-01T22:00Z', early, 7 * hour],
  ['up to the first of two midnights', '2026-10-31T22:00Z', '2026-11-01T22:00Z', night, 2 * hour],
  ['to an end that comes first', '2026-03-02T16:00Z', '2026-03-02T15:00Z', office, 0],
])('business_seconds %s', async (_, from, to, line, seconds) => {
  expect(Number(await value(text, from, to, line))).toBe(seconds);
});

test('business_seconds is NULL without an end', async () => {
  expect(await value(text, '2026-03-02T16:00Z', null, office)).toBeNull();
});

test('business_seconds is the same in whatever zone it is asked from, on days that have no midnight there too', async () => {
  await facts.db.transaction().execute(async (tx) => {
    await ask(tx, `set local time zone 'America/Santiago'`, []);
    const text = `select reporting.business_seconds('2026-09-04T15:00Z', '2026-09-07T16:00Z')::integer as open`;
    expect(await ask(tx, text, [])).toEqual([{ open: 9 * hour }]);
  });
});

test('day_start is the instant at which a local day begins', async () => {
  await facts.params({ time_zone: 'America/New_York' });
  await expectRows(`
    select reporting.day_start('2026-03-08') as a, reporting.day_start('2026-03-09') as b, reporting.local_day('2026-03-09T03:59:59Z')::text`).toEqual(
    ['2026-03-08T05:00:00Z | 2026-03-09T04:00:00Z | 2026-03-08'],
  );
});

test.each(['America/Havana', 'Atlantic/Azores', 'Africa/Cairo', 'America/Santiago', 'Australia/Lord_Howe'])(
  'every hour of %s is within its day',
  async (time_zone) => {
    await facts.params({ time_zone });
    await expectRows(`
      select half from generate_series(timestamptz '2026-01-01', '2027-01-01', interval '30 minutes') half
      where half < reporting.day_start(reporting.local_day(half))
        or half >= reporting.day_start(reporting.local_day(half) + 1)`).toEqual([]);
  },
);

test('a day with two midnights begins at the first', async () => {
  await facts.params({ time_zone: 'America/Havana' });
  expect(await value(`select reporting.day_start('2026-11-01')`)).toEqual(new Date('2026-11-01T04:00:00Z'));
});

test('a service level is one of those that the rollups hold', async () => {
  await expect(facts.params({ service_level_seconds: 25 })).rejects.toMatchObject({ code: '23514' });
});
