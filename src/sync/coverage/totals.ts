import { halves, type Span } from './spans.ts';

/*
 * A service can stop counting at some total and list no row beyond it, or refuse to page so far: a busy month then looks
 * whole, or cannot be listed at all. What two parts of a span count together tells of the first: it is more than the whole
 * counts only where counting stops. What was found out holds for all later spans, so that it is asked seldom.
 */

/** How many calls the service counts in a span; undefined when it does not say. */
export type Count = (span: Span) => Promise<number | undefined>;

export interface Totals {
  /** Whether a span of so many calls is better listed in parts from the begin. */
  isLarge(total: number): boolean;
  /** The service refused to list from this offset on. */
  refused(offset: number): void;
  /** Whether a span has no more calls than were counted in it. True also where nothing can tell. */
  isAll(span: Span, total: number, count: Count): Promise<boolean>;
}

/** More than this is listed in parts, so that memory stays flat and a listing that shifted costs little. */
const mostAtOnce = 10_000;
/** No service stops counting below this. */
const leastCap = 100;
/** A window whose parts can be asked for: the end has to be after the start. */
const leastWidth = 4;

export function createTotals(): Totals {
  /** So many calls were counted, and were all. */
  let countedTo = leastCap;
  /** Where the service was seen to stop counting. */
  let stopsAt = Number.POSITIVE_INFINITY;
  let deepest = Number.POSITIVE_INFINITY;

  /**
   * Down to the first window whose two parts both have some of the calls: there, each part was counted for itself. The
   * parts share no second, whether or not the ends of a window belong to it.
   */
  async function stops(whole: Span, total: number, count: Count): Promise<boolean | undefined> {
    for (let window = whole; ; ) {
      const parts = window.to - window.from < leastWidth ? undefined : halves(window);
      if (!parts) return undefined;
      const [before, after] = [await count(parts[0]), await count(parts[1])];
      if (before === undefined || after === undefined) return undefined;
      if (before + after > total) return (await count(whole)) === total ? true : undefined;
      if (before < total && after < total) return false;
      window = before === total ? parts[0] : parts[1];
    }
  }

  return {
    isLarge: (total) => total >= Math.min(mostAtOnce, stopsAt) || total > deepest,
    refused(offset) {
      deepest = Math.min(deepest, offset);
    },
    async isAll(span, total, count) {
      if (total <= countedTo) return true;
      if (total >= stopsAt) return false;
      const isStopped = await stops(span, total, count);
      if (isStopped === false) countedTo = total;
      if (isStopped) stopsAt = Math.min(stopsAt, total);
      return !isStopped;
    },
  };
}
