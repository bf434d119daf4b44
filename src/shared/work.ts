import { AsyncLocalStorage } from 'node:async_hooks';

/** An item of work: a sync target by its kind and key, or a trigger of the rules. */
export interface WorkItem {
  readonly kind: string;
  readonly key: string;
}

/** The work that was in progress when a process hung or failed. */
export interface WorkInProgress {
  /** True if the event loop was running the work on exactly these items. Otherwise they are all items in progress. */
  readonly isExact: boolean;
  readonly items: readonly WorkItem[];
}

const current = new AsyncLocalStorage<readonly WorkItem[]>();
const running = new Set<readonly WorkItem[]>();

/** Runs work, and records these items as in progress until it ends. */
export function workingOn<T>(items: readonly WorkItem[], work: () => T): T {
  const entry = items.map(({ kind, key }) => ({ kind, key }));
  running.add(entry);
  const end = () => void running.delete(entry);
  let isPending = false;
  try {
    const result = current.run(entry, work);
    if (!(result instanceof Promise)) return result;
    isPending = true;
    return result.finally(end) as T;
  } finally {
    if (!isPending) end();
  }
}

/** Called by the watchdog while the event loop hangs, or after an uncaught exception. */
export function workInProgress(): WorkInProgress {
  const items = current.getStore();
  // A connection keeps the async context in which it was opened, so ignore work that has ended.
  if (items && running.has(items)) return { isExact: true, items };
  return { isExact: false, items: [...running].flat() };
}

const blamed = new Set<string>();

/** Records that the process fails because of these items. Their own outcome is ignored from then on. */
export function blame(items: readonly WorkItem[]): void {
  for (const { kind, key } of items) blamed.add(`${kind} ${key}`);
}

export function isBlamed({ kind, key }: WorkItem): boolean {
  return blamed.has(`${kind} ${key}`);
}
