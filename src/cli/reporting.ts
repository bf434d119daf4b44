import { changeParams, reportsTimeZone, wantedTimeZone } from '../reporting/params.ts';
import { rebuildRollups } from '../reporting/rebuild.ts';
import { openDatabase } from './environment.ts';
import { WrongUse } from './failures.ts';
import type { Output } from './output.ts';
import { createProgress } from './terminal.ts';

interface RebuildFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly timeZone?: string;
  readonly shortAbandon?: number;
}

/** Applies the given definitions, then computes the rollups again from the facts. */
export async function rebuild({ from, to, timeZone, shortAbandon }: RebuildFlags): Promise<Output> {
  if (from && to && to <= from) throw new WrongUse('--to must be after --from.');
  const isChanged = timeZone !== undefined || shortAbandon !== undefined;
  if (isChanged && (from || to)) {
    throw new WrongUse('A changed definition applies to all days: omit --from and --to.');
  }
  await using database = await openDatabase('reporting');
  const { db, settings } = database;
  // All days must be in the same time zone.
  const wanted = settings.isTimeZoneSet ? settings.timeZone : await wantedTimeZone(db);
  const zone = timeZone ?? (from || to ? undefined : wanted);
  await changeParams(db, { timeZone: zone, shortAbandonSeconds: shortAbandon });
  const progress = createProgress('days');
  let done = 0;
  const rebuilt = await rebuildRollups(db, {
    from,
    to,
    onDay: (share) => {
      done += 1;
      progress(share, done);
    },
  });
  const used = await reportsTimeZone(db);
  return {
    json: { ...rebuilt, timeZone: used },
    text: `Rebuilt ${rebuilt.days} days in ${used} and the turns of ${rebuilt.conversations} conversations.`,
  };
}
