import { Worker } from 'node:worker_threads';
import type { Log } from '../shared/log.ts';

/**
 * Kills this process once its event loop has been stuck for so many seconds: a stuck process reads nothing, answers
 * nobody and ignores SIGTERM. A supervisor has to start it again. Its reads are then repeated (`inbox/claims.ts`).
 */
export function startHeartbeat(log: Log, stuckSeconds = 30): { stop(): Promise<void> } {
  // A debugger stops the event loop on purpose.
  if (process.execArgv.some((flag) => flag.startsWith('--inspect'))) return { stop: async () => undefined };
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const timer = setInterval(() => Atomics.add(beats, 0, 1), 250).unref();
  const file = new URL('./heartbeat-thread.cjs', import.meta.url);
  const thread = new Worker(file, { execArgv: [], workerData: { beats, stuckSeconds } });
  thread.unref();
  thread.on('error', (err) => log.warn({ err }, 'The heartbeat failed; a stuck event loop would not be noticed'));
  return {
    async stop() {
      clearInterval(timer);
      await thread.terminate();
    },
  };
}
