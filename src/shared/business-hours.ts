export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdays)[number];

/** Local opening hours of a day, in minutes since midnight; the end is exclusive and at most 1440. */
export interface Opening {
  readonly from: number;
  readonly to: number;
}

/** Local opening hours of a week, and the days on which it is closed. */
export interface BusinessHours {
  readonly timeZone: string;
  readonly week: Readonly<Record<Weekday, readonly Opening[]>>;
  /** Local days, `2026-12-25`. */
  readonly holidays: ReadonlySet<string>;
}
