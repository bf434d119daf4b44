import { type Answer, type Service, ServiceError } from '../../service/client.ts';
import type { CallSummary } from '../../service/entities/call.ts';
import type { CallPage } from '../../service/resources/calls.ts';
import type { Provenance } from '../../warehouse/columns.ts';
import type { Database } from '../../warehouse/database.ts';
import { beginRead } from '../../warehouse/reads.ts';
import type { OnAnswer } from '../finding.ts';
import { halves, type Span, secondOf } from './spans.ts';
import { createTotals } from './totals.ts';

/*
 * Call search pages by offset, newest first unless told otherwise, while calls arrive (section 4.6). A listing counts
 * only when its distinct ids are as many as the service's own total, whatever stands beside `data` (section 8); else it
 * is made again, and then in smaller spans, down to what fits one page and cannot shift any more, or to a single second,
 * whose passes are added up. However a service counts and pages, each search but a few brings something new.
 */

/** What a span holds according to the service. */
export interface Listing {
  /** Distinct call ids with the second that each began in. */
  readonly calls: ReadonlyMap<string, number>;
  /** Why the listing proves nothing; undefined when it is exactly what the service says there is. */
  readonly doubt: string | undefined;
}

/** Mirrors one page; a page can come again, and calls of a second outside the span with it. */
export type OnPage = (calls: readonly CallSummary[], read: Provenance) => Promise<void>;

export interface CallLister {
  /** Lists a span whose end has passed. Rejects with `ServiceError`, and with what `onPage` rejects with. */
  list(span: Span, onPage: OnPage, signal?: AbortSignal): Promise<Listing>;
}

export interface ListerParts {
  readonly service: Service;
  readonly db: Database;
  readonly onAnswer: OnAnswer;
}

/** The service caps what is asked for, and says what it applied. */
const pageSize = 500;
const triesOfOneSpan = 3;
/** A second cannot be cut: it is listed until so many passes in a row brought nothing new. */
const idlePassesOfOneSecond = 10;
/** Pages that are written while the next one is on its way. */
const pagesInFlight = 2;
/** Whether the ends of a window belong to it is not specified: a second more on either side leaves nothing out. */
const margin = 1;

interface Pass {
  readonly calls: Map<string, number>;
  readonly total: number | undefined;
  /** Pages that brought something new. */
  readonly pageCount: number;
  /** Whether each row that came has an id. */
  readonly isWhole: boolean;
  /** It ended at its first page, since parts of the span are to be listed instead. */
  readonly isCut: boolean;
  /** The service refused to go on from here. */
  readonly refusedAt: number | undefined;
}

export function createCallLister({ service, db, onAnswer }: ListerParts): CallLister {
  // Learnt from the first answer: the order of pages that do not shift may be refused.
  let isSorted = true;
  const totals = createTotals();

  /** How many calls there are in a window, both of whose ends are given away where they do not belong to it. */
  async function count({ from, to }: Span, signal: AbortSignal | undefined): Promise<number | undefined> {
    const answer = await service.calls.search({ start: from, end: to - 1, limit: 1, offset: 0 }, signal && { signal });
    onAnswer('calls.search', answer);
    return answer.data.total;
  }

  async function search(span: Span, offset: number, signal: AbortSignal | undefined): Promise<Answer<CallPage>> {
    const window = { start: span.from - margin, end: span.to + margin - 1, limit: pageSize, offset };
    const ask = (sorted: boolean) =>
      service.calls.search(
        sorted ? { ...window, sort: { field: 'startTime', direction: 'asc' } } : window,
        signal && { signal },
      );
    if (!isSorted) return ask(false);
    try {
      return await ask(true);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.advice !== 'refused') throw error;
      const answer = await ask(false);
      isSorted = false;
      return answer;
    }
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
    let longest = 0;
    let refusedAt: number | undefined;
    try {
      for (let offset = 0; ; ) {
        const read = await beginRead(db, 'calls.search');
        const answer = await search(span, offset, signal).catch((error: unknown) => {
          if (offset === 0 || !(error instanceof ServiceError) || error.advice !== 'refused') throw error;
          // Where the total is used up there may be nothing to list.
          if (offset !== total) refusedAt = offset;
          return undefined;
        });
        if (!answer) break;
        onAnswer('calls.search', answer);
        const page = answer.data;
        total = page.total;
        // Nothing at all is whole, however it is written.
        isWhole &&= answer.omitted === 0 || (total === 0 && page.calls.length === 0);
        const before = calls.size;
        for (const call of page.calls) calls.set(call.id, secondOf(call));
        // A service may answer its last page, or its first, to any offset.
        if (calls.size === before) break;
        pageCount += 1;
        if (writing.length === pagesInFlight) await writing.shift();
        writing.push(quiet(onPage(page.calls, read)));
        isCut = offset === 0 && total !== undefined && isToCut(total);
        offset += page.calls.length;
        // A total that is used up by a full page can be where the service stopped counting.
        const isFull = page.calls.length >= (page.limit ?? pageSize) || (pageCount > 1 && page.calls.length >= longest);
        longest = Math.max(longest, page.calls.length);
        if (isCut || (total !== undefined && (isFull ? offset > total : offset >= total))) break;
      }
      await Promise.all(writing);
    } finally {
      await Promise.allSettled(writing);
    }
    return { calls, total, pageCount, isWhole, isCut, refusedAt };
  }

  /** `around` is what the service counted in the span that this one is a part of. */
  async function listInto(
    found: Map<string, number>,
    span: Span,
    around: number,
    onPage: OnPage,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const parts = halves(span);
    const isToCut = (total: number) => parts !== undefined && totals.isLarge(total) && total < around;
    const window = { from: span.from - margin, to: span.to + margin };
    const together = addPasses();
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
      if (pass.refusedAt !== undefined) {
        totals.refused(pass.refusedAt);
        if (parts && total < around) break;
        return `the service counts ${total} calls and refuses to list more than ${pass.refusedAt}`;
      }
      together.add(pass);
      if (pass.calls.size === total || (!parts && together.isWhole())) {
        if (await totals.isAll(window, total, (part) => count(part, signal))) return undefined;
        if (parts) break;
        return `the service stops counting at ${total} calls`;
      }
      const isSpent = parts ? tries === triesOfOneSpan : together.idlePasses() === idlePassesOfOneSecond;
      // Where a part counts as many as the whole, smaller ones will too: something else than the span is counted.
      const isLast = !parts || (totals.isLarge(total) && total >= around);
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

/**
 * What passes over a single second show together. Nothing orders the calls of one second, so that each pass may leave out
 * what another one shows; their union counts while they agree on the total.
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

/** The same promise, whose failure is met when it is awaited, and not before. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
