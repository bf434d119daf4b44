import { readFileSync } from 'node:fs';
import type { QuietHours } from '../limits.ts';

const minuteMs = 60_000;
const dayMinutes = 1_440;

/** Upper bound, in minutes, of a clock change such as daylight saving. */
const maxClockShift = 180;

/** How many days ahead to search for an allowed moment. */
const maxDays = 3;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Minutes since local midnight in a time zone. */
function localMinute(at: number, zone: string): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  formats.set(zone, format);
  const text = format.format(at);
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
}

/**
 * The first moment from `now` on that is outside the quiet hours of all zones: `now` itself, or a full minute.
 * Undefined if there is none within three days. Uses local time, across clock changes.
 */
export function firstAllowedMoment(now: Date, zones: readonly string[], quiet: QuietHours): Date | undefined {
  const from = minuteOf(quiet.from);
  const to = minuteOf(quiet.to);
  const left = (minute: number) => (isWithin(minute, from, to) ? (to - minute + dayMinutes) % dayMinutes : 0);
  const quietFor = (at: number) => Math.max(0, ...zones.map((zone) => left(localMinute(at, zone))));
  if (quietFor(now.getTime()) === 0) return now;
  let at = Math.ceil((now.getTime() + 1) / minuteMs) * minuteMs;
  const end = at + maxDays * dayMinutes * minuteMs;
  while (at <= end) {
    const minutes = quietFor(at);
    if (minutes === 0) return new Date(at);
    // The clock may change before the end, so the last hours are checked minute by minute.
    at += Math.max(1, minutes - maxClockShift) * minuteMs;
  }
  return undefined;
}

function isWithin(minute: number, from: number, to: number): boolean {
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

function minuteOf(time: string): number {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time);
  if (!match) throw new Error(`quiet hours are written HH:MM, got ${JSON.stringify(time)}`);
  return Number(match[1]) * 60 + Number(match[2]);
}

/** The possible time zones of a normalised number; none for an unknown country code. */
export function zonesOfNumber(number: string): readonly string[] {
  if (number.startsWith('1') && number.length !== 11) return [];
  for (let length = longestPrefix; length > 0; length -= 1) {
    const zones = zonesByPrefix.get(number.slice(0, length));
    if (zones) return zones;
  }
  return [];
}

const zonesByPrefix = readZones();
const longestPrefix = Math.max(...[...zonesByPrefix.keys()].map(({ length }) => length));

/** Every zone that a number can have. */
export const allZones: readonly string[] = [...new Set([...zonesByPrefix.values()].flat())].sort();

function readZones(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const text = readFileSync(new URL('number-zones.txt', import.meta.url), 'utf8');
  for (const [, zones = '', country, codes = ''] of text.matchAll(/^([^#:\n]+): (\+1 )?(.*)$/gm)) {
    for (const code of codes.split(' ')) {
      const prefix = country ? `1${code}` : code;
      found.set(prefix, [...(found.get(prefix) ?? []), ...zones.split(' ')]);
    }
  }
  return found;
}
