import { reachedValues } from '../../warehouse/call-facts.ts';
import { BadAddress, isDay, type Parameters, textOf } from '../answering.ts';

/** A filter of the reports, and its parameter in the URL. */
export const filterNames = ['number', 'queue', 'agent', 'reached'] as const;
export type Filter = (typeof filterNames)[number];

/** Values of the filter `reached` beside those of `fct_call.reached`; each is a column of `missed_calls`. */
export const callBackFilters = ['needs_call_back', 'is_waiting'] as const;

/** What a report is about. Its URL contains all of it, so it can be shared. */
export interface Choice {
  /** The first local day, `2026-11-01`. */
  readonly from: string;
  /** The last local day. */
  readonly to: string;
  /** Keys of numbers, queues and users; how far callers came. */
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
}

/** Limits the cost of one request. */
const maxDays = 366;
const usualDays = '30';

/** The ranges with a link of their own, as URL parameters. They are relative to today. */
export const presets: readonly { readonly name: string; readonly query: string }[] = [
  { name: 'Today', query: 'days=1' },
  { name: '7 days', query: 'days=7' },
  { name: '30 days', query: `days=${usualDays}` },
  { name: '90 days', query: 'days=90' },
  { name: 'This month', query: 'month=this' },
  { name: 'Last month', query: 'month=last' },
];

/** The choice in an address. Default: the last 30 days up to `today`. Never ends after today. Throws `BadAddress`. */
export function choiceOf(query: Parameters, today: string): Choice {
  const range = rangeOf(query, today);
  const filters = filterNames.flatMap((name) => {
    const value = textOf(query, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const chosen: Choice['filters'] = Object.fromEntries(filters);
  if (chosen.agent !== undefined && !/^\d{1,15}$/.test(chosen.agent)) {
    throw new BadAddress('agent must be the id of a user.');
  }
  const ways: readonly string[] = [...reachedValues, ...callBackFilters];
  if (chosen.reached !== undefined && !ways.includes(chosen.reached)) {
    throw new BadAddress(`reached must be one of ${ways.join(', ')}.`);
  }
  return { ...range, filters: chosen };
}

function rangeOf(query: Parameters, today: string): Pick<Choice, 'from' | 'to'> {
  const [from, to] = [textOf(query, 'from'), textOf(query, 'to')];
  if (from !== undefined || to !== undefined) {
    if (!isDay(from) || !isDay(to)) throw new BadAddress('from and to must both be days, such as 2026-11-01.');
    if (from > to) throw new BadAddress('The first day must not be after the last day.');
    if (from > today) throw new BadAddress(`There is nothing to report after today, ${today}.`);
    if (daysBetween(from, to) > maxDays) throw new BadAddress(`A range can have ${maxDays} days at most.`);
    return { from, to: to > today ? today : to };
  }
  const month = textOf(query, 'month');
  const first = `${today.slice(0, 7)}-01`;
  if (month === 'this') return { from: first, to: today };
  if (month === 'last') return { from: `${addDays(first, -1).slice(0, 7)}-01`, to: addDays(first, -1) };
  if (month !== undefined) throw new BadAddress('month must be this or last.');
  const count = Number(textOf(query, 'days') ?? usualDays);
  if (!Number.isInteger(count) || count < 1 || count > maxDays) {
    throw new BadAddress(`days must be a number from 1 to ${maxDays}.`);
  }
  return { from: addDays(today, 1 - count), to: today };
}

/** The local day this many days later. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * 86_400_000).toISOString().slice(0, 10);
}

/** The number of days in a range, including both ends. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000 + 1;
}

/** The part of a choice that is over; an unfinished day would look like a drop. Undefined if only today is left. */
export function finishedPart(choice: Choice, today: string): Choice | undefined {
  if (choice.to < today) return choice;
  return choice.from < today ? { ...choice, to: addDays(today, -1) } : undefined;
}

/** The same number of days before that. */
export function periodBefore({ from, to, filters }: Choice): Choice {
  return { from: addDays(from, -daysBetween(from, to)), to: addDays(from, -1), filters };
}

/** The choice as URL parameters, with explicit days. */
export function queryOf({ from, to, filters }: Choice): string {
  return new URLSearchParams({ from, to, ...filters }).toString();
}
