import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats a step, with a pause of so many milliseconds after each. Returns what stops it, which rejects if a step did. */
export function repeat(step: () => Promise<void>, pauseMs: () => number): () => Promise<void> {
  const stopping = new AbortController();
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await step();
      await sleep(pauseMs(), undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  const running = run();
  running.catch(() => undefined);
  return () => {
    stopping.abort();
    return running;
  };
}
