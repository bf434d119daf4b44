import { ServiceError } from '../service/client.ts';
import type { Message } from '../service/entities/message.ts';

/*
 * The specification shows neither the allowed `limit` of a thread read nor the order of its messages (section 4.2), so
 * both are learnt from the answers. Pages overlap by one message: where the overlap is missing, the list has shifted
 * under the reader, and the read begins again.
 */

/** What was learnt of this service's pages; shared by all reads of a process. */
export interface ThreadPages {
  /** The limit asked for; undefined once every one was refused: the service's own default then. */
  limit: number | undefined;
}

/** Limits to try, largest first: a modest one that a small range still allows, then less. */
const limits = [100, 50, 25, 20, 10, 5, 1];

export function createThreadPages(): ThreadPages {
  return { limit: limits[0] };
}

export interface PageSource {
  read(page: { limit?: number; offset?: number }): Promise<{ messages: readonly Message[]; isComplete: boolean }>;
  /** Whether the mirror holds all of these messages, and the whole thread before them. */
  holdsAll(ids: readonly Message['id'][]): Promise<boolean>;
  /** Whether the mirror holds the whole thread, and nothing but some of these messages. */
  holdsOnly(ids: readonly Message['id'][]): Promise<boolean>;
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
  const found = new Map<Message['id'], Message>();
  for (let restart = 0; restart <= mostRestarts; restart += 1) {
    const listed = new Map<Message['id'], Message>();
    const end = await readOnce(pages, source, listed);
    if (end !== 'shifted') return { messages: [...listed.values()], end };
    for (const [id, message] of listed) found.set(id, message);
  }
  return { messages: [...found.values()], end: 'unsettled' };
}

async function readOnce(
  pages: ThreadPages,
  source: PageSource,
  listed: Map<Message['id'], Message>,
): Promise<PagesRead['end'] | 'shifted'> {
  let offset = 0;
  let before: readonly Message[] = [];
  let isWhole = true;
  for (let count = 0; count < mostPages; count += 1) {
    const { messages, isComplete } = await readPage(pages, source, offset);
    isWhole &&= isComplete;
    const fresh = messages.filter(({ id }) => !listed.has(id));
    for (const message of messages) listed.set(message.id, message);
    if (fresh.length === 0) return isWhole && isBeyondEnd(messages, before) ? 'complete' : 'partial';
    if (before.length > 1 && !overlap(messages, before)) return 'shifted';
    // A short page is the end, as a rule; it is proved only where something depends on it.
    const isShort = pages.limit !== undefined && messages.length < pages.limit;
    if (isShort && (await source.holdsOnly([...listed.keys()]))) return 'partial';
    if (isOlder(fresh, before) && (await source.holdsAll(fresh.map(({ id }) => id)))) return 'partial';
    before = messages;
    offset += Math.max(1, messages.length - 1);
  }
  return 'unsettled';
}

/** Beyond the end there is nothing but the overlap. The same page again comes from an offset that is not heeded. */
function isBeyondEnd(messages: readonly Message[], before: readonly Message[]): boolean {
  return messages.length === 0 || (before.length > 1 && messages.length < before.length);
}

/** The order inside a page is open too, so any message in common will do. */
function overlap(messages: readonly Message[], before: readonly Message[]): boolean {
  const ids = new Set(before.map(({ id }) => id));
  return messages.some(({ id }) => ids.has(id));
}

/** Asks for less when the limit is refused, and remembers what was taken; when nothing is, the limit was not the fault. */
async function readPage(pages: ThreadPages, source: PageSource, offset: number) {
  const from = pages.limit;
  for (let limit = from; ; limit = limits.find((each) => each < (limit ?? 0))) {
    try {
      const page = await source.read({ ...(limit !== undefined && { limit }), ...(offset > 0 && { offset }) });
      if (limit !== from) pages.limit = limit;
      return page;
    } catch (error) {
      const isRefused = error instanceof ServiceError && error.code === 'invalid_request';
      if (!isRefused || limit === undefined) throw error;
    }
  }
}

/** Whether pages go back in time: every message that is new on a page is older than all of the page before. */
function isOlder(fresh: readonly Message[], before: readonly Message[]): boolean {
  if (before.length === 0) return false;
  return Math.max(...fresh.map(moment)) < Math.min(...before.map(moment));
}

function moment({ sentAt }: Message): number {
  return sentAt === undefined ? Number.NaN : Date.parse(sentAt);
}
