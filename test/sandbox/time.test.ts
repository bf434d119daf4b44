import fc from 'fast-check';
import { expect, test } from 'vitest';
import { minuteOfDay } from '../../src/sandbox/time.ts';

const zones = [
  'UTC',
  'America/New_York',
  'America/St_Johns',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Pacific/Apia',
  'Europe/London',
];

function minuteOf(moment: number, timeZone: string): number {
  const text = new Date(moment * 1000).toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
  const [hour = 0, minute = 0] = text.split(':').map(Number);
  return hour * 60 + minute;
}

test.each(zones)('tells the minute in %s as Intl does, whatever the order of the moments', (timeZone) => {
  const [start, end] = [Date.UTC(2009, 0) / 1000, Date.UTC(2027, 0) / 1000];
  const clock = (moment: number) => minuteOfDay(moment, timeZone);
  fc.assert(
    fc.property(fc.integer({ min: start, max: end }), (moment) => {
      expect(clock(moment)).toBe(minuteOf(moment, timeZone));
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['America/New_York', '2026-03-08T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
])('follows %s through the minutes around %s, when its clocks are set', (timeZone, change) => {
  const clock = (moment: number) => minuteOfDay(moment, timeZone);
  const at = Date.parse(change) / 1000;
  expect(clock(at)).not.toBe((clock(at - 60) + 1) % 1440);
  for (let moment = at - 86_400; moment < at + 86_400; moment += 60) {
    expect(clock(moment), String(moment)).toBe(minuteOf(moment, timeZone));
  }
});

test('moments before 1970 are on the clock too', () => {
  expect(minuteOfDay(-60, 'UTC')).toBe(1439);
});
