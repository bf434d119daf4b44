import { recoverLostWrites } from '../processes/lost-writes.ts';
import { toType } from '../shared/command-name.ts';
import { toTheSecond } from '../shared/format.ts';
import { openContext } from './environment.ts';
import type { Output } from './output.ts';

/**
 * Begins the recovery from a restored back-up. A process that notices one does the same. Running workers do the rest.
 */
export async function restored(): Promise<Output> {
  await using context = await openContext('restored');
  const span = await recoverLostWrites(context.database.db);
  const [from, until] = [span.from, span.until].map((at) => toTheSecond(at, context.settings.timeZone));
  return {
    json: { ...span, isDone: true },
    text: [
      `What was written from ${from} to ${until} is taken as lost. Sends are paused, and rules act on nothing older.`,
      `1. Start web and worker, which read it again; ${toType('coverage')} says when all calls are back.`,
      '2. Repeat what people did in that time: erasures, imports, rules, settings, decisions on opt-outs.',
      `3. ${toType('backfill threads --numbers FILE')} looks for texts of your customers that nothing names.`,
      `4. ${toType('sends resume')}.`,
    ].join('\n'),
  };
}
