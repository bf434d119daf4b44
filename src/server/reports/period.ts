import { dayMs } from '../../shared/time-range.ts';
import { daysIn, type Parameters, textOf } from '../address.ts';
import { BadAddress } from '../errors.ts';

/** Local days, both included. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

const maxDays = 366;

/** Periods that move on with the day, as an address has them. */
export const spans = {
  ...{ Today: 'days=1', '7 days': 'days=7', '30 days': 'days=30', '90 days': 'days=90' },
  ...{ 'This month': 'month=this', 'Last month': 'month=last' },
} as const;

/** The period in an address: `days=7`, `month=last`, or `from` and `to`. By default, 30 days up to today. */
export function periodOf(query: Parameters, today: string): Period {
  const [month, days = '30'] = ['month', 'days'].map((name) => textOf(query, name));
  const { from, to: last = today } = daysIn(query);
  const to = last > today ? today : last;
  if (from !== undefined) {
    if (from > today) throw new BadAddress('The first day must not be after today.');
    if (daysOf({ from, to }) > maxDays) throw new BadAddress(`A period can have ${maxDays} days at most.`);
    return { from, to };
  }
  if (month !== undefined) {
    if (month !== 'this' && month !== 'last') throw new BadAddress('month must be this or last.');
    const first = `${today.slice(0, 8)}01`;
    const last = dayAfter(first, -1);
    return month === 'this' ? { from: first, to: today } : { from: `${last.slice(0, 8)}01`, to: last };
  }
  if (!/^[1-9]\d{0,2}$/.test(days) || Number(days) > maxDays) throw new BadAddress(`days must be 1 to ${maxDays}.`);
  return { from: dayAfter(to, 1 - Number(days)), to };
}

/** A day so many days later. Anything else, such as `infinity`, stays unchanged. */
export function dayAfter(day: string, days: number): string {
  const moment = Date.parse(day) + days * dayMs;
  return Number.isNaN(moment) ? day : new Date(moment).toISOString().slice(0, 10);
}
export function daysOf({ from, to }: Period): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
}

/**
 * What is compared: the days that are over, because the partial values of today would look like a drop, and as many
 * before. Undefined: there is only today.
 */
export function compared({ from, to }: Period, today: string): { over: Period; past: Period } | undefined {
  if (from >= today) return undefined;
  const over = { from, to: to < today ? to : dayAfter(today, -1) };
  return { over, past: { from: dayAfter(from, -daysOf(over)), to: dayAfter(from, -1) } };
}

// Creating a format for each of hundreds of days would be slow.
const days = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', weekday: 'short', day: 'numeric', month: 'short' });

/** A local day: `Sat 21 Nov`. */
export function dayName(day: string): string {
  return Number.isNaN(Date.parse(day)) ? day : days.format(new Date(day)).replace(',', '');
}
export function shortDay(day: string): string {
  return dayName(day).slice(4);
}

/** `30 Oct – 28 Nov 2026`. */
export function periodName({ from, to }: Period): string {
  const year = (day: string) => day.slice(0, 4);
  if (from === to) return `${dayName(to)} ${year(to)}`;
  return `${shortDay(from)}${year(from) === year(to) ? '' : ` ${year(from)}`} – ${shortDay(to)} ${year(to)}`;
}

/** How a period is called on a page. */
export function periodTitle(period: Period, today: string): string {
  if (period.to !== today) return periodName(period);
  return period.from === today ? 'Today' : `The last ${daysOf(period)} days`;
}
