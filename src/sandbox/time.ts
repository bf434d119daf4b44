/** RFC 3339 in UTC, in whole seconds, as in answers of the API. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** RFC 3339 with the zone's offset, as in deliveries: `2026-04-21T18:47:50-04:00`. */
export function localTime(milliseconds: number, timeZone: string): string {
  const { year, month, day, hour, minute, second, timeZoneName } = wallClock(milliseconds, timeZone);
  const offset = timeZoneName === 'GMT' ? '+00:00' : (timeZoneName ?? '').slice(3);
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
}

const quarterMs = 15 * 60_000;
const offsets = new Map<string, Map<number, number>>();

/** The zone's offset from UTC in milliseconds. Cached by quarter hour, since offsets change only then. */
export function zoneOffset(milliseconds: number, timeZone: string): number {
  let known = offsets.get(timeZone);
  if (known === undefined) {
    known = new Map();
    offsets.set(timeZone, known);
  }
  const moment = Math.floor(milliseconds / quarterMs) * quarterMs;
  let offset = known.get(moment);
  if (offset === undefined) {
    const { year, month, day, hour, minute, second } = wallClock(moment, timeZone);
    offset =
      Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) - moment;
    known.set(moment, offset);
  }
  return offset;
}

/** Whether it is the name of an IANA zone. `Intl` also accepts offsets such as `+02:00`. */
export function isTimeZone(name: string): boolean {
  if (/^[+-]/.test(name)) return false;
  try {
    formatFor(name);
    return true;
  } catch {
    return false;
  }
}

function wallClock(milliseconds: number, timeZone: string): Partial<Record<Intl.DateTimeFormatPartTypes, string>> {
  const parts = formatFor(timeZone).formatToParts(milliseconds);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    });
    formats.set(timeZone, format);
  }
  return format;
}

const daySeconds = 86_400;
const quarterSeconds = 900;

interface Span {
  from: number;
  to: number;
  offset: number;
}

/**
 * Returns a function from unix seconds to the minute of the day in the zone. It looks up the offset once per day, so call
 * it in order of time.
 */
export function createWallClock(timeZone: string): (moment: number) => number {
  let span: Span = { from: 0, to: 0, offset: 0 };
  return (moment) => {
    if (moment < span.from || moment >= span.to) span = spanAround(moment, timeZone);
    const minute = Math.floor((moment + span.offset) / 60) % 1440;
    return minute < 0 ? minute + 1440 : minute;
  };
}

/** The part of the UTC day around `moment` with a constant offset. No zone changes its offset twice a day. */
function spanAround(moment: number, timeZone: string): Span {
  const offsetAt = (at: number) => zoneOffset(at * 1000, timeZone) / 1000;
  let from = Math.floor(moment / daySeconds) * daySeconds;
  let to = from + daySeconds;
  const [before, after] = [offsetAt(from), offsetAt(to)];
  if (before === after) return { from, to, offset: before };

  const [midnight, next] = [from, to];
  while (to - from > quarterSeconds) {
    const middle = from + Math.floor((to - from) / quarterSeconds / 2) * quarterSeconds;
    if (offsetAt(middle) === before) from = middle;
    else to = middle;
  }
  return moment < to ? { from: midnight, to, offset: before } : { from: to, to: next, offset: after };
}
