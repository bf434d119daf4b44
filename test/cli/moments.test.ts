import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { momentArgument, rangeOf } from '../../src/cli/arguments.ts';
import { toTheSecond } from '../../src/shared/format.ts';

describe('a moment', () => {
  test('is a day at midnight UTC, or an instant', () => {
    expect(momentArgument('2026-11-01')).toEqual(new Date('2026-11-01T00:00:00Z'));
    expect(momentArgument('2026-11-01T08:00+02:00')).toEqual(new Date('2026-11-01T06:00:00Z'));
    expect(momentArgument('2026-11-01 08:00:05-05:00')).toEqual(new Date('2026-11-01T13:00:05Z'));
    expect(momentArgument('2024-02-29')).toEqual(new Date('2024-02-29T00:00:00Z'));
  });

  test.each([
    ['30min', '2026-11-21T12:04:05Z'],
    ['12h', '2026-11-21T00:34:05Z'],
    ['48h', '2026-11-19T12:34:05Z'],
    ['7d', '2026-11-14T00:00:00Z'],
    ['2w', '2026-11-07T00:00:00Z'],
  ])('is so long before now, in days and weeks from midnight UTC: %s', (text, expected) => {
    vi.useFakeTimers({ now: new Date('2026-11-21T12:34:05Z'), toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(momentArgument(text)).toEqual(new Date(expected));
  });

  test.each(['2026-11-31', '2026-02-29', '2026-11-31T08:00:00Z'])('is on a day that exists, unlike %s', (text) => {
    expect(() => momentArgument(text)).toThrow(/There is no such day/);
  });

  const none = 'yesterday|2026-13-01|20261101|2026-11-01T08:00:00|2026-11-01T25:00:00Z||0d|7|-7d|7 d|7y|1.5d|100000d';
  test.each(none.split('|'))('is not %o', (text) => {
    expect(() => momentArgument(text)).toThrow(/^It must be a day such as 2026-11-01[^.]*\.$/);
  });
});

test.each([
  ['UTC', '2026-11-01 06:30:05Z'],
  ['America/New_York', '2026-11-01 01:30:05-05:00'],
  ['Asia/Kolkata', '2026-11-01 12:00:05+05:30'],
])('a time that a command prints in %s is one that it takes', (timeZone, text) => {
  expect(toTheSecond(new Date('2026-11-01T06:30:05.999Z'), timeZone)).toBe(text);
  expect(momentArgument(text)).toEqual(new Date('2026-11-01T06:30:05Z'));
});

describe('a range', () => {
  const now = new Date('2026-11-21T12:00:00Z');
  const at = (text: string) => new Date(text);

  test('ends now unless told otherwise, and never later', () => {
    expect(rangeOf({ from: at('2026-11-01') }, 0, now)).toEqual({ from: at('2026-11-01'), to: now });
    expect(rangeOf({ from: at('2026-11-01'), to: at('2027-01-01') }, 0, now).to).toEqual(now);
  });

  test('begins a usual time before its end', () => {
    expect(rangeOf({ to: at('2026-11-10') }, 86_400_000, now).from).toEqual(at('2026-11-09'));
  });

  test('begins with Unix time at the earliest', () => {
    expect(rangeOf({ from: at('1900-01-01') }, 0, now)).toEqual({ from: at('1970-01-01'), to: now });
  });

  test('is wrong use when it is empty, turned round, or lies in the future', () => {
    for (const given of [
      { from: at('2026-11-10'), to: at('2026-11-10') },
      { from: at('2026-11-10'), to: at('2026-11-01') },
      { from: at('2026-11-22') },
    ]) {
      expect(() => rangeOf(given, 0, now)).toThrow(expect.objectContaining({ code: 'wrong_use' }));
    }
  });
});
