import { dayMs, type TimeRange } from '../shared/time-range.ts';

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdays)[number];

/** Local opening hours of a day, in minutes since midnight; the end is exclusive and at most 1440. */
export interface Opening {
  readonly from: number;
  readonly to: number;
}

/** Local opening hours of a week, and of special days. */
export interface BusinessHours {
  readonly timeZone: string;
  readonly week: Readonly<Record<Weekday, readonly Opening[]>>;
  /** The hours of special days, by date (`2026-12-25`) or by day of each year (`12-25`); a date wins. Empty: closed. */
  readonly days: ReadonlyMap<string, readonly Opening[]>;
}

/** The hours of the lines that it names. */
export interface Office extends BusinessHours {
  readonly name: string;
  readonly lines: readonly string[];
}

/** The hours of all lines that no office names, and the offices. */
export interface Calendars extends BusinessHours {
  readonly offices: readonly Office[];
}

/** The hours that hold for a line. */
export function hoursOf(calendars: Calendars, line: string): BusinessHours {
  return calendars.offices.find(({ lines }) => lines.includes(line)) ?? calendars;
}

/** The hours of a special day; undefined for a day with the usual hours of its weekday. */
export function specialHours({ days }: BusinessHours, date: string): readonly Opening[] | undefined {
  return days.get(date) ?? days.get(date.slice(5));
}

/** When a business opens and closes on a local day, in order and without overlaps; empty when it is closed. */
export function openingsOn(hours: BusinessHours, date: string): TimeRange<Date>[] {
  const { timeZone, week } = hours;
  const whole: Opening[] = [];
  for (const span of (specialHours(hours, date) ?? week[weekdayOf(date)]).toSorted((a, b) => a.from - b.from)) {
    const last = whole.at(-1);
    if (last && span.from <= last.to) whole[whole.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    else whole.push(span);
  }
  return (
    whole
      .map(({ from, to }) => ({ from: instantOf(date, from, timeZone), to: instantOf(date, to, timeZone) }))
      // Nothing is left of an hour that the clock skips.
      .filter(({ from, to }) => from < to)
  );
}

const minuteMs = 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** The local day and time of an instant. */
export function localTime(at: Date, timeZone: string): { readonly date: string; readonly time: string } {
  // Swedish dates and times are those of ISO 8601.
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  formats.set(timeZone, format);
  const [date = '', time = ''] = format.format(at).split(' ');
  return { date, time };
}

/**
 * The instant of a local time, in minutes since midnight. When clocks go back, the first of the two; when they go
 * forward, a skipped time counts as if they hadn't.
 */
export function instantOf(date: string, minutes: number, timeZone: string): Date {
  const wall = Date.parse(`${date}T00:00:00Z`) + minutes * minuteMs;
  // Tries the offsets before and after a change on that day. The earlier instant that shows this time wins.
  const candidates = [wall - dayMs, wall + dayMs].map((near) => wall - offsetAt(new Date(near), timeZone));
  if (candidates[0] === candidates[1]) return new Date(candidates[0] ?? wall);
  const right = candidates.filter((each) => each + offsetAt(new Date(each), timeZone) === wall).sort((a, b) => a - b);
  return new Date(right[0] ?? candidates[0] ?? wall);
}

function offsetAt(at: Date, timeZone: string): number {
  const { date, time } = localTime(at, timeZone);
  return Date.parse(`${date}T${time}:00Z`) - Math.floor(at.getTime() / minuteMs) * minuteMs;
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);
}

export function weekdayOf(date: string): Weekday {
  const day = new Date(`${date}T00:00:00Z`).getUTCDay();
  return weekdays[(day + 6) % 7] as Weekday;
}
