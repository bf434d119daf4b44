import { zoneOffset } from '../resources/moments.ts';

const day = 86_400;
const quarter = 900;

interface Span {
  from: number;
  to: number;
  offset: number;
}

/**
 * Tells the minute of the day on a zone's wall clock for moments in unix seconds. It asks the zone once for each day
 * that the moments run through, so let them come in order of time.
 */
export function createWallClock(timeZone: string): (moment: number) => number {
  let span: Span = { from: 0, to: 0, offset: 0 };
  return (moment) => {
    if (moment < span.from || moment >= span.to) span = spanAround(moment, timeZone);
    const minute = Math.floor((moment + span.offset) / 60) % 1440;
    return minute < 0 ? minute + 1440 : minute;
  };
}

/** The part of a day (UTC) around a moment in which the clock is not set; no zone sets it twice within a day. */
function spanAround(moment: number, timeZone: string): Span {
  const offsetAt = (at: number) => zoneOffset(at * 1000, timeZone) / 1000;
  let from = Math.floor(moment / day) * day;
  let to = from + day;
  const [before, after] = [offsetAt(from), offsetAt(to)];
  if (before === after) return { from, to, offset: before };

  const [midnight, next] = [from, to];
  while (to - from > quarter) {
    const middle = from + Math.floor((to - from) / quarter / 2) * quarter;
    if (offsetAt(middle) === before) from = middle;
    else to = middle;
  }
  return moment < to ? { from: midnight, to, offset: before } : { from: to, to: next, offset: after };
}
