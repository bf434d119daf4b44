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
  /** The hours of special days, by date, `2026-12-25`, or each year, `12-25`; a date goes first. Empty: closed. */
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

/** The hours of a local day that is special; undefined for one that has those of its weekday. */
export function specialHours({ days }: BusinessHours, date: string): readonly Opening[] | undefined {
  return days.get(date) ?? days.get(date.slice(5));
}
