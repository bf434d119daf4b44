import { watchForLostWrites } from '../ops/lost-writes/lost-writes.ts';
import { toType } from '../shared/command-name.ts';
import { openContext } from './environment.ts';
import type { Output } from './output.ts';

/** Begins to recover from a restored back-up, as a process does that notices one. Running workers do the rest. */
export async function restored(): Promise<Output> {
  await using context = await openContext('restored');
  const lostWrites = watchForLostWrites(context);
  const { lost } = await lostWrites.check({ isRestored: true });
  await lostWrites.close();
  const [from, until] = [lost?.from, lost?.until].map((at) => at?.toISOString());
  return {
    json: { from, until, isDone: true },
    text: `What was written from ${from} to ${until} is taken as lost. Sends are paused until workers have read it again: ${toType('status')} says when. What rules may have sent or noted in that time is not repeated.`,
  };
}
