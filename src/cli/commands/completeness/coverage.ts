import Table from 'cli-table3';
import { createContext, readySettings } from '../../../context.ts';
import { createLog } from '../../../log.ts';
import { type DayOfCoverage, daysOfCoverage } from '../../../sync/coverage/days.ts';
import { commandSettings } from '../../environment.ts';

export interface CoverageFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly json?: boolean;
}

const dayMs = 86_400_000;
const usualDays = 14;

/** Shows for each day whether everything that the service reports is held; the last two weeks unless told otherwise. */
export async function run({ from, to = new Date(), json }: CoverageFlags): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createLog('warn');
  await using context = await createContext(readySettings(settings), { log, name: 'coverage', maxConnections: 2 });
  const begin = from ?? new Date(to.getTime() - (usualDays - 1) * dayMs);
  const days = await daysOfCoverage(context.database.db, begin, to);
  console.log(json ? JSON.stringify(days) : renderDays(days));
}

function renderDays(days: readonly DayOfCoverage[]): string {
  const table = new Table({
    head: ['day (UTC)', 'proven', 'reported', 'held', 'unannounced', ''],
    style: { head: [], border: [] },
  });
  for (const day of days) {
    table.push([
      day.date,
      `${day.provenHours} of ${day.hours} h`,
      day.reported ?? '?',
      day.held ?? '?',
      day.unannounced ?? '',
      day.isComplete ? 'complete' : (day.difference ?? 'not compared yet'),
    ]);
  }
  return table.toString();
}
