import { ServiceError } from '../service/client.ts';
import type { Message } from '../service/entities/message.ts';

/*
 * The specification shows neither the allowed `limit` of a thread read nor the order of its messages (section 4.2), so
 * both are learnt from the answers. Pages overlap by one message: where the overlap is missing, the list has shifted
 * under the reader, and the read begins again. Where it is larger, either messages came in front meanwhile, which is
 * looked up, or the list has no lasting order, and a message may have hidden before every page.
 */

/** What was learnt of this service's pages; shared by all reads of a process. */
export interface ThreadPages {
  /** The limit asked for; undefined once every one was refused: the service's own default then. */
  limit: number | undefined;
  /** The most messages that a page had: the service may give less than it is asked for. */
  longest: number;
  /** What pages begin with; undefined until it is known. */
  order: 'newest first' | 'oldest first' | undefined;
}

/** Limits to try, largest first: a modest one that a small range still allows, then less. */
const limits = [100, 50, 25, 20, 10, 5, 1];

export function createThreadPages(): ThreadPages {
  return { limit: limits[0], longest: 0, order: undefined };
}

export interface PageSource {
  /** Messages that are news: the list is not left before it has shown them. */
  readonly wanted: ReadonlySet<string>;
  read(page: { limit?: number; offset?: number }): Promise<{ messages: readonly Message[]; isComplete: boolean }>;
  /** Whether the mirror holds all of these messages, and the whole thread before them. */
  holdsAll(ids: readonly Message['id'][]): Promise<boolean>;
  /** Whether the mirror holds the whole thread, and nothing but some of these messages. */
  holdsOnly(ids: readonly Message['id'][]): Promise<boolean>;
  /** Whether the mirror holds a message that has its place among these, and is none of them. */
  holdsAnotherAmong(ids: readonly Message['id'][]): Promise<boolean>;
  /** The messages that the mirror holds of a thread that it holds whole; undefined of any other. */
  heldWhole(): Promise<{ readonly count: number; readonly newest: string } | undefined>;
}

/**
 * `complete`: everything was listed, and a page beyond the end proved it. `partial`: down to what the mirror holds, or
 * as far as the service goes. `unsettled`: the list kept shifting, and something may have slipped through.
 */
export interface PagesRead {
  readonly messages: readonly Message[];
  readonly end: 'complete' | 'partial' | 'unsettled';
}

/** How often a read begins again because the list shifted under it. */
const mostRestarts = 3;

/** Far beyond any thread: what ends a list that never ends. */
const mostPages = 2_000;

export async function readPages(pages: ThreadPages, source: PageSource): Promise<PagesRead> {
  const tail = pages.order === 'oldest first' ? await readTail(pages, source) : undefined;
  if (tail) return tail;
  const found = new Map<Message['id'], Message>();
  for (let restart = 0; restart <= mostRestarts; restart += 1) {
    const listed = new Map<Message['id'], Message>();
    const end = await readOnce(pages, source, listed);
    if (end !== 'shifted') return { messages: [...listed.values()], end };
    for (const [id, message] of listed) found.set(id, message);
  }
  return { messages: [...found.values()], end: 'unsettled' };
}

/**
 * What came behind the messages that are held, and as many of these as a page shows, where the oldest are listed first;
 * undefined where it does not fit what is held.
 */
async function readTail(pages: ThreadPages, source: PageSource): Promise<PagesRead | undefined> {
  const held = await source.heldWhole();
  let offset = (held?.count ?? 0) - Math.min(pages.limit ?? pages.longest, pages.longest);
  if (!held || offset <= 0) return undefined;
  const listed = new Map<Message['id'], Message>();
  let before: readonly Message[] = [];
  let isWhole = true;
  for (let count = 0; count < mostPages; count += 1) {
    const page = await readPage(pages, source, offset, before);
    if (!page) return undefined;
    const { messages, isComplete } = page;
    isWhole &&= isComplete;
    const isBehind = count === 0 ? hasMessage(messages, held.newest) : before.length < 2 || overlap(messages, before);
    if (!isBehind) return undefined;
    const isOver = messages.every(({ id }) => listed.has(id));
    for (const message of messages) listed.set(message.id, message);
    if (isOver) {
      const isNews = lacksWanted(source, listed) || (await lacksHeld(source, listed, isWhole));
      return isNews ? undefined : { messages: [...listed.values()], end: 'partial' };
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
  const shown = new Set([...listed.keys()].map(String));
  return [...wanted].some((id) => !shown.has(id));
}

/**
 * Whether a message that is held is missing where it should have been listed: it was deleted, or got another id, which a
 * read to the end will prove. Where none ever can, that is not asked.
 */
async function lacksHeld(
  source: PageSource,
  listed: ReadonlyMap<Message['id'], Message>,
  isWhole: boolean,
): Promise<boolean> {
  return isWhole && (await source.holdsAnotherAmong([...listed.keys()]));
}

async function readOnce(
  pages: ThreadPages,
  source: PageSource,
  listed: Map<Message['id'], Message>,
): Promise<PagesRead['end'] | 'shifted'> {
  let offset = 0;
  let before: readonly Message[] = [];
  let isWhole = true;
  let isInOrder = true;
  let longest = 0;
  let repeated = 0;
  for (let count = 0; count < mostPages; count += 1) {
    const page = await readPage(pages, source, offset, before);
    if (!page) return 'shifted';
    const { messages, isComplete } = page;
    isWhole &&= isComplete;
    const fresh = messages.filter(({ id }) => !listed.has(id));
    for (const message of messages) listed.set(message.id, message);
    if (before.length > 1 && !overlap(messages, before)) return 'shifted';
    // After a page that lacks some, for those that the service keeps to itself, more are listed again.
    repeated += Math.max(0, messages.length - fresh.length - (longest - before.length) - 1);
    longest = Math.max(longest, messages.length);
    if (fresh.length === 0) {
      pages.order = orderBetween(before, messages) ?? pages.order;
      if (!isWhole || !isBeyondEnd(messages, before)) return 'partial';
      if (repeated === 0) return 'complete';
      // What came in front moved the rest, and hid nothing; that the thread is held whole need not be proved again.
      if (isInOrder && (await source.holdsOnly([...listed.keys()]))) return 'partial';
      return (await cameInFront(pages, source, listed, { count: repeated, isInOrder })) ? 'complete' : 'shifted';
    }
    const goesBack = before.length > 0 && goesOn(before, fresh);
    if (before.length > 0) {
      isInOrder &&= newest(fresh) <= oldest(before);
      pages.order = goesBack ? 'newest first' : goesOn(fresh, before) ? 'oldest first' : undefined;
    }
    if (!lacksWanted(source, listed)) {
      // A short page is the end, as a rule; it is proved only where something depends on it.
      const isShort = pages.limit !== undefined && messages.length < pages.limit && !hidesNews(pages, source, messages);
      if (isShort && (await source.holdsOnly([...listed.keys()]))) return 'partial';
      const isHeld = goesBack && (await source.holdsAll(fresh.map(({ id }) => id)));
      if (isHeld && !(await lacksHeld(source, listed, isWhole))) return 'partial';
    }
    before = messages;
    offset += Math.max(1, messages.length - 1);
  }
  return 'unsettled';
}

/** No service cuts pages to fewer messages than these without a word. */
const leastCut = 10;

/**
 * Whether newer messages may stand behind a page that has fewer than were asked for: a service can cut every page to a
 * length of its own, and none was longer. Nothing newer stands behind the newest, nor behind what the events named.
 */
function hidesNews(pages: ThreadPages, { wanted }: PageSource, { length }: readonly Message[]): boolean {
  return pages.order !== 'newest first' && wanted.size === 0 && length >= Math.max(leastCut, pages.longest);
}

/** The order that the last messages of a page show, with which the next one begins; undefined where they show none. */
function orderBetween(page: readonly Message[], last: readonly Message[]): ThreadPages['order'] {
  const ids = new Set(last.map(({ id }) => id));
  const first = page.filter(({ id }) => !ids.has(id));
  if (first.length === 0 || last.length === 0) return undefined;
  return goesOn(first, last) ? 'newest first' : goesOn(last, first) ? 'oldest first' : undefined;
}

/** Beyond the end there is nothing but the overlap. The same page again comes from an offset that is not heeded. */
function isBeyondEnd(messages: readonly Message[], before: readonly Message[]): boolean {
  return messages.length === 0 || (before.length > 1 && messages.length < before.length);
}

/** Whether so many messages that none of those listed is newer than stand at the front now; they are listed then. */
async function cameInFront(
  pages: ThreadPages,
  source: PageSource,
  listed: Map<Message['id'], Message>,
  { count, isInOrder }: { readonly count: number; readonly isInOrder: boolean },
): Promise<boolean> {
  const { messages = [] } = (await readPage(pages, source, 0, [])) ?? {};
  const latest = newest([...listed.values()]);
  const fresh = messages.filter(({ id }) => !listed.has(id));
  // Moments are whole seconds, as a rule, so a text can share that of the one before it.
  const isNewer = (message: Message) => moment(message) > latest || (isInOrder && moment(message) === latest);
  if (fresh.length < count || !fresh.every(isNewer)) return false;
  for (const message of fresh) listed.set(message.id, message);
  return true;
}

/** The order inside a page is open too, so any message in common will do. */
function overlap(messages: readonly Message[], before: readonly Message[]): boolean {
  const ids = new Set(before.map(({ id }) => id));
  return messages.some(({ id }) => ids.has(id));
}

/**
 * Asks for less when the limit is refused, and remembers what was taken; when nothing is, the limit was not the fault. Only
 * the first page speaks for the thread: a later one that is refused or not found, which is undefined, lies beyond the end
 * of a list that became shorter. One message has no other to overlap with, so that what follows it is the end.
 */
async function readPage(pages: ThreadPages, source: PageSource, offset: number, before: readonly Message[]) {
  const from = pages.limit;
  for (let limit = from; ; limit = limits.find((each) => each < (limit ?? 0))) {
    try {
      const page = await source.read({ ...(limit !== undefined && { limit }), ...(offset > 0 && { offset }) });
      if (limit !== from) pages.limit = limit;
      pages.longest = Math.max(pages.longest, page.messages.length);
      return page;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isRefused = error.code === 'invalid_request';
      if (offset > 0 && (isRefused || error.code === 'not_found')) {
        return before.length === 1 ? { messages: [], isComplete: true } : undefined;
      }
      if (!isRefused || limit === undefined) throw error;
    }
  }
}

/**
 * Whether a page goes on where a newer one ended: with nothing newer, and past the moment of its last messages, of which
 * none can follow then.
 */
function goesOn(newer: readonly Message[], older: readonly Message[]): boolean {
  return newest(older) <= oldest(newer) && oldest(older) < oldest(newer);
}

/** Of messages without a moment, neither is known: such pages are in no order. */
function newest(messages: readonly Message[]): number {
  return Math.max(...messages.map(moment));
}

function oldest(messages: readonly Message[]): number {
  return Math.min(...messages.map(moment));
}

function moment({ sentAt }: Message): number {
  return sentAt === undefined ? Number.NaN : Date.parse(sentAt);
}
