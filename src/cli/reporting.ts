import { rebuildRollups } from '../reporting/rebuild.ts';
import { WrongUse } from '../shared/errors.ts';
import { openDatabase } from './environment.ts';
import type { Output } from './output.ts';
import { createProgress } from './terminal.ts';

interface RebuildFlags {
  readonly from?: Date;
  readonly to?: Date;
}

/** Computes the rollups again from the facts, by the definitions of now. */
export async function rebuild({ from, to }: RebuildFlags): Promise<Output> {
  if (from && to && to <= from) throw new WrongUse('--to must be after --from.');
  await using database = await openDatabase('reporting');
  const progress = createProgress('days');
  let done = 0;
  const rebuilt = await rebuildRollups(database.db, {
    from,
    to,
    onDay: (share) => {
      done += 1;
      progress(share, done);
    },
  });
  return {
    json: { ...rebuilt },
    text: `Rebuilt ${rebuilt.days} days and the turns of ${rebuilt.conversations} conversations.`,
  };
}
