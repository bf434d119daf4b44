import { type Command, InvalidArgumentError } from 'commander';
import { createContext, readySettings } from '../context.ts';
import { changeParams, reportsTimeZone, wantedTimeZone } from '../reporting/params.ts';
import { rebuildRollups } from '../reporting/rebuild.ts';
import { jsonFlag, momentArgument, momentWords, wholeNumber } from './arguments.ts';
import { commandSettings } from './environment.ts';
import { runCommand, WrongUse } from './failures.ts';
import { createCommandLog, createProgress } from './terminal.ts';

/** Maintenance commands of the schema `reporting`. */
export function addReporting(program: Command): void {
  const group = program.command('reporting').description('The schema that BI reads.');
  group
    .command('rebuild')
    .description('Recomputes the rollups, needed after a change of definitions; workers may keep running.')
    .option('--from <moment>', `only days since ${momentWords}`, momentArgument)
    .option('--to <moment>', 'their end, exclusive', momentArgument)
    .option('--time-zone <zone>', 'first change the zone of local days, such as America/New_York', timeZone)
    .option(
      '--short-abandon <seconds>',
      'first change the longest wait of a call that counts as abandoned at once',
      wholeNumber(0, 9_999),
    )
    .option(...jsonFlag)
    .action((options) => runCommand(() => rebuild(options)));
}

function timeZone(text: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
  } catch {
    throw new InvalidArgumentError('It must be an IANA time zone such as America/New_York.');
  }
  return text;
}

export interface RebuildFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly timeZone?: string;
  readonly shortAbandon?: number;
  readonly json?: boolean;
}

/** Recomputes the rollups from the facts, after applying the given definitions. */
export async function rebuild({ from, to, timeZone, shortAbandon, json }: RebuildFlags): Promise<void> {
  if (from && to && to <= from) throw new WrongUse('--to must be after --from.');
  const isChanged = timeZone !== undefined || shortAbandon !== undefined;
  if (isChanged && (from || to)) {
    throw new WrongUse('A changed definition applies to all days: omit --from and --to.');
  }
  const settings = await commandSettings({ needed: ['DATABASE_URL'], alike: ['TIME_ZONE'] });
  const log = createCommandLog();
  await using context = await createContext(readySettings(settings), { log, name: 'reporting', maxConnections: 2 });
  const { db } = context.database;
  // All days have to be in one time zone.
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
      progress.show(share, done);
    },
  });
  progress.end();
  const used = await reportsTimeZone(db);
  console.log(
    json
      ? JSON.stringify({ ...rebuilt, timeZone: used })
      : `Rebuilt ${rebuilt.days} days in ${used} and the turns of ${rebuilt.conversations} conversations.`,
  );
}
