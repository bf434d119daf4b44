/** RFC 3339 in UTC to the second, as the specification's conventions ask. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** RFC 3339 with the zone's offset, as deliveries carry it: `2026-04-21T18:47:50-04:00`. */
export function localTime(milliseconds: number, timeZone: string): string {
  const { year, month, day, hour, minute, second, timeZoneName } = wallClock(milliseconds, timeZone);
  const offset = timeZoneName === 'GMT' ? '+00:00' : (timeZoneName ?? '').slice(3);
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
}

const quarter = 15 * 60_000;
const offsets = new Map<string, Map<number, number>>();

/** How far the zone's wall clock is ahead of UTC at a moment, in milliseconds. Zones only change at quarter hours. */
export function zoneOffset(milliseconds: number, timeZone: string): number {
  let known = offsets.get(timeZone);
  if (known === undefined) {
    known = new Map();
    offsets.set(timeZone, known);
  }
  const moment = Math.floor(milliseconds / quarter) * quarter;
  let offset = known.get(moment);
  if (offset === undefined) {
    const { year, month, day, hour, minute, second } = wallClock(moment, timeZone);
    offset =
      Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) - moment;
    known.set(moment, offset);
  }
  return offset;
}

/** Whether it is a zone of the IANA: an offset from UTC is none, though it would do. */
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
