import { draw } from '../draws.ts';
import type { Asked, Reply } from '../world/service.ts';

/** A message as section 2.6 shows it. */
export interface ShownMessage {
  readonly id: number;
  readonly sentAt: string;
  readonly [field: string]: unknown;
}

export interface ThreadHabits {
  readonly order?: 'newest first' | 'oldest first' | 'newest first, shuffled inside pages' | 'another each time';
  /** A larger `limit` is refused with 400. */
  readonly limit?: number;
  /** Pages are cut to so many messages, whatever is asked for. */
  readonly cut?: number;
  readonly heedsOffset?: boolean;
  /** An offset at which nothing stands is answered with this. */
  readonly beyond?: Reply;
  /** What happens to the thread after a page was shown. */
  readonly afterPage?: (page: number) => void;
}

/** Messages sent a minute apart, numbered from `first`. */
export function messages(count: number, first = 1, more: object = {}): ShownMessage[] {
  return Array.from({ length: count }, (_, at) => message(first + at, more));
}

export function message(id: number, more: object = {}): ShownMessage {
  const sentAt = new Date(Date.UTC(2026, 3, 21) + id * 60_000).toISOString();
  const parties = { from: '15550000002', to: '15550000001' };
  return { id, direction: 'in', ...parties, text: `text ${id}`, sentAt, read: false, ...more };
}

/** Answers thread reads out of `thread`, oldest first as kept, with one service's habits. */
export function threadService(
  thread: () => readonly ShownMessage[],
  habits: ThreadHabits = {},
): (asked: Asked) => Reply {
  const { order = 'newest first', limit: largest = 200, heedsOffset = true } = habits;
  let page = 0;
  return ({ query }) => {
    const limit = Number(query.get('limit') ?? Math.min(50, largest));
    if (limit > largest) return { error: 'invalid_request', status: 400 };
    const offset = heedsOffset ? Number(query.get('offset') ?? 0) : 0;
    if (habits.beyond && offset > 0 && offset >= thread().length) return habits.beyond;
    const ordered = order === 'oldest first' ? [...thread()] : thread().toReversed();
    if (order === 'another each time') ordered.sort(() => draw() - 0.5);
    const shown = ordered.slice(offset, offset + Math.min(limit, habits.cut ?? limit));
    const listed = order === 'newest first, shuffled inside pages' ? shuffled(shown) : shown;
    page += 1;
    habits.afterPage?.(page);
    return {
      data: { line: '15550000001', number: '15550000002', messages: listed, markedRead: false },
    };
  };
}

/** The same disorder each time. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item, at) => ({ item, at: (at * 7 + 3) % 11 }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
