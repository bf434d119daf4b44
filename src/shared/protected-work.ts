import { withTimeout } from './timeout.ts';

/** Maximum milliseconds that a stopping process waits for protected work. */
const maxWaitMs = 20_000;

const running = new Set<Promise<void>>();

/**
 * Marks work that a stop must not interrupt, such as a token refresh. Call the returned function when the work is done.
 */
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

/** Resolves when the protected work of this process is done, or after 20 seconds. */
export function protectedWorkEnded(): Promise<void> {
  return withTimeout(
    maxWaitMs,
    Promise.all(running).then(() => undefined),
    () => undefined,
  );
}
