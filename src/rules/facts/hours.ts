import { addDays, type BusinessHours, localTime, openingsOn, specialHours, weekdayOf } from '../business-hours.ts';
import type { FactsOf } from './declared.ts';

/** How far ahead the next opening is searched. */
const maxDays = 14;
const minuteMs = 60_000;

/** The last answers: triggers come in the order of time. */
const lastFacts = new WeakMap<BusinessHours, { readonly minute: number; readonly facts: FactsOf<'hours'> }>();

/** The facts about business hours at a moment. They change at most once a minute. */
export function hoursAt(hours: BusinessHours, moment: Date): FactsOf<'hours'> {
  const minute = Math.floor(moment.getTime() / minuteMs);
  const last = lastFacts.get(hours);
  if (last?.minute === minute) return last.facts;
  const facts = hoursFrom(hours, new Date(minute * minuteMs));
  lastFacts.set(hours, { minute, facts });
  return facts;
}

/** Converts each opening time to an instant of its own, so that days with 23 or 25 hours are right too. */
function hoursFrom(hours: BusinessHours, at: Date): FactsOf<'hours'> {
  const local = localTime(at, hours.timeZone);
  const weekday = weekdayOf(local.date);
  return {
    is_open: openingsOn(hours, local.date).some(({ from, to }) => from <= at && at < to),
    is_holiday: specialHours(hours, local.date)?.length === 0,
    weekday,
    time: local.time,
    date: local.date,
    time_zone: hours.timeZone,
    opens_at: nextOpening(hours, local.date, at),
  };
}

function nextOpening(hours: BusinessHours, date: string, at: Date): Date | undefined {
  for (let ahead = 0; ahead <= maxDays; ahead += 1) {
    const opening = openingsOn(hours, addDays(date, ahead)).find(({ from }) => from > at);
    if (opening) return opening.from;
  }
  return undefined;
}

/** How far open time is counted. */
const maxCountedDays = 366;

/**
 * The first moment by which the business has been open for so long since another moment. Undefined: not within a year.
 */
export function afterOpenSeconds(hours: BusinessHours, from: Date, seconds: number): Date | undefined {
  const { date } = localTime(from, hours.timeZone);
  let left = seconds * 1_000;
  for (let ahead = 0; ahead <= maxCountedDays; ahead += 1) {
    for (const span of openingsOn(hours, addDays(date, ahead))) {
      const start = Math.max(span.from.getTime(), from.getTime());
      const open = Math.max(0, span.to.getTime() - start);
      if (open >= left) return new Date(start + left);
      left -= open;
    }
  }
  return undefined;
}

/**
 * The last moment since which the business has been open for so long by another moment. Undefined: not within a year.
 */
export function beforeOpenSeconds(hours: BusinessHours, to: Date, seconds: number): Date | undefined {
  const { date } = localTime(to, hours.timeZone);
  let left = seconds * 1_000;
  for (let back = 0; back <= maxCountedDays; back += 1) {
    for (const span of openingsOn(hours, addDays(date, -back)).toReversed()) {
      const end = Math.min(span.to.getTime(), to.getTime());
      const open = Math.max(0, end - span.from.getTime());
      if (open >= left) return new Date(end - left);
      left -= open;
    }
  }
  return undefined;
}
