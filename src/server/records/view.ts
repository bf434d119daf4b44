import { sql } from '../../db/database.ts';
import { toTheSecond } from '../../ops/format.ts';
import { BadAddress, isDay, type Parameters, textOf } from '../answering.ts';
import { type Html, html } from '../html.ts';
import type { Condition } from '../row-list.ts';

/** How pages show times: in TIME_ZONE. */
export interface View {
  readonly zone: string;
  /** A time to the second, `2026-11-01 14:05:09`, or to the millisecond. A dash for none. */
  time(at: Date | null, isExact?: boolean): Html;
  /** The time of day, `14:05`, or to the second. */
  clock(at: Date, isToTheSecond?: boolean): Html;
}

export function viewOf(zone: string): View {
  const stamp = (at: Date, text: string) => html`<time datetime="${at.toISOString()}">${text}</time>`;
  return {
    zone,
    time(at, isExact = false) {
      if (at === null) return html`–`;
      const milliseconds = isExact ? `.${String(at.getMilliseconds()).padStart(3, '0')}` : '';
      return stamp(at, `${toTheSecond(at, zone).slice(0, 19)}${milliseconds}`);
    },
    clock: (at, isToTheSecond = false) => stamp(at, toTheSecond(at, zone).slice(11, isToTheSecond ? 19 : 16)),
  };
}

/** The page of a target given as `kind key`. */
export function targetPath(target: string): string {
  const [kind = '', key = ''] = target.split(/ (.*)/s, 2);
  return `/targets/${encodeURIComponent(kind)}/${key.split('/').map(encodeURIComponent).join('/')}`;
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

/** The range in an address. Throws `BadAddress`. */
export function rangeOf(query: Parameters, usual: SpanName): Range {
  const [from, to] = (['from', 'to'] as const).map((name) => {
    const day = textOf(query, name);
    if (day !== undefined && !isDay(day)) throw new BadAddress(`${name} must be a day, such as 2026-11-01.`);
    return day;
  });
  if (from !== undefined && to !== undefined && from > to) {
    throw new BadAddress('The first day must not be after the last day.');
  }
  const span = textOf(query, 'span') ?? usual;
  if (!Object.hasOwn(spans, span)) throw new BadAddress(`span must be one of ${Object.keys(spans).join(', ')}.`);
  return { span: span as SpanName, from, to };
}

/** The first and last instant of a range, as SQL expressions. Undefined where it is open. The last is exclusive. */
export function endsOf({ span, from, to }: Range, { zone }: View): { since?: Condition; until?: Condition } {
  const start = (day: string, plus: number) => sql`((${day}::date + ${plus}::integer)::timestamp at time zone ${zone})`;
  const { interval } = spans[span];
  if (from === undefined && to === undefined) {
    return interval === undefined ? {} : { since: sql`(now() - ${interval}::interval)` };
  }
  return {
    ...(from !== undefined && { since: start(from, 0) }),
    ...(to !== undefined && { until: start(to, 1) }),
  };
}
