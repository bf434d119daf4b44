import type { Answer, CallPage, CallSummary, Service } from '../../api-client/client.ts';
import type { Database } from '../../db/database.ts';
import type { Span } from '../../shared/span.ts';
import { momentOf } from '../../warehouse/calls.ts';
import type { OnAnswer } from '../../warehouse/drift.ts';
import { beginRead, type Provenance } from '../../warehouse/mirror.ts';

/*
 * Call search pages by offset while calls arrive (section 4.6). A listing proves something only when it has as many
 * distinct ids as the service's own total. Otherwise it is repeated, then split in halves, down to a span that fits one
 * page, where nothing can shift, or to a single second, whose passes are added up.
 */

/** The calls of a span according to the service. */
export interface Listing {
  /** Distinct call ids with their start in Unix seconds. */
  readonly calls: ReadonlyMap<string, number>;
  /** Why the listing proves nothing; undefined when it has exactly as many calls as the service counts. */
  readonly doubt: string | undefined;
}

/** Mirrors one page. A page can repeat, and can hold calls of a second outside the span. */
export type OnPage = (calls: readonly CallSummary[], read: Provenance) => Promise<void>;

export interface CallLister {
  /** Lists a span whose end has passed. Rejects with `ServiceError`, and with what `onPage` rejects with. */
  list(span: Span, onPage: OnPage, signal?: AbortSignal): Promise<Listing>;
}

export interface ListerDeps {
  readonly service: Service;
  readonly db: Database;
  readonly onAnswer: OnAnswer;
}

/** The service caps larger limits (section 8). */
const pageSize = 500;
/** A larger span is split before it is paged, so that memory stays flat and a repeated listing costs little. */
const maxTotal = 10_000;
const triesOfOneSpan = 3;
/** A second cannot be split: it is listed until so many passes in a row brought nothing new. */
const idlePassesOfOneSecond = 10;
/** Pages that are written while the next one is fetched. */
const pagesInFlight = 2;
/** Section 4.6 does not say whether a window includes its ends: a second more on either side makes sure. */
const margin = 1;

interface Pass {
  readonly calls: Map<string, number>;
  readonly total: number | undefined;
  /** Pages that brought something new. */
  readonly pageCount: number;
  /** Every row had an id. */
  readonly isWhole: boolean;
  /** It ended at its first page, because the span is to be split. */
  readonly isCut: boolean;
}

export function createCallLister({ service, db, onAnswer }: ListerDeps): CallLister {
  // Oldest first: calls that arrive meanwhile are mostly listed last.
  function search(span: Span, offset: number, signal: AbortSignal | undefined): Promise<Answer<CallPage>> {
    const window = { start: span.from - margin, end: span.to + margin - 1, limit: pageSize, offset };
    const sort = { field: 'startTime', direction: 'asc' } as const;
    return service.calls.search({ ...window, sort }, signal && { signal });
  }

  async function passOver(
    span: Span,
    isToCut: (total: number) => boolean,
    onPage: OnPage,
    signal: AbortSignal | undefined,
  ): Promise<Pass> {
    const calls = new Map<string, number>();
    const writing: Promise<void>[] = [];
    let total: number | undefined;
    let isWhole = true;
    let isCut = false;
    let pageCount = 0;
    try {
      for (let offset = 0; !isCut; ) {
        const read = await beginRead(db, 'calls.search');
        const answer = await search(span, offset, signal);
        onAnswer('calls.search', answer);
        const page = answer.data;
        total = page.total;
        isWhole &&= answer.omitted === 0 || (total === 0 && page.calls.length === 0);
        const before = calls.size;
        for (const call of page.calls) calls.set(call.id, secondOf(call));
        if (calls.size === before) break;
        pageCount += 1;
        if (writing.length === pagesInFlight) await writing.shift();
        writing.push(rejectedLater(onPage(page.calls, read)));
        isCut = offset === 0 && total !== undefined && isToCut(total);
        offset += page.calls.length;
        if (total !== undefined && offset >= total) break;
      }
      await Promise.all(writing);
    } finally {
      await Promise.allSettled(writing);
    }
    return { calls, total, pageCount, isWhole, isCut };
  }

  /** Adds the calls of a span to `found`; resolves to the doubt. `outerTotal` is the total of the span that this is a half of. */
  async function listInto(
    found: Map<string, number>,
    span: Span,
    outerTotal: number,
    onPage: OnPage,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const parts = halves(span);
    const isToCut = (total: number) => parts !== undefined && total >= maxTotal && total < outerTotal;
    const passes = addPasses();
    let total = 0;
    for (let tries = 1; ; tries += 1) {
      const pass = await passOver(span, isToCut, onPage, signal);
      for (const [id, second] of pass.calls) found.set(id, second);
      if (pass.isCut) {
        total = pass.total ?? 0;
        break;
      }
      if (!pass.isWhole) return 'the answer may be partial: rows without an id';
      if (pass.total === undefined) return 'the service does not say how many calls there are';
      total = pass.total;
      passes.add(pass);
      if (pass.calls.size === total || (!parts && passes.isWhole())) return undefined;
      const isSpent = parts ? tries === triesOfOneSpan : passes.idlePasses() === idlePassesOfOneSecond;
      // A half with the total of the whole will not shrink further: the service counts something else than the span.
      const isLast = !parts || (total >= maxTotal && total >= outerTotal);
      // A single page cannot have shifted.
      if ((pass.pageCount <= 1 && tries > 1) || (isSpent && isLast)) {
        return `the service counts ${total} calls and lists ${pass.calls.size}`;
      }
      if (isSpent) break;
    }
    const doubts: (string | undefined)[] = [];
    for (const part of parts ?? []) doubts.push(await listInto(found, part, total, onPage, signal));
    return doubts.find((each) => each !== undefined);
  }

  return {
    async list(span, onPage, signal) {
      const found = new Map<string, number>();
      const doubt = await listInto(found, span, Number.POSITIVE_INFINITY, onPage, signal);
      const within = [...found].filter(([, second]) => second >= span.from && second < span.to);
      return { calls: new Map(within), doubt };
    },
  };
}

/** Two spans that make up one; undefined for a single second. */
function halves({ from, to }: Span): [Span, Span] | undefined {
  const middle = from + Math.floor((to - from) / 2);
  return middle === from
    ? undefined
    : [
        { from, to: middle },
        { from: middle, to },
      ];
}

/** The start of a call in Unix seconds, or else the second in its id (section 2.9). */
export function secondOf(call: Pick<CallSummary, 'id' | 'startTime'>): number {
  const at = call.startTime === undefined ? Number.NaN : Date.parse(call.startTime);
  return Math.floor((Number.isNaN(at) ? momentOf(call.id).getTime() : at) / 1_000);
}

/**
 * The union of passes over a single second. Calls of one second have no order, so a pass may leave out what another lists.
 * The union restarts when the total changes.
 */
function addPasses() {
  let ids = new Set<string>();
  let total: number | undefined;
  let idle = 0;
  return {
    add(pass: Pass): void {
      if (pass.total !== total) ids = new Set();
      total = pass.total;
      const before = ids.size;
      for (const id of pass.calls.keys()) ids.add(id);
      idle = ids.size > before ? 0 : idle + 1;
    },
    isWhole: (): boolean => ids.size === total,
    /** Passes since one brought something new. */
    idlePasses: (): number => idle,
  };
}

/** The same promise, whose rejection is not reported as unhandled before it is awaited. */
function rejectedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
