import type { QuietHours } from '../limits.ts';

const minuteMs = 60_000;
const dayMinutes = 1_440;

/** No law moves a clock by more, in minutes. */
const longestShift = 180;

/** Three days hold a moment that is allowed in all zones, if there is any. */
const mostDays = 3;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Minutes since midnight on the clocks of a zone. */
export function localMinute(at: number, zone: string): number {
  const clock =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  clocks.set(zone, clock);
  const text = clock.format(at);
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
}

/**
 * From `now` on, the first moment that is in the quiet hours of none of the zones: `now` itself, or a full minute.
 * Undefined when there is none. Clocks that are set forward or back are followed: what counts is what they show.
 */
export function openFrom(now: Date, zones: readonly string[], quiet: QuietHours): Date | undefined {
  const from = minuteOf(quiet.from);
  const to = minuteOf(quiet.to);
  const left = (minute: number) => (isWithin(minute, from, to) ? (to - minute + dayMinutes) % dayMinutes : 0);
  const quietFor = (at: number) => Math.max(0, ...zones.map((zone) => left(localMinute(at, zone))));
  if (quietFor(now.getTime()) === 0) return now;
  let at = Math.ceil((now.getTime() + 1) / minuteMs) * minuteMs;
  const end = at + mostDays * dayMinutes * minuteMs;
  while (at <= end) {
    const minutes = quietFor(at);
    if (minutes === 0) return new Date(at);
    // A clock may be set meanwhile, so the last hours are walked through minute by minute.
    at += Math.max(1, minutes - longestShift) * minuteMs;
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
