const quarterMs = 15 * 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, Map<number, number>>();

/** RFC 3339 in UTC, in whole seconds, as in answers of the API. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with the zone's offset, as in deliveries: `2026-04-21T18:47:50-04:00`. */
export function localTime(milliseconds: number, timeZone: string): string {
  const offset = zoneOffset(milliseconds, timeZone);
  const sign = offset < 0 ? '-' : '+';
  const wallClock = new Date(milliseconds + offset).toISOString().slice(0, 19);
  return `${wallClock}${sign}${new Date(Math.abs(offset)).toISOString().slice(11, 16)}`;
}

/** The minute of the day in the zone, of a time in unix seconds. */
export function minuteOfDay(moment: number, timeZone: string): number {
  const minute = Math.floor((moment * 1000 + zoneOffset(moment * 1000, timeZone)) / 60_000) % 1440;
  return minute < 0 ? minute + 1440 : minute;
}

/** The zone's offset from UTC in milliseconds. Cached by quarter hour, since offsets change only then. */
export function zoneOffset(milliseconds: number, timeZone: string): number {
  const known = offsets.get(timeZone) ?? new Map<number, number>();
  offsets.set(timeZone, known);
  const moment = Math.floor(milliseconds / quarterMs) * quarterMs;
  let offset = known.get(moment);
  if (offset === undefined) {
    // The Swedish format, `2026-04-21 18:47:50`, can be parsed again.
    offset = Date.parse(`${formatOf(timeZone).format(moment)}Z`) - moment;
    known.set(moment, offset);
  }
  return offset;
}

/** Whether it is the name of an IANA zone. `Intl` also accepts offsets such as `+02:00`. */
export function isTimeZone(name: string): boolean {
  if (/^[+-]/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    formats.set(timeZone, format);
  }
  return format;
}
