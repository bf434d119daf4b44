import type { BellData } from './bell.ts';
import type { BullQueue } from './store.ts';

const unanswered = ['waiting', 'prioritized', 'delayed', 'completed', 'failed'] as const;

/** Removes the jobs of some bells, each with its deduplication; answers with how many. */
export async function forgetBells(queue: BullQueue, isForgotten: (bell: BellData) => boolean): Promise<number> {
  const jobs = await queue.getJobs([...unanswered]);
  let forgotten = 0;
  for (const job of jobs) {
    // A job can end between the look and the removal.
    if (!job || !isForgotten(job.data)) continue;
    const isRemoved = await job.remove().then(
      () => true,
      () => false,
    );
    if (isRemoved) forgotten += 1;
  }
  return forgotten;
}
