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
  /** The longest page that ever came: a shorter one is the end of its thread. */
  longest: number;
}

/** Limits to try, largest first: a modest one that a small range still allows, then less. */
const limits = [100, 50, 25, 20, 10, 5, 1];

export function createThreadPages(): ThreadPages {
  return { limit: limits[0], longest: 0 };
}

export interface PageSource {
  read(page: { limit?: number; offset?: number }): Promise<{ messages: readonly Message[]; isComplete: boolean }>;
  /** Whether the mirror holds all of these messages, and the whole thread before them. */
  isHeld(ids: readonly Message['id'][]): Promise<boolean>;
}

/**
 * `complete`: everything was listed. `partial`: down to what the mirror holds, or as far as the service goes.
 * `unsettled`: the list kept shifting.
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
    const end = await readOnce(pages, source, found);
    if (end !== 'shifted') return { messages: [...found.values()], end };
  }
  return { messages: [...found.values()], end: 'unsettled' };
}

async function readOnce(
  pages: ThreadPages,
  source: PageSource,
  found: Map<Message['id'], Message>,
): Promise<PagesRead['end'] | 'shifted'> {
  let offset = 0;
  let before: readonly Message[] = [];
  let isWhole = true;
  const listed = new Set<Message['id']>();
  for (let count = 0; count < mostPages; count += 1) {
    const { messages, isComplete } = await readPage(pages, source, offset);
    isWhole &&= isComplete;
    const overlap = before.length > 1 ? before.at(-1) : undefined;
    if (overlap && messages.length > 0 && !messages.some(({ id }) => id === overlap.id)) return 'shifted';
    const fresh = messages.filter(({ id }) => !listed.has(id));
    for (const message of messages) {
      listed.add(message.id);
      found.set(message.id, message);
    }
    if (isEndOf(pages, messages)) return isWhole ? 'complete' : 'partial';
    // An offset that the service does not heed would list the same page for ever, and nothing proves that it is all.
    if (overlap && fresh.length === 0) return 'partial';
    pages.longest = Math.max(pages.longest, messages.length);
    if (isOlder(fresh, before) && (await source.isHeld(fresh.map(({ id }) => id)))) return 'partial';
    before = messages;
    offset += Math.max(1, messages.length - 1);
  }
  return 'unsettled';
}

/** A page shorter than one that came before is the last; so is an empty one, or the lone overlap. */
function isEndOf(pages: ThreadPages, messages: readonly Message[]): boolean {
  return messages.length <= 1 ? messages.length === 0 || pages.longest > 1 : messages.length < pages.longest;
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
  if (fresh.length === 0 || before.length === 0) return false;
  const newest = Math.max(...fresh.map(moment));
  return newest <= Math.min(...before.map(moment));
}

function moment({ sentAt }: Message): number {
  return sentAt === undefined ? Number.NaN : Date.parse(sentAt);
}
