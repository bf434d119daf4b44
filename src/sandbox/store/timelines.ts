import type { Message } from '../account.ts';

/** Messages by something that they share, such as their line; each timeline runs from the oldest to the newest. */
export interface Timelines {
  of(key: string): readonly Message[];
  /** Place of the first one that was sent after a moment (milliseconds); the length where there is none. */
  firstAfter(key: string, moment: number): number;
  size(): number;
  /** Puts a message in its place, instead of what stood there `before`. */
  put(message: Message, before: Message | undefined): void;
  remove(message: Message): void;
  clear(): void;
}

export function createTimelines(keyOf: (message: Message) => string): Timelines {
  const timelines = new Map<string, Message[]>();

  function put(message: Message, before: Message | undefined): void {
    if (before !== undefined && keyOf(before) === keyOf(message) && before.sentAt === message.sentAt) {
      const timeline = timelines.get(keyOf(message)) ?? [];
      timeline[position(timeline, message.sentAt, message.id)] = message;
      return;
    }
    if (before !== undefined) remove(before);
    const timeline = timelines.get(keyOf(message)) ?? [];
    timelines.set(keyOf(message), timeline);
    timeline.splice(position(timeline, message.sentAt, message.id), 0, message);
  }

  function remove(message: Message): void {
    const key = keyOf(message);
    const timeline = timelines.get(key) ?? [];
    timeline.splice(position(timeline, message.sentAt, message.id), 1);
    if (timeline.length === 0) timelines.delete(key);
  }

  return {
    of: (key) => timelines.get(key) ?? [],
    firstAfter: (key, moment) => position(timelines.get(key) ?? [], moment, Number.POSITIVE_INFINITY),
    size: () => timelines.size,
    put,
    remove,
    clear: () => timelines.clear(),
  };
}

/** First place whose message does not stand before (sentAt, id). */
function position(timeline: readonly Message[], sentAt: number, id: number): number {
  let low = 0;
  let high = timeline.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const message = timeline[middle] as Message;
    if (message.sentAt < sentAt || (message.sentAt === sentAt && message.id < id)) low = middle + 1;
    else high = middle;
  }
  return low;
}
