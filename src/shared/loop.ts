import { beat } from './beat.ts';
import type { Log } from './log.ts';

export interface Loop {
  /**
   * Runs the job now, or once more after the running round. Resolves when no round is running or requested. Never
   * rejects. Does nothing after `stop`.
   */
  kick(): Promise<void>;
  /** Shortens the wait for the next round to so many milliseconds. */
  within(ms: number): void;
  /** Aborts the signal of the running round and waits until it ends. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  /** The subject of its log lines, for example 'Enqueuing overdue targets'. */
  readonly name: string;
  /**
   * Milliseconds before the first round, and between the end of a round and the next one, unless `kick` starts it
   * earlier. A function is called before each wait.
   */
  readonly everyMs: number | (() => number);
  readonly log: Log;
  readonly job: (signal: AbortSignal) => Promise<unknown>;
  /** Milliseconds before a round that was requested during another one. Default: none. */
  readonly restMs?: number;
  /** Milliseconds to wait after this many failed rounds in a row. Default: `everyMs`. */
  readonly retryAfterMs?: (failures: number) => number;
}

/** Runs a job repeatedly; rounds never overlap. Logs when a series of failures starts and when it ends. */
export function startLoop({ name, everyMs, log, job, restMs, retryAfterMs }: LoopOptions): Loop {
  const stopping = new AbortController();
  const { signal } = stopping;
  let failures = 0;
  let isWanted = false;
  let running: Promise<void> | undefined;
  const waitMs = () => (typeof everyMs === 'number' ? everyMs : everyMs());
  let startsAt = 0;
  let cancel = () => {};
  wait(waitMs());

  function wait(ms: number): void {
    startsAt = beat.now() + ms;
    cancel = beat.after(ms, kick, name);
  }

  async function round(): Promise<void> {
    try {
      await job(signal);
      if (failures > 0) log.info(`${name} works again`);
      failures = 0;
    } catch (error) {
      // A failure after `stop` was caused by it.
      if (signal.aborted) return;
      failures += 1;
      if (failures === 1) log.warn({ err: error }, `${name} failed; it is tried again`);
    }
  }

  async function run(): Promise<void> {
    cancel();
    while (isWanted && !signal.aborted) {
      isWanted = false;
      await round();
      if (isWanted && restMs !== undefined) await beat.rest(restMs, signal);
    }
    running = undefined;
    if (signal.aborted) return;
    wait(failures > 0 && retryAfterMs ? retryAfterMs(failures) : waitMs());
  }

  function kick(): Promise<void> {
    if (signal.aborted) return running ?? Promise.resolve();
    isWanted = true;
    running ??= beat.busy(run());
    return running;
  }

  return {
    kick,
    within(ms) {
      if (running || signal.aborted || startsAt <= beat.now() + ms) return;
      cancel();
      wait(ms);
    },
    async stop() {
      stopping.abort();
      cancel();
      await running;
    },
  };
}
