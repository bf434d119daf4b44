/** Local time and business time in plain code: Node's time zones, quarter by quarter, without Postgres. */

export const second = 1_000;
export const hour = 3_600 * second;
export const day = 24 * hour;
const quarter = hour / 4;

export interface Wall {
  /** `2026-03-08` */
  readonly date: string;
  readonly hour: number;
  /** Minutes since midnight by the clock on the wall. */
  readonly minute: number;
  /** 1 = Monday to 7 = Sunday. */
  readonly isodow: number;
  /** `2026-03-08T03:15:00` */
  readonly text: string;
}

const offsets = new Map<string, number>();
const formats = new Map<string, Intl.DateTimeFormat>();

/** Offsets change on quarters of an hour alone. */
function offsetAt(moment: number, zone: string): number {
  const begin = Math.floor(moment / quarter) * quarter;
  const key = `${zone} ${begin}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const format = formats.get(zone) ?? formatOf(zone);
  formats.set(zone, format);
  const parts = Object.fromEntries(format.formatToParts(begin).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day: date, hour: hours, minute, second: seconds } = parts;
  const offset = Date.UTC(year, month - 1, date, hours, minute, seconds) - begin;
  offsets.set(key, offset);
  return offset;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const number = '2-digit' as const;
  const clock = { hour: number, minute: number, second: number };
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: number,
    day: number,
    ...clock,
  });
}

export function wallAt(moment: number, zone: string): Wall {
  const shifted = new Date(moment + offsetAt(moment, zone));
  const text = shifted.toISOString();
  const minute = shifted.getUTCHours() * 60 + shifted.getUTCMinutes();
  return {
    date: text.slice(0, 10),
    hour: shifted.getUTCHours(),
    minute,
    isodow: shifted.getUTCDay() || 7,
    text: text.slice(0, 19),
  };
}

export const dateAt = (moment: number, zone: string) => wallAt(moment, zone).date;
export const quarterOf = (moment: number) => Math.floor(moment / quarter) * quarter;

/** The first instant of a local day: of two midnights the first, and without any the end of the gap. */
export function beginOf(date: string, zone: string): number {
  let moment = Date.parse(`${date}T00:00:00Z`) - day;
  while (dateAt(moment, zone) < date) moment += quarter;
  return moment;
}

export function dateAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * day).toISOString().slice(0, 10);
}

/** The local days of a year that are longer or shorter than 24 hours. */
export function oddDays(year: number, zone: string): string[] {
  const odd: string[] = [];
  for (let date = `${year}-01-02`; date < `${year}-12-31`; date = dateAfter(date, 1)) {
    const noon = Date.parse(`${date}T12:00:00Z`);
    if (offsetAt(noon - day, zone) === offsetAt(noon + day, zone)) continue;
    if (beginOf(dateAfter(date, 1), zone) - beginOf(date, zone) !== day) odd.push(date);
  }
  return odd;
}

export interface Schedule {
  readonly zone: string;
  /** Minutes since local midnight. */
  readonly hours: readonly { readonly isodow: number; readonly opens: number; readonly closes: number }[];
  readonly holidays: readonly string[];
}

const openQuarters = new WeakMap<Schedule, Map<number, boolean>>();

/** Seconds between two instants in which a schedule is open, quarter by quarter. */
export function openSeconds(from: number, to: number, schedule: Schedule): number {
  const known = openQuarters.get(schedule) ?? new Map<number, boolean>();
  openQuarters.set(schedule, known);
  let open = 0;
  for (let cell = quarterOf(from); cell < to; cell += quarter) {
    const isOpenThen = known.get(cell) ?? isOpen(cell, schedule);
    known.set(cell, isOpenThen);
    if (isOpenThen) open += Math.min(to, cell + quarter) - Math.max(from, cell);
  }
  return Math.round(open / second);
}

export function isOpen(moment: number, { zone, hours, holidays }: Schedule): boolean {
  const { date, isodow, minute } = wallAt(moment, zone);
  if (holidays.includes(date)) return false;
  return hours.some((each) => each.isodow === isodow && each.opens <= minute && minute < each.closes);
}
