import type { Log } from '../shared/log.ts';
import { type Loop, startLoop } from '../shared/loop.ts';

/** Concurrent reads: one in a new process, doubled while the process outlives them. */
const maxConcurrent = 16;
/** Milliseconds between two polls while none is due. */
const idleMs = 500;

/** Starts to read the targets whose read ended with its process (`inbox/lost-reads.ts`). `read` tells how many it read. */
export function startSuspectReads(read: (max: number) => Promise<number>, log: Log): Loop {
  let width = 1;
  async function drain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if ((await read(width)) === 0) return;
      width = Math.min(maxConcurrent, 2 * width);
    }
  }
  return startLoop({ name: 'Reading targets that lost their process', everyMs: idleMs, log, job: drain });
}
