import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { query as ask } from '../../src/db/database.ts';
import { factsDatabase } from './facts.ts';

const facts = await factsDatabase();
const { query, value, insert } = facts;
afterAll(() => facts[Symbol.asyncDispose]());

const seconds = async (from: string, to: string, schedule = 1) =>
  Number(await value('select reporting.business_seconds($1, $2, $3)', from, to, schedule));

beforeAll(async () => {
  await query(`update reporting.schedules set time_zone = 'America/New_York'`);
  await insert('reporting.schedules', { schedule_id: 2, name: 'always', time_zone: 'America/New_York' });
  for (let isodow = 1; isodow <= 7; isodow += 1) {
    await insert('reporting.business_hours', { schedule_id: 2, isodow, opens: '00:00', closes: '24:00' });
  }
  await insert('reporting.schedules', { schedule_id: 3, name: 'with a break', time_zone: 'Asia/Kolkata' });
  await insert('reporting.business_hours', { schedule_id: 3, isodow: 1, opens: '09:00', closes: '12:00' });
  await insert('reporting.business_hours', { schedule_id: 3, isodow: 1, opens: '13:00', closes: '17:00' });
});

describe('business_seconds', () => {
  // Monday 2026-03-02, nine to five in New York: 14:00 to 22:00 UTC.
  test('counts what lies within the hours', async () => {
    expect(await seconds('2026-03-02T15:00:00Z', '2026-03-02T15:00:30Z')).toBe(30);
    expect(await seconds('2026-03-02T10:00:00Z', '2026-03-02T14:10:00Z')).toBe(600);
    expect(await seconds('2026-03-02T21:50:00Z', '2026-03-03T14:05:00Z')).toBe(900);
    expect(await seconds('2026-03-02T22:00:00Z', '2026-03-03T14:00:00Z')).toBe(0);
  });

  test('counts no weekend', async () => {
    expect(await seconds('2026-03-06T21:00:00Z', '2026-03-09T14:00:00Z')).toBe(3600 + 3600);
    expect(await seconds('2026-03-07T00:00:00-05:00', '2026-03-09T00:00:00-04:00')).toBe(0);
  });

  test('counts no holiday', async () => {
    await insert('reporting.holidays', { schedule_id: 1, holiday_date: '2026-03-03', name: 'A feast' });
    expect(await seconds('2026-03-02T21:00:00Z', '2026-03-04T15:00:00Z')).toBe(3600 + 3600);
    expect(
      await query(`select holiday_name, is_business_day from reporting.dim_date where local_date = '2026-03-03'`),
    ).toEqual([{ holiday_name: 'A feast', is_business_day: false }]);
  });

  test('counts 23 hours on the day on which the clock goes forward, and 25 on which it goes back', async () => {
    expect(await seconds('2026-03-08T00:00:00-05:00', '2026-03-09T00:00:00-04:00', 2)).toBe(23 * 3600);
    expect(await seconds('2026-11-01T00:00:00-04:00', '2026-11-02T00:00:00-05:00', 2)).toBe(25 * 3600);
  });

  test('counts the hours of the day after the change by the new clock', async () => {
    expect(await seconds('2026-03-09T00:00:00Z', '2026-03-09T13:30:00Z')).toBe(1800);
    expect(await seconds('2026-11-02T00:00:00Z', '2026-11-02T13:30:00Z')).toBe(0);
  });

  test('leaves a break out', async () => {
    expect(await seconds('2026-03-02T10:00:00+05:30', '2026-03-02T14:00:00+05:30', 3)).toBe(3 * 3600);
  });

  test('counts from the first of two midnights, and up to it', async () => {
    await insert('reporting.schedules', { schedule_id: 4, name: 'Sunday morning', time_zone: 'America/Havana' });
    await insert('reporting.business_hours', { schedule_id: 4, isodow: 7, opens: '00:00', closes: '06:00' });
    await insert('reporting.schedules', { schedule_id: 5, name: 'Saturday night', time_zone: 'America/Havana' });
    await insert('reporting.business_hours', { schedule_id: 5, isodow: 6, opens: '22:00', closes: '24:00' });
    const night = ['2026-10-31T22:00:00Z', '2026-11-01T22:00:00Z'] as const;
    expect(await seconds(...night, 4)).toBe(7 * 3600);
    expect(await seconds(...night, 5)).toBe(2 * 3600);
  });

  test('is the same in whatever zone it is asked from, on days that have no midnight there too', async () => {
    await facts.db.transaction().execute(async (tx) => {
      await ask(tx, `set local time zone 'America/Santiago'`, []);
      const text = `select reporting.business_seconds('2026-09-04T15:00:00Z', '2026-09-07T16:00:00Z', 1)::integer as open`;
      expect(await ask(tx, text, [])).toEqual([{ open: 9 * 3600 }]);
    });
  });

  test('is nothing when the end comes first, and NULL without an end', async () => {
    expect(await seconds('2026-03-02T16:00:00Z', '2026-03-02T15:00:00Z')).toBe(0);
    expect(await value(`select reporting.business_seconds('2026-03-02T16:00:00Z', null, 1)`)).toBeNull();
  });
});

test('day_start is the instant at which a local day begins', async () => {
  await facts.params({ time_zone: 'America/New_York' });
  expect(await query(`select reporting.day_start('2026-03-08') as a, reporting.day_start('2026-03-09') as b`)).toEqual([
    { a: new Date('2026-03-08T05:00:00Z'), b: new Date('2026-03-09T04:00:00Z') },
  ]);
  expect(await value(`select reporting.local_day('2026-03-09T03:59:59Z')::text`)).toBe('2026-03-08');
});

test('a day with two midnights begins at the first, and every hour is within its day', async () => {
  for (const zone of ['America/Havana', 'Atlantic/Azores', 'Africa/Cairo', 'America/Santiago', 'Australia/Lord_Howe']) {
    await facts.params({ time_zone: zone });
    expect(
      await query(
        `select half from generate_series(timestamptz '2026-01-01', '2027-01-01', interval '30 minutes') half
         where half < reporting.day_start(reporting.local_day(half))
           or half >= reporting.day_start(reporting.local_day(half) + 1)`,
      ),
    ).toEqual([]);
  }
  await facts.params({ time_zone: 'America/Havana' });
  expect(await value(`select reporting.day_start('2026-11-01')`)).toEqual(new Date('2026-11-01T04:00:00Z'));
});

test('a service level is one of those that the rollups hold', async () => {
  await expect(facts.params({ service_level_seconds: 25 })).rejects.toMatchObject({ code: '23514' });
});
