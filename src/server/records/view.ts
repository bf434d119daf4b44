import { sql } from '../../db/database.ts';
import { BadAddress, isDay, type Parameters, textOf } from '../answering.ts';
import { type Condition, column, csvOnly, localTime, type RowColumn, utcTime } from '../row-list.ts';

/** How a page is looked at: in which time zone, and with what else its address says. */
export interface View {
  /** IANA time zone of all times on the page. */
  readonly zone: string;
  /** TIME_ZONE, which needs no parameter. */
  readonly ownZone: string;
}

/** The view of an address. Throws `BadAddress`. */
export function viewOf(query: Parameters, ownZone: string): View {
  return { zone: zoneOf(textOf(query, 'zone') ?? ownZone), ownZone };
}

/** The path of another page, looked at in the same time zone. */
export function pathIn({ zone, ownZone }: View, path: string): string {
  if (zone === ownZone) return path;
  return `${path}${path.includes('?') ? '&' : '?'}zone=${encodeURIComponent(zone)}`;
}

/** The page of a target, of `kind key`. */
export function targetPath(target: string): string {
  const [kind = '', key = ''] = target.split(/ (.*)/s, 2);
  return `/targets/${encodeURIComponent(kind)}/${key.split('/').map(encodeURIComponent).join('/')}`;
}

/** The id of a row, a whole number. Throws `BadAddress`. */
export function idOf(text: string | undefined): string {
  if (text === undefined || !/^[1-9]\d{0,17}$/.test(text)) throw new BadAddress('An id is a whole number.', 404);
  return text;
}

/** A zone that both this process and Postgres know, so no offset such as +02:00, which they read differently. */
function zoneOf(name: string): string {
  try {
    if (/^[A-Za-z][\w+/-]*$/.test(name)) {
      return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone && name;
    }
  } catch {
    // Not a zone.
  }
  throw new BadAddress('zone must be a time zone, such as Europe/Berlin or UTC.');
}

/** Zones that a page offers beside TIME_ZONE; its address takes any other. */
const commonZones = [
  'UTC',
  ...['America/New_York', 'America/Chicago', 'America/Denver', 'America/Phoenix', 'America/Los_Angeles'],
  ...['America/Anchorage', 'Pacific/Honolulu', 'America/Toronto', 'America/Mexico_City', 'America/Sao_Paulo'],
  ...['Europe/London', 'Europe/Paris', 'Europe/Berlin', 'Europe/Athens', 'Africa/Johannesburg', 'Asia/Dubai'],
  ...['Asia/Kolkata', 'Asia/Manila', 'Asia/Singapore', 'Asia/Tokyo', 'Australia/Sydney', 'Pacific/Auckland'],
];

/** The zones to choose from, the own one first. */
export function zonesFor({ zone, ownZone }: View): string[] {
  return [...new Set([ownZone, zone, ...commonZones])];
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

/** From when to when: a span, or local days, of which either may be open. */
export interface Range {
  readonly span: SpanName;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** The range of an address. Throws `BadAddress`. */
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

/** The first and the last instant of a range, as expressions; undefined where it is open. The last is exclusive. */
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

/** Columns of an instant: as read in the zone, and for programs. */
export function timeColumns(key: string, name: string, moment: Condition, { zone }: View): RowColumn[] {
  return [
    column(`${key}_local`, name, localTime(moment, sql`${zone}`)),
    csvOnly(column(`${key}_at`, `${name} (UTC)`, utcTime(moment))),
  ];
}
