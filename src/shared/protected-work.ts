import { withTimeout } from './timeout.ts';

/** Milliseconds that a stopping process waits for its protected work. */
const maxWaitMs = 20_000;

const running = new Set<Promise<void>>();

/** Marks work that a stop must not cut off, such as a token refresh that was sent. Call the result when it has ended. */
export function protectWork(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  running.add(promise);
  return () => {
    running.delete(promise);
    resolve();
  };
}

export function hasProtectedWork(): boolean {
  return running.size > 0;
}

/** Resolves when no protected work of this process is left, and after 20 seconds in any case. */
export function protectedWorkEnded(): Promise<void> {
  return withTimeout(
    maxWaitMs,
    Promise.all(running).then(() => undefined),
    () => undefined,
  );
}
