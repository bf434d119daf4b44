import { expect, test } from 'vitest';
import { afterOpenSeconds, beforeOpenSeconds, hoursAt, instantOf } from '../../src/rules/facts/hours.ts';
import { plainText } from '../../src/rules/facts/values.ts';
import { type BusinessHours, weekdays } from '../../src/shared/business-hours.ts';

const hours = (timeZone: string, holidays: string[] = []): BusinessHours => ({
  timeZone,
  week: Object.fromEntries(
    weekdays.map((name) => [name, [{ from: 9 * 60, to: 17 * 60 }]]),
  ) as unknown as BusinessHours['week'],
  holidays: new Set(holidays),
});

// Days on which clocks are set somewhere.
const changes = ['2026-03-08', '2026-03-29', '2026-04-05', '2026-09-27', '2026-10-25', '2026-11-01'];

test('every zone opens when its own clock says so, on the days on which clocks are set', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const clock = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    const opening = changes.map((date) => clock.format(instantOf(date, 9 * 60, zone)));
    expect(new Set(opening), zone).toEqual(new Set(['09:00']));
  }
});

test.each([
  ['America/New_York', '2026-03-08', 23],
  ['America/New_York', '2026-11-01', 25],
  ['Europe/Berlin', '2026-03-29', 23],
  ['Europe/Berlin', '2026-10-25', 25],
  ['Australia/Lord_Howe', '2026-04-05', 24.5],
  ['Asia/Kolkata', '2026-03-08', 24],
])('in %s, %s has %d hours', (zone, date, length) => {
  expect((instantOf(date, 1_440, zone).getTime() - instantOf(date, 0, zone).getTime()) / 3_600_000).toBe(length);
});

test('the hour that comes twice begins with its first time, and a skipped one after the leap', () => {
  expect(instantOf('2026-11-01', 90, 'America/New_York').toISOString()).toBe('2026-11-01T05:30:00.000Z');
  expect(instantOf('2026-03-08', 150, 'America/New_York').toISOString()).toBe('2026-03-08T07:30:00.000Z');
});

test('what is open closes at the end of the last span that touches', () => {
  const round: BusinessHours = {
    ...hours('UTC'),
    week: { ...hours('UTC').week, monday: [{ from: 20 * 60, to: 1_440 }], tuesday: [{ from: 0, to: 120 }] },
  };
  expect(hoursAt(round, new Date('2026-06-01T22:00:00Z'))).toMatchObject({
    is_open: true,
    weekday: 'monday',
    closes_at: new Date('2026-06-02T02:00:00Z'),
  });
});

test('a holiday is closed, and the next opening is after it', () => {
  const at = hoursAt(hours('America/New_York', ['2026-12-25']), new Date('2026-12-25T15:00:00Z'));
  expect(at).toMatchObject({ is_open: false, is_holiday: true, opens_at: new Date('2026-12-26T14:00:00Z') });
});

test('what never opens has no next opening', () => {
  const never = {
    ...hours('UTC'),
    week: Object.fromEntries(weekdays.map((name) => [name, []])) as unknown as BusinessHours['week'],
  };
  expect(hoursAt(never, new Date()).opens_at).toBeUndefined();
});

test.each([
  ['  Thank   you!! 🙏', 'thank you'],
  ['THANKS.', 'thanks'],
  ['Merci, déjà', 'merci deja'],
  ["that's it", 'thats it'],
])('%j is plainly %j', (text, plain) => {
  expect(plainText(text)).toBe(plain);
});

test.each([
  ['America/New_York', '2026-03-08T06:59:00Z'],
  ['America/New_York', '2026-11-01T05:59:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T14:59:00Z'],
  ['Europe/Berlin', '2026-10-26T07:59:00Z'],
  ['Europe/Berlin', '2026-10-26T15:59:00Z'],
])('in %s the facts turn with the minute, also where clocks are set: after %s', (zone, before) => {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const week = hours(zone);
  const moments = [-60_000, -1, 0, 1, 59_999, 60_000, 60_001, 119_999, 120_000].map((ms) => Date.parse(before) + ms);
  // Whatever moment of a minute was asked first.
  for (const ms of [...moments, ...moments.toReversed()]) {
    const at = new Date(ms);
    const { time, is_open, opens_at } = hoursAt(week, at);
    expect([at.toISOString(), time]).toEqual([at.toISOString(), clock.format(at)]);
    expect(is_open).toBe(time >= '09:00' && time < '17:00');
    expect(Number(opens_at)).toBeGreaterThan(ms);
  }
});

test.each([
  ['America/New_York', '2026-11-27T20:00:00-05:00', 30, '2026-11-30T09:30:00-05:00'], // Friday evening
  ['America/New_York', '2026-11-28T12:00:00-05:00', 30, '2026-11-30T09:30:00-05:00'], // Saturday
  ['America/New_York', '2026-12-01T07:00:00-05:00', 30, '2026-12-01T09:30:00-05:00'],
  ['America/New_York', '2026-12-01T16:50:00-05:00', 30, '2026-12-02T09:20:00-05:00'],
  ['America/New_York', '2026-12-01T16:30:00-05:00', 30, '2026-12-01T17:00:00-05:00'],
  ['America/New_York', '2026-12-24T16:59:00-05:00', 540, '2026-12-29T09:59:00-05:00'],
  ['Europe/Berlin', '2026-10-23T16:00:00+02:00', 120, '2026-10-26T10:00:00+01:00'],
])('in %s, after %s the business has been open for %d minutes at %s', (zone, from, minutes, to) => {
  const week = hours(zone, ['2026-12-25']);
  const weekdaysOnly = { ...week, week: { ...week.week, saturday: [], sunday: [] } };
  const after = afterOpenSeconds(weekdaysOnly, new Date(from), minutes * 60);
  expect(after).toEqual(new Date(to));
  const before = beforeOpenSeconds(weekdaysOnly, new Date(to), minutes * 60) as Date;
  // The last such moment: the same, or the end of the closed time that contains it.
  expect(before >= new Date(from)).toBe(true);
  expect(afterOpenSeconds(weekdaysOnly, before, minutes * 60)).toEqual(new Date(to));
  expect(afterOpenSeconds(weekdaysOnly, new Date(before.getTime() + 1), minutes * 60)).not.toEqual(new Date(to));
});
