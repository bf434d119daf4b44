import { type Message, ServiceError } from '../../api-client/client.ts';
import type { HeldThread } from '../../warehouse/conversations.ts';

/*
 * Section 4.2 specifies neither the allowed `limit` of a thread read nor the order of messages: both are learnt from
 * answers. Pages overlap by one message. Without an overlap the list has shifted, and the read starts again. A larger
 * overlap means that new messages arrived in front, which is checked, or that the order is unstable and a message may
 * have been skipped.
 */

/** What a process has learnt about the pages of the service. */
export interface ThreadPages {
  /** The limit to send; undefined once the service refused all, so that it applies its default. */
  limit: number | undefined;
  /** The length of the longest page so far. */
  longest: number;
  /** Undefined until it is known. */
  order: 'newest first' | 'oldest first' | undefined;
}

const limits = [100, 50, 25, 20, 10, 5, 1];

export function createThreadPages(): ThreadPages {
  return { limit: limits[0], longest: 0, order: undefined };
}

type Held = Pick<HeldThread, 'holdsAll' | 'holdsOnly' | 'holdsAnotherAmong' | 'heldWhole'>;

export interface PageSource extends Held {
  /** Messages that must be listed before the read may stop. */
  readonly wanted: ReadonlySet<string>;
  read(page: { limit?: number; offset?: number }): Promise<readonly Message[]>;
}

/**
 * `complete`: everything was listed, as a page beyond the end proved. `partial`: listed back to what the mirror holds.
 * `unsettled`: the list kept shifting, so messages may be missing.
 */
export interface PagesRead {
  readonly messages: readonly Message[];
  readonly end: 'complete' | 'partial' | 'unsettled';
}

/** How often a read may start again because the list shifted. */
const maxRestarts = 3;

/** More pages than any thread has: stops at a list that never ends. */
const maxPages = 2_000;

/** Lists a thread page by page, back to what the mirror holds. Rejects with what `source.read` rejects with. */
export async function readPages(pages: ThreadPages, source: PageSource): Promise<PagesRead> {
  const tail = pages.order === 'oldest first' ? await readTail(pages, source) : undefined;
  if (tail) return tail;
  const found = new Map<Message['id'], Message>();
  for (let restart = 0; restart <= maxRestarts; restart += 1) {
    const listed = new Map<Message['id'], Message>();
    const end = await readOnce(pages, source, listed);
    if (end !== 'shifted') return { messages: [...listed.values()], end };
    for (const [id, message] of listed) found.set(id, message);
  }
  return { messages: [...found.values()], end: 'unsettled' };
}

/**
 * Reads the end of a list that is sorted oldest first: the last held page and all later ones. Undefined if the pages
 * don't match the held messages.
 */
async function readTail(pages: ThreadPages, source: PageSource): Promise<PagesRead | undefined> {
  const held = await source.heldWhole();
  let offset = (held?.count ?? 0) - Math.min(pages.limit ?? pages.longest, pages.longest);
  if (!held || offset <= 0) return undefined;
  const listed = new Map<Message['id'], Message>();
  let before: readonly Message[] = [];
  for (let count = 0; count < maxPages; count += 1) {
    const messages = await readPage(pages, source, offset, before);
    if (!messages) return undefined;
    const isContiguous =
      count === 0 ? hasMessage(messages, held.newest) : before.length < 2 || overlap(messages, before);
    if (!isContiguous) return undefined;
    const isOver = messages.every(({ id }) => listed.has(id));
    for (const message of messages) listed.set(message.id, message);
    if (isOver) {
      const isInsufficient = lacksWanted(source, listed) || (await lacksHeld(source, listed));
      return isInsufficient ? undefined : { messages: [...listed.values()], end: 'partial' };
    }
    before = messages;
    offset += Math.max(1, messages.length - 1);
  }
  return undefined;
}

function hasMessage(messages: readonly Message[], wanted: string): boolean {
  return messages.some(({ id }) => String(id) === wanted);
}

function lacksWanted({ wanted }: PageSource, listed: ReadonlyMap<Message['id'], Message>): boolean {
  if (wanted.size === 0) return false;
  const ids = new Set([...listed.keys()].map(String));
  return [...wanted].some((id) => !ids.has(id));
}

/** Whether the list lacks a held message: only a read to the end of the list proves a deletion. */
function lacksHeld(source: PageSource, listed: ReadonlyMap<Message['id'], Message>): Promise<boolean> {
  return source.holdsAnotherAmong([...listed.keys()]);
}

async function readOnce(
  pages: ThreadPages,
  source: PageSource,
  listed: Map<Message['id'], Message>,
): Promise<PagesRead['end'] | 'shifted'> {
  let offset = 0;
  let before: readonly Message[] = [];
  let isInOrder = true;
  let longest = 0;
  let repeated = 0;
  for (let count = 0; count < maxPages; count += 1) {
    const messages = await readPage(pages, source, offset, before);
    if (!messages) return 'shifted';
    const fresh = messages.filter(({ id }) => !listed.has(id));
    for (const message of messages) listed.set(message.id, message);
    if (before.length > 1 && !overlap(messages, before)) return 'shifted';
    // If a page is shorter than the longest before it, the next page overlaps by more.
    repeated += Math.max(0, messages.length - fresh.length - (longest - before.length) - 1);
    longest = Math.max(longest, messages.length);
    if (fresh.length === 0) {
      pages.order = orderBetween(before, messages) ?? pages.order;
      if (!isBeyondEnd(messages, before)) return 'partial';
      if (repeated === 0) return 'complete';
      // New messages in front only moved the others back.
      if (isInOrder && (await source.holdsOnly([...listed.keys()]))) return 'partial';
      return (await arrivedInFront(pages, source, listed, { count: repeated, isInOrder })) ? 'complete' : 'shifted';
    }
    const goesBack = before.length > 0 && continues(before, fresh);
    if (before.length > 0) {
      isInOrder &&= newest(fresh) <= oldest(before);
      pages.order = goesBack ? 'newest first' : continues(fresh, before) ? 'oldest first' : undefined;
    }
    if (!lacksWanted(source, listed)) {
      // A short page is the end of the list. Only a deletion needs the proof of another page.
      const isShort = pages.limit !== undefined && messages.length < pages.limit;
      if (isShort && (await source.holdsOnly([...listed.keys()]))) return 'partial';
      const isHeld = goesBack && (await source.holdsAll(fresh.map(({ id }) => id)));
      if (isHeld && !(await lacksHeld(source, listed))) return 'partial';
    }
    before = messages;
    offset += Math.max(1, messages.length - 1);
  }
  return 'unsettled';
}

/** The order of a page and its overlap with the previous one; undefined if it can't be determined. */
function orderBetween(page: readonly Message[], last: readonly Message[]): ThreadPages['order'] {
  const ids = new Set(last.map(({ id }) => id));
  const first = page.filter(({ id }) => !ids.has(id));
  if (first.length === 0 || last.length === 0) return undefined;
  return continues(first, last) ? 'newest first' : continues(last, first) ? 'oldest first' : undefined;
}

/** A page beyond the end lists only the overlap. If it equals the previous page, the service ignores the offset. */
function isBeyondEnd(messages: readonly Message[], before: readonly Message[]): boolean {
  return messages.length === 0 || (before.length > 1 && messages.length < before.length);
}

/** Whether `count` messages, newer than all listed ones, arrived in front. Adds them to `listed`. */
async function arrivedInFront(
  pages: ThreadPages,
  source: PageSource,
  listed: Map<Message['id'], Message>,
  { count, isInOrder }: { readonly count: number; readonly isInOrder: boolean },
): Promise<boolean> {
  const messages = (await readPage(pages, source, 0, [])) ?? [];
  const latest = newest([...listed.values()]);
  const fresh = messages.filter(({ id }) => !listed.has(id));
  // Times are mostly whole seconds, so two texts can have the same time.
  const isNewer = (message: Message) => moment(message) > latest || (isInOrder && moment(message) === latest);
  if (fresh.length < count || !fresh.every(isNewer)) return false;
  for (const message of fresh) listed.set(message.id, message);
  return true;
}

/** The order within a page isn't specified, so any common message counts. */
function overlap(messages: readonly Message[], before: readonly Message[]): boolean {
  const ids = new Set(before.map(({ id }) => id));
  return messages.some(({ id }) => ids.has(id));
}

/**
 * Reads one page, with smaller limits if the service refuses the limit. Undefined if it refuses a later page or doesn't
 * find it: the list has become shorter. After a page of one message, that is the end of the list, and the page counts
 * as empty.
 */
async function readPage(pages: ThreadPages, source: PageSource, offset: number, before: readonly Message[]) {
  const from = pages.limit;
  for (let limit = from; ; limit = limits.find((each) => each < (limit ?? 0))) {
    try {
      const page = await source.read({ ...(limit !== undefined && { limit }), ...(offset > 0 && { offset }) });
      if (limit !== from) pages.limit = limit;
      pages.longest = Math.max(pages.longest, page.length);
      return page;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isRefused = error.code === 'invalid_request';
      if (offset > 0 && (isRefused || error.code === 'not_found')) {
        return before.length === 1 ? [] : undefined;
      }
      if (!isRefused || limit === undefined) throw error;
    }
  }
}

/** Whether a page continues a newer one: nothing in it is newer than that page, and its oldest message is older. */
function continues(newer: readonly Message[], older: readonly Message[]): boolean {
  return newest(older) <= oldest(newer) && oldest(older) < oldest(newer);
}

/** NaN if a message has no time: comparisons are then false, so no order is found. */
function newest(messages: readonly Message[]): number {
  return Math.max(...messages.map(moment));
}

function oldest(messages: readonly Message[]): number {
  return Math.min(...messages.map(moment));
}

function moment({ sentAt }: Message): number {
  return sentAt === undefined ? Number.NaN : Date.parse(sentAt);
}
