import { Worker } from 'node:worker_threads';
import type { Context } from '../context.ts';
import { noteLostReads, noteLostTriggers } from '../inbox/lost-reads.ts';
import { maskedTarget, type Target, targetKinds } from '../inbox/targets.ts';
import { withTimeout } from '../shared/timeout.ts';
import { blame, type WorkItem, workInProgress } from '../shared/work.ts';

/*
 * The watchdog ends a process whose event loop is stuck: it reads nothing, answers nobody and ignores SIGTERM. The
 * watchdog runs in its own thread. It records the work in progress, so the same text or call doesn't cause this again
 * and again (`inbox/lost-reads.ts`). After an uncaught exception, the work is recorded too, and the process stops by
 * itself.
 */

const tickMs = 500;
const stuckMs = 30_000;
/** Milliseconds to record an uncaught exception before stopping. */
const noteMs = 3_000;

const workSymbol = 'trunkline.workInProgress';

export interface Watchdog {
  stop(): Promise<void>;
}

/** Watches this process until `stop`. */
export function startWatchdog(
  { settings, log }: Pick<Context, 'settings' | 'log'>,
  timing: { readonly stuckMs: number } = { stuckMs },
): Watchdog {
  // A debugger stops the event loop on purpose.
  if (process.execArgv.some((flag) => /^--inspect(?:-brk|-wait)?(?:=|$)/.test(flag))) return { stop: async () => {} };
  const beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const counter = new Int32Array(beats);
  const beat = setInterval(() => Atomics.add(counter, 0, 1), tickMs / 2).unref();
  Object.assign(globalThis, { [Symbol.for(workSymbol)]: describeWork });
  const thread = new Worker(new URL('./watchdog-thread.cjs', import.meta.url), {
    execArgv: [],
    workerData: {
      beats,
      tickMs,
      stuckTicks: Math.ceil(timing.stuckMs / tickMs),
      databaseUrl: settings.databaseUrl,
      statements: [noteLostReads, noteLostTriggers],
      workSymbol,
    },
  });
  thread.unref();
  thread.on('error', (err) => log.warn({ err }, 'The watchdog failed; a stuck event loop would not be noticed'));

  let noting: Promise<void> | undefined;
  function onFailure(): void {
    const work = workInProgress();
    if (work.items.length === 0 || noting) return;
    log.error({ work: wordsOf(work.items) }, 'The process fails during this work');
    if (work.isExact) blame(work.items);
    noting = new Promise((resolve) => thread.once('message', () => resolve()));
    thread.postMessage(work);
  }
  process.on('uncaughtExceptionMonitor', onFailure);

  return {
    async stop() {
      process.off('uncaughtExceptionMonitor', onFailure);
      if (noting) await withTimeout(noteMs, noting, () => undefined);
      clearInterval(beat);
      await thread.terminate();
    },
  };
}

/** Called by the thread through the inspector, on top of the hanging code. */
function describeWork() {
  const work = workInProgress();
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const { stack } = new Error('Here the event loop hangs');
  Error.stackTraceLimit = limit;
  return { ...work, words: wordsOf(work.items), stack };
}

function wordsOf(items: readonly WorkItem[]): string[] {
  const isTarget = (item: WorkItem): item is Target => (targetKinds as readonly string[]).includes(item.kind);
  return items.map((item) => (isTarget(item) ? maskedTarget(item) : `${item.kind} ${item.key}`));
}
