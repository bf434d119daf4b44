import { expect, test } from 'vitest';
import { type BusinessHours, hoursOf, instantOf, weekdays } from '../../src/rules/business-hours.ts';
import { afterOpenSeconds, beforeOpenSeconds, hoursAt } from '../../src/rules/facts/hours.ts';
import { plainText } from '../../src/rules/facts/values.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { holidaysEnd } from '../../src/rules/file/remarks.ts';
import { options, refusalOf } from './refusal.ts';

const hours = (timeZone: string, holidays: string[] = []): BusinessHours => ({
  timeZone,
  week: Object.fromEntries(
    weekdays.map((name) => [name, [{ from: 9 * 60, to: 17 * 60 }]]),
  ) as unknown as BusinessHours['week'],
  days: new Map(holidays.map((day) => [day, []])),
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

const offices = `
business_hours:
  time_zone: America/New_York
  monday: 09:00-17:00
  thursday: 09:00-17:00
  friday: 09:00-17:00
  holidays: [12-25, 2026-11-26, 2026-12-28..2027-01-04]
  days: { 12-24: 09:00-12:00, 2027-12-24: [] }
offices:
  west:
    lines: ["+1 (310) 555-0100", "13105550101"]
    time_zone: America/Los_Angeles
  berlin:
    lines: ["493012345678"]
    time_zone: Europe/Berlin
    friday: ["08:00-12:00", "13:00-15:00"]
    holidays: [10-03]
rules: []
`;

test.each([
  // Thursday, 12:30 in New York, 09:30 in Los Angeles
  ['2026-12-10T17:30:00Z', { '18455550100': true, '13105550100': true, '493012345678': false }],
  // Friday, 09:30 in New York, 15:30 in Berlin
  ['2026-12-11T14:30:00Z', { '18455550100': true, '13105550101': false, '493012345678': false }],
  ['2026-12-11T12:30:00Z', { '18455550100': false, '13105550101': false, '493012345678': true }],
  // Half a day, which ends at noon of each office, and closed altogether a year later
  ['2026-12-24T16:59:00Z', { '18455550100': true, '13105550100': false }],
  ['2026-12-24T17:00:00Z', { '18455550100': false, '13105550100': true }],
  ['2027-12-24T16:59:00Z', { '18455550100': false, '13105550100': false, '493012345678': false }],
  ['2027-12-24T12:30:00Z', { '493012345678': true }],
  // A holiday, one of every year, and a Monday at the end of the range
  ['2026-11-26T15:30:00Z', { '18455550100': false }],
  ['2031-12-25T15:30:00Z', { '18455550100': false }],
  ['2027-01-04T15:30:00Z', { '18455550100': false }],
  ['2027-01-11T15:30:00Z', { '18455550100': true }],
])('at %s, lines are open by the calendars of their offices: %j', (at, lines) => {
  const { hours: calendars } = parseRules(offices, { file: 'rules.yaml', timeZone: undefined });
  const open = Object.keys(lines).map((line) => [line, hoursAt(hoursOf(calendars, line), new Date(at)).is_open]);
  expect(Object.fromEntries(open)).toEqual(lines);
});

test('times in texts are those of the office', () => {
  const text = `${offices.replace('rules: []', '')}rules:
  - name: closed
    on: message_received
    do: [{ reply: 'Open at {{ hours.opens_at | date: "%A, %l:%M %p" | squish }} ({{ hours.time_zone }})' }]
`;
  const { hours: calendars, rules } = parseRules(text, { file: 'rules.yaml', timeZone: 'UTC' });
  const [step] = rules[0]?.steps ?? [];
  const at = new Date('2026-12-12T12:00:00Z');
  const said = ['18455550100', '13105550100'].map((line) => {
    const facts = { now: at, hours: hoursAt(hoursOf(calendars, line), at) };
    return step?.kind === 'reply' && step.text.render(facts);
  });
  expect(said).toEqual(['Open at Monday, 9:00 AM (America/New_York)', 'Open at Monday, 9:00 AM (America/Los_Angeles)']);
});

test.each([
  ['business_hours: { holidays: [2026-02-30] }', 'This is not a date.'],
  ['business_hours: { holidays: [2026-12-24..2026-12-20] }', 'This is not a date.'],
  ['business_hours: { holidays: [2026-12-24..12-26] }', 'This is not a date.'],
  ['business_hours: { holidays: [1000-01-01..9999-12-31] }', 'This is not a date.'],
  ['business_hours: { days: { 13-01: 09:00-12:00 } }', 'This is not a date.'],
  ['business_hours: { time_zone: New York }', 'This is not a time zone.'],
  ['offices: { West: { lines: ["13105550100"] } }', 'This is not a name.'],
  ['offices: { west: { lines: [] } }', 'The office has no line.'],
  ['offices: { west: { lines: ["13105550100"], mondy: 09:00-17:00 } }', '`mondy` is not a key here.'],
  [
    'offices: { west: { lines: ["13105550100"] }, east: { lines: ["13105550100"] } }',
    '13105550100 belongs to west already.',
  ],
])('%s is refused: %s', (text, message) => {
  expect(refusalOf(`${text}\nrules: []\n`).problems.map((each) => each.message)).toEqual([message]);
});

test('dated holidays end, those of every year do not', () => {
  const end = (written: string) => parseRules(`${written}\nrules: []\n`, options).datesEnd;
  expect(end('business_hours: { holidays: [12-25] }')).toBeUndefined();
  expect(end(offices.replace('rules: []', ''))).toEqual({ last: '2027-12-24', line: 2, column: 1 });
  expect(holidaysEnd('2027-01-04', new Date('2026-12-04T23:00:00Z'))).toBeUndefined();
  expect(holidaysEnd('2027-01-04', new Date('2026-12-06T00:00:00Z'))?.message).toBe(
    'The dated holidays of the rules end on 2027-01-04.',
  );
  expect(holidaysEnd('2027-01-04', new Date('2027-02-01T00:00:00Z'))?.message).toContain('ended on');
});
