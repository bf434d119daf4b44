/** A filter of the reports, and its parameter in the URL. */
export const filterNames = ['number', 'queue', 'agent'] as const;
export type Filter = (typeof filterNames)[number];

/** What a report is about. Its URL holds all of it, so that it can be shared. */
export interface Choice {
  /** The first local day, `2026-11-01`. */
  readonly from: string;
  /** The last local day. */
  readonly to: string;
  /** Keys of dim_number, dim_queue and dim_user. */
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
}

/** Bounds what one request can cost. */
export const maxDays = 366;
const maxFilterLength = 250;
const usualDays = '30';

/** The ranges that are one click away, as parameters of the URL. They move on with the day. */
export const presets: readonly { readonly name: string; readonly query: string }[] = [
  { name: 'Today', query: 'days=1' },
  { name: '7 days', query: 'days=7' },
  { name: '30 days', query: `days=${usualDays}` },
  { name: '90 days', query: 'days=90' },
  { name: 'This month', query: 'month=this' },
  { name: 'Last month', query: 'month=last' },
];

type Parameters = Readonly<Record<string, unknown>>;

/**
 * The choice of a URL, by default of the last 30 days up to `today`, or a sentence that says what is wrong with it. A range ends
 * with today at the latest.
 */
export function choiceOf(query: Parameters, today: string): Choice | string {
  for (const name of ['days', 'month', 'from', 'to', ...filterNames]) {
    const value = query[name];
    if (value !== undefined && typeof value !== 'string') return `${name} stands twice in the address.`;
  }
  const range = rangeOf(query as Readonly<Record<string, string | undefined>>, today);
  if (typeof range === 'string') return range;
  const filters = filterNames.flatMap((name) => (query[name] ? [[name, String(query[name])] as const] : []));
  for (const [name, value] of filters) {
    if (value.length > maxFilterLength) return `This ${name} is too long to be one.`;
    if (name === 'agent' && !/^\d{1,15}$/.test(value)) return 'agent must be the id of a user.';
  }
  return { ...range, filters: Object.fromEntries(filters) };
}

function rangeOf(
  { days, month, from, to }: Readonly<Record<string, string | undefined>>,
  today: string,
): Pick<Choice, 'from' | 'to'> | string {
  if (from || to) {
    if (!isDay(from) || !isDay(to)) return 'from and to must both be days, such as 2026-11-01.';
    if (from > to) return 'The first day must not be after the last day.';
    if (from > today) return `There is nothing to report after today, ${today}.`;
    if (daysBetween(from, to) > maxDays) return `A range can have ${maxDays} days at most.`;
    return { from, to: to > today ? today : to };
  }
  const first = `${today.slice(0, 7)}-01`;
  if (month === 'this') return { from: first, to: today };
  if (month === 'last') return { from: `${addDays(first, -1).slice(0, 7)}-01`, to: addDays(first, -1) };
  if (month) return 'month must be this or last.';
  const count = Number(days || usualDays);
  if (!Number.isInteger(count) || count < 1 || count > maxDays) return `days must be a number from 1 to ${maxDays}.`;
  return { from: addDays(today, 1 - count), to: today };
}

/** Whether a text is a day of the calendar, `2026-11-01`. */
export function isDay(value: string | undefined): value is string {
  if (!value || !/^(19|20)\d\d-\d\d-\d\d$/.test(value)) return false;
  const moment = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(+moment) && moment.toISOString().startsWith(value);
}

/** The local day so many days later. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * 86_400_000).toISOString().slice(0, 10);
}

/** The days of a range, both ends included. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000 + 1;
}

/** The part of a choice that is over, since a day that is not would look like a fall; undefined when only today is left. */
export function finishedPart(choice: Choice, today: string): Choice | undefined {
  if (choice.to < today) return choice;
  return choice.from < today ? { ...choice, to: addDays(today, -1) } : undefined;
}

/** The same number of days before. */
export function periodBefore({ from, to, filters }: Choice): Choice {
  return { from: addDays(from, -daysBetween(from, to)), to: addDays(from, -1), filters };
}

/** The choice as parameters of a URL, with its days spelled out. */
export function queryOf({ from, to, filters }: Choice): string {
  return new URLSearchParams({ from, to, ...filters }).toString();
}
