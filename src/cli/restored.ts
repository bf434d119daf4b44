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
    text: [
      `What was written from ${from} to ${until} is taken as lost. Sends are paused until workers have read it again.`,
      `1. Start web and worker; ${toType('doctor')} says when it is over.`,
      '2. Repeat what people changed in that time: rules, decisions on opt-outs, imports.',
      `3. ${toType('sends list --state NOT_SENT')}: whom no answer may have reached. What rules may have sent or noted is not repeated.`,
      `4. ${toType('coverage')}: unread texts of numbers that nothing names; ${toType('backfill threads --numbers FILE')} looks for those of your customers.`,
    ].join('\n'),
  };
}
