import { createContext, readySettings } from '../../../context.ts';
import { changeParams, reportsTimeZone } from '../../../reporting/params.ts';
import { rebuildRollups } from '../../../reporting/rebuild.ts';
import { commandSettings } from '../../environment.ts';
import { WrongUse } from '../../exit.ts';
import { createProgress } from '../../progress.ts';
import { createRemarks } from '../../remarks.ts';

export interface RebuildFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly timeZone?: string;
  readonly shortAbandon?: number;
  readonly json?: boolean;
}

/** Computes the rollups anew from the facts, after changing definitions that were given. */
export async function run({ from, to, timeZone, shortAbandon, json }: RebuildFlags): Promise<void> {
  if (from && to && to <= from) throw new WrongUse('--to must be after --from.');
  const isChanged = timeZone !== undefined || shortAbandon !== undefined;
  if (isChanged && (from || to)) {
    throw new WrongUse('A changed definition holds for all days: leave --from and --to away.');
  }
  const settings = await commandSettings({ needed: ['DATABASE_URL'], alike: ['TIME_ZONE'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'reporting', maxConnections: 2 });
  const { db } = context.database;
  // A part of the days cannot be in another zone than the rest.
  const zone = timeZone ?? (settings.isTimeZoneSet && !from && !to ? settings.timeZone : undefined);
  await changeParams(db, { timeZone: zone, shortAbandonSeconds: shortAbandon });
  const progress = createProgress('days');
  let done = 0;
  const rebuilt = await rebuildRollups(db, {
    from,
    to,
    onDay: (share) => {
      done += 1;
      progress.show(share, done);
    },
  });
  progress.end();
  const used = await reportsTimeZone(db);
  console.log(
    json
      ? JSON.stringify({ ...rebuilt, timeZone: used })
      : `${rebuilt.days} days in ${used} and the turns of ${rebuilt.conversations} conversations are computed anew.`,
  );
}
