import { sql } from '../db/database.ts';
import { BadAddress } from './errors.ts';
import type { Condition } from './table.ts';

/** The parameters of an address. */
export type Parameters = Readonly<Record<string, unknown>>;

const maxLength = 250;

/** A parameter; undefined if it is empty. Throws `BadAddress`. */
export function textOf(query: Parameters, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new BadAddress(`${name} stands twice in the address.`);
  if (value.length > maxLength) throw new BadAddress(`${name} is too long.`);
  if (value.includes('\0')) throw new BadAddress(`${name} has a character that no text has.`);
  return value.trim();
}

/** Whether a text is a valid calendar day, `2026-11-01`. */
function isDay(value: string | undefined): value is string {
  if (!value || !/^(19|20)\d\d-\d\d-\d\d$/.test(value)) return false;
  const moment = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(+moment) && moment.toISOString().startsWith(value);
}

/** The id of a row, a whole number. Throws `BadAddress`. */
export function idOf(text: string | undefined): string {
  if (text === undefined || !/^[1-9]\d{0,17}$/.test(text)) throw new BadAddress('An id is a whole number.', 404);
  return text;
}

/** Spans that end now, by their names in the address. */
export const spans = {
  hour: { name: 'last hour', interval: '1 hour' },
  day: { name: 'last 24 hours', interval: '1 day' },
  week: { name: 'last 7 days', interval: '7 days' },
  month: { name: 'last 30 days', interval: '30 days' },
  all: { name: 'all that is kept', interval: undefined },
} as const;
export type SpanName = keyof typeof spans;

/** A time range: a span, or local days, of which either may be missing. */
export interface Range {
  readonly span: SpanName;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** The days in an address. Throws `BadAddress`. */
export function daysIn(query: Parameters): Pick<Range, 'from' | 'to'> {
  const [from, to] = (['from', 'to'] as const).map((name) => {
    const day = textOf(query, name);
    if (day !== undefined && !isDay(day)) throw new BadAddress(`${name} must be a day, such as 2026-11-01.`);
    return day;
  });
  if (from && to && from > to) throw new BadAddress('The first day must not be after the last day.');
  return { from, to };
}

/** The range in an address. Throws `BadAddress`. */
export function rangeOf(query: Parameters, usual: SpanName): Range {
  const days = daysIn(query);
  const span = textOf(query, 'span') ?? usual;
  if (!Object.hasOwn(spans, span)) throw new BadAddress(`span must be one of ${Object.keys(spans).join(', ')}.`);
  return { span: span as SpanName, ...days };
}

/** The conditions of a range on a moment. It compares the column itself, so that an index serves it. */
export function within({ span, from, to }: Range, moment: Condition, zone: string): Condition[] {
  const start = (day: string, plus: number) => sql`((${day}::date + ${plus}::integer)::timestamp at time zone ${zone})`;
  const { interval } = spans[span];
  if (from === undefined && to === undefined)
    return interval === undefined ? [] : [sql`${moment} >= now() - ${interval}::interval`];
  return [
    ...(from === undefined ? [] : [sql`${moment} >= ${start(from, 0)}`]),
    ...(to === undefined ? [] : [sql`${moment} < ${start(to, 1)}`]),
  ];
}
