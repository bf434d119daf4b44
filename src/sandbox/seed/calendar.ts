import type { Random } from '../random.ts';
import { zoneOffset } from '../resources/moments.ts';

const dayMs = 86_400_000;
/** Share of a weekday's calls by hour of the wall clock: lunch dips, Mondays are not told apart, nights are nearly still. */
const hours = [1, 0, 0, 0, 0, 1, 3, 12, 55, 95, 100, 92, 70, 74, 90, 88, 76, 48, 18, 9, 6, 4, 2, 1];
const weekendShare = 0.12;

const callsPerDay = 1_000;

/** A fortnight, or as many days as keep a busy company of this size below what its people can answer. */
export function historyDays(calls: number): number {
  return Math.max(14, Math.ceil(calls / callsPerDay));
}

/** Draws moments (unix seconds) over the days before `end` in the shape of business hours, oldest first. */
export function drawMoments(random: Random, count: number, end: number, days: number, timeZone: string): number[] {
  const midnights = Array.from({ length: days + 1 }, (_, back) => {
    const moment = end - back * dayMs;
    const wall = moment + zoneOffset(moment, timeZone);
    return Math.floor(wall / dayMs) * dayMs - zoneOffset(moment, timeZone);
  });
  // Summed up once, for there may be hundreds of days.
  let weight = 0;
  const dayEnds = midnights.map((midnight) => {
    const weekday = new Date(midnight + zoneOffset(midnight, timeZone)).getUTCDay();
    weight += weekday === 0 || weekday === 6 ? weekendShare : 1;
    return weight;
  });

  const first = end - days * dayMs;
  const moments: number[] = [];
  while (moments.length < count) {
    const drawn = random.next() * weight;
    const midnight = midnights[dayEnds.findIndex((dayEnd) => drawn < dayEnd)] as number;
    const moment = midnight + random.weighted(hours) * 3_600_000 + random.int(0, 3_599_000);
    if (moment >= first && moment < end) moments.push(Math.floor(moment / 1000));
  }
  return moments.sort((one, other) => one - other);
}
