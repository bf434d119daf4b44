/**
 * Micro-batching without a timer. While fewer than `inFlight` flushes run, an item is flushed at once. Otherwise it
 * waits until one ends, and is flushed together with everything that arrived meanwhile. So an idle system adds no
 * latency, and batches grow with the load.
 */
export interface Batch<Item, Result> {
  /** Resolves with the item's own result, in the order of the batch; rejects when its flush fails. */
  add(item: Item): Promise<Result>;
  /** Items waiting for a flush. */
  readonly waiting: number;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

export interface BatchLimits {
  readonly inFlight: number;
  readonly max: number;
}

/** One flush at a time: items that arrive during it share the next. */
export const oneAtATime: BatchLimits = { inFlight: 1, max: 200 };

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** `flush` gets at most `max` items and returns as many results, in order. */
export function createBatch<Item, Result>(
  flush: (items: readonly Item[]) => Promise<readonly Result[]>,
  limits: BatchLimits,
): Batch<Item, Result> {
  let queue: Entry<Item, Result>[] = [];
  let running = 0;
  let onIdle: (() => void)[] = [];

  function pump(): void {
    while (running < limits.inFlight && queue.length > 0) {
      const entries = queue.length <= limits.max ? queue : queue.slice(0, limits.max);
      queue = queue.length <= limits.max ? [] : queue.slice(limits.max);
      running += 1;
      void run(entries);
    }
    if (running === 0 && queue.length === 0) {
      for (const wake of onIdle) wake();
      onIdle = [];
    }
  }

  async function run(entries: readonly Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await flush(entries.map((entry) => entry.item));
      entries.forEach((entry, at) => {
        entry.resolve(results[at] as Result);
      });
    } catch (error) {
      for (const entry of entries) entry.reject(error);
    }
    running -= 1;
    pump();
  }

  return {
    add(item) {
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        // Items of the same event-loop tick share a batch.
        if (queue.length === 1) queueMicrotask(pump);
      });
    },
    get waiting() {
      return queue.length;
    },
    idle() {
      if (running === 0 && queue.length === 0) return Promise.resolve();
      return new Promise((resolve) => onIdle.push(resolve));
    },
  };
}
