import type { FactsOf } from './declared.ts';

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdays)[number];

/** A span of a day's local clock, in minutes since midnight; the end is exclusive and may be 1440. */
export interface Opening {
  readonly from: number;
  readonly to: number;
}

/** When the business is open: local times of a week, and days on which it is not. */
export interface BusinessHours {
  readonly timeZone: string;
  readonly week: Readonly<Record<Weekday, readonly Opening[]>>;
  /** Local days, `2026-12-25`. */
  readonly holidays: ReadonlySet<string>;
}

/** How far the next opening is looked for, in days. */
const furthestDays = 14;
const minuteMs = 60_000;

/**
 * What the local clock says at a moment. The edges of each day are converted to instants on their own, so days with 23
 * or 25 hours open and close when the clock on the wall does.
 */
export function hoursAt(hours: BusinessHours, at: Date): FactsOf<'hours'> {
  const local = localTime(at, hours.timeZone);
  const span = openSpans(hours, local.date).find(({ from, to }) => from <= at && at < to);
  const weekday = weekdayOf(local.date);
  return {
    is_open: span !== undefined,
    is_holiday: hours.holidays.has(local.date),
    weekday,
    time: local.time,
    date: local.date,
    opens_at: nextOpening(hours, local.date, at),
    closes_at: span && closingOf(hours, span.to, local.date),
  };
}

interface Span {
  readonly from: Date;
  readonly to: Date;
}

function openSpans({ timeZone, week, holidays }: BusinessHours, date: string): Span[] {
  if (holidays.has(date)) return [];
  return week[weekdayOf(date)].map(({ from, to }) => ({
    from: instantOf(date, from, timeZone),
    to: instantOf(date, to, timeZone),
  }));
}

function nextOpening(hours: BusinessHours, date: string, at: Date): Date | undefined {
  for (let ahead = 0; ahead <= furthestDays; ahead += 1) {
    const opening = openSpans(hours, addDays(date, ahead)).find(({ from }) => from > at);
    if (opening) return opening.from;
  }
  return undefined;
}

/** Spans that touch, such as those on both sides of midnight, are one. */
function closingOf(hours: BusinessHours, end: Date, date: string): Date {
  let closing = end;
  for (let ahead = 0; ahead <= furthestDays; ahead += 1) {
    for (const { from, to } of openSpans(hours, addDays(date, ahead))) {
      if (from <= closing && closing < to) closing = to;
    }
    if (closing < instantOf(addDays(date, ahead + 1), 0, hours.timeZone)) break;
  }
  return closing;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const held = formats.get(timeZone);
  if (held) return held;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}

/** The local day and time of an instant. */
export function localTime(at: Date, timeZone: string): { readonly date: string; readonly time: string } {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return { date: `${parts.year}-${parts.month}-${parts.day}`, time: `${parts.hour}:${parts.minute}` };
}

/**
 * The instant at which the local clock shows a day's minute. Of an hour that comes twice, the first; in an hour that is
 * skipped, what the clock would show had it not been.
 */
export function instantOf(date: string, minutes: number, timeZone: string): Date {
  const wall = Date.parse(`${date}T00:00:00Z`) + minutes * minuteMs;
  // The offset before and after any change of that day; the earlier instant that shows the wanted time wins.
  const candidates = [wall - 86_400_000, wall + 86_400_000].map((near) => wall - offsetAt(new Date(near), timeZone));
  const right = candidates.filter((each) => each + offsetAt(new Date(each), timeZone) === wall).sort((a, b) => a - b);
  return new Date(right[0] ?? candidates[0] ?? wall);
}

function offsetAt(at: Date, timeZone: string): number {
  const { date, time } = localTime(at, timeZone);
  return Date.parse(`${date}T${time}:00Z`) - Math.floor(at.getTime() / minuteMs) * minuteMs;
}

function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

function weekdayOf(date: string): Weekday {
  const day = new Date(`${date}T00:00:00Z`).getUTCDay();
  return weekdays[(day + 6) % 7] as Weekday;
}
