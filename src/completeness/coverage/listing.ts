import type { Answer, CallPage, CallSummary, Service } from '../../api-client/client.ts';
import type { Database } from '../../db/database.ts';
import type { TimeRange } from '../../shared/time-range.ts';
import { momentOf } from '../../warehouse/held-calls.ts';
import { beginRead, type Provenance } from '../../warehouse/upsert.ts';

/*
 * Call search pages by offset while calls arrive (section 4.6), so a listing may skip some. It's complete only if it
 * has as many distinct ids as the service counts. Otherwise it's repeated, then split in halves, down to a range that
 * fits one page or to a single second. A second with more calls than a page holds may stay incomplete: its calls have
 * no order.
 */

/** The calls of a range according to the service. */
export interface Listing {
  /** Distinct call ids with their start in Unix seconds. */
  readonly calls: ReadonlyMap<string, number>;
  /** Why the listing may be incomplete; undefined when it has exactly as many calls as the service counts. */
  readonly problem: string | undefined;
}

/** Mirrors one page. A page can repeat, and can hold calls of a second outside the range. */
export type OnPage = (calls: readonly CallSummary[], read: Provenance) => Promise<void>;

export type CallLister = ReturnType<typeof createCallLister>;

export interface ListerDeps {
  readonly service: Service;
  readonly db: Database;
}

/** The service caps larger limits (section 8). */
const pageSize = 500;
/** A larger range is split before it's paged: memory stays flat, and a repeated listing costs little. */
const maxTotal = 10_000;
const maxTries = 3;
/**
 * Pages of a listing by end. Most polls need one page. Calls of a long downtime are found when their hours are
 * compared.
 */
const endedPage = { size: 100, max: 20 } as const;
/** Calls that started earlier are left to the comparison of their hours. */
const maxCallSeconds = 86_400;
/** The clock of the service may be ahead. */
const aheadSeconds = 300;
/** Pages that are written while the next one is fetched. */
const pagesInFlight = 2;
/** Section 4.6 doesn't say whether a window includes its ends, so each search covers a second more on either side. */
const margin = 1;

interface Pass {
  readonly calls: Map<string, number>;
  readonly total: number | undefined;
  /** Pages with calls that earlier pages didn't list. */
  readonly pageCount: number;
  /** It ended after its first page, because the range has to be split. */
  readonly isTooLarge: boolean;
}

export function createCallLister({ service, db }: ListerDeps) {
  // Oldest first: calls that arrive meanwhile are mostly listed last.
  function search(range: TimeRange, offset: number, signal: AbortSignal | undefined): Promise<Answer<CallPage>> {
    const window = { start: range.from - margin, end: range.to + margin - 1, limit: pageSize, offset };
    const sort = { field: 'startTime', direction: 'asc' } as const;
    return service.calls.search({ ...window, sort }, signal && { signal });
  }

  async function listOnce(
    range: TimeRange,
    isOverLimit: (total: number) => boolean,
    onPage: OnPage,
    signal: AbortSignal | undefined,
  ): Promise<Pass> {
    const calls = new Map<string, number>();
    const writing: Promise<void>[] = [];
    let total: number | undefined;
    let isTooLarge = false;
    let pageCount = 0;
    try {
      for (let offset = 0; !isTooLarge; ) {
        const read = await beginRead(db, 'calls.search');
        const answer = await search(range, offset, signal);
        const page = answer.data;
        total = page.total;
        const before = calls.size;
        for (const call of page.calls) calls.set(call.id, secondOf(call));
        if (calls.size === before) break;
        pageCount += 1;
        if (writing.length === pagesInFlight) await writing.shift();
        writing.push(awaitedLater(onPage(page.calls, read)));
        isTooLarge = offset === 0 && total !== undefined && isOverLimit(total);
        offset += page.calls.length;
        if (total !== undefined && offset >= total) break;
      }
      await Promise.all(writing);
    } finally {
      await Promise.allSettled(writing);
    }
    return { calls, total, pageCount, isTooLarge };
  }

  /**
   * Adds the calls of a range to `found`; resolves to the problem. `outerTotal`: the count of the range that was
   * halved.
   */
  async function listInto(
    found: Map<string, number>,
    range: TimeRange,
    outerTotal: number,
    onPage: OnPage,
    signal: AbortSignal | undefined,
    isProof: boolean,
  ): Promise<string | undefined> {
    const parts = halves(range);
    const isOverLimit = (total: number) => parts !== undefined && total >= maxTotal && total < outerTotal;
    let total = 0;
    for (let tries = 1; ; tries += 1) {
      const pass = await listOnce(range, isOverLimit, onPage, signal);
      for (const [id, second] of pass.calls) found.set(id, second);
      if (pass.isTooLarge) {
        total = pass.total ?? 0;
        break;
      }
      if (!isProof) return undefined;
      if (pass.total === undefined) return 'the service does not say how many calls there are';
      total = pass.total;
      if (pass.calls.size === total) return undefined;
      const isSpent = tries === maxTries;
      // If a half has the total of the whole, further halves won't shrink: the service counts something else than the
      // range.
      const isLast = !parts || (total >= maxTotal && total >= outerTotal);
      // A single page can't have shifted.
      if ((pass.pageCount <= 1 && tries > 1) || (isSpent && isLast)) {
        return `the service counts ${total} calls and lists ${pass.calls.size}`;
      }
      if (isSpent) break;
    }
    const problems: (string | undefined)[] = [];
    for (const part of parts ?? []) problems.push(await listInto(found, part, total, onPage, signal, isProof));
    return problems.find((each) => each !== undefined);
  }

  return {
    /**
     * Lists a range whose end has passed. Without `isProof`, asks for each page once: while the service still adds
     * calls to the range, no two listings agree. Rejects with `ServiceError`, and with what `onPage` rejects with.
     */
    async list(range: TimeRange, onPage: OnPage, signal?: AbortSignal, isProof = true): Promise<Listing> {
      const found = new Map<string, number>();
      const problem = await listInto(found, range, Number.POSITIVE_INFINITY, onPage, signal, isProof);
      await service.confirmAccount('calls.search', signal);
      const within = [...found].filter(([, second]) => second >= range.from && second < range.to);
      return { calls: new Map(within), problem };
    },
    /**
     * Lists the calls that ended after `since`, the latest end first: a listing by start would need a long window to
     * find long calls. Moments in Unix seconds. Proves nothing. Rejects with `ServiceError`, and with what `onPage`
     * rejects with.
     */
    async listEnded({ from: since, to }: TimeRange, onPage: OnPage, signal?: AbortSignal): Promise<void> {
      const window = { start: to - maxCallSeconds, end: to + aheadSeconds, limit: endedPage.size };
      const sort = { field: 'endTime', direction: 'desc' } as const;
      for (let pages = 0, offset = 0; pages < endedPage.max; pages += 1) {
        const read = await beginRead(db, 'calls.search');
        const answer = await service.calls.search({ ...window, offset, sort }, signal && { signal });
        const { calls, total } = answer.data;
        await onPage(calls, read);
        offset += calls.length;
        // Skips calls without an end, if they are listed first.
        const isPast = calls.some(({ endTime }) => endTime !== undefined && Date.parse(endTime) < since * 1_000);
        if (isPast || calls.length === 0 || (total !== undefined && offset >= total)) return;
      }
    },
  };
}

/** Splits a range in two; undefined for a single second. */
function halves({ from, to }: TimeRange): [TimeRange, TimeRange] | undefined {
  const middle = from + Math.floor((to - from) / 2);
  const parts: [TimeRange, TimeRange] = [
    { from, to: middle },
    { from: middle, to },
  ];
  return middle === from ? undefined : parts;
}

/** The start of a call in Unix seconds, or else the second in its id (section 2.9). */
export function secondOf(call: Pick<CallSummary, 'id' | 'startTime'>): number {
  const at = call.startTime === undefined ? Number.NaN : Date.parse(call.startTime);
  return Math.floor((Number.isNaN(at) ? momentOf(call.id).getTime() : at) / 1_000);
}

/** Keeps a rejection from being reported as unhandled before the promise is awaited. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
