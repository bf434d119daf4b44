import { createContext, readySettings } from '../../../context.ts';
import { renderColumns } from '../../../status/columns.ts';
import { countOf, fatesOfTexts } from '../../../status/words.ts';
import { type DayOfCoverage, daysOfCoverage } from '../../../sync/coverage/days.ts';
import { wereTextsCompared } from '../../../sync/evidence/missing.ts';
import { commandSettings } from '../../environment.ts';
import { rangeOf } from '../../moments.ts';
import { createRemarks } from '../../remarks.ts';

export interface CoverageFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly json?: boolean;
}

const dayMs = 86_400_000;
const usualDays = 14;

/**
 * Shows for each day whether every call that the service reports is held, and which texts give cause for doubt; the last
 * two weeks unless told otherwise.
 */
export async function run({ json, ...given }: CoverageFlags): Promise<void> {
  const { from, to } = rangeOf(given, (usualDays - 1) * dayMs);
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'coverage', maxConnections: 2 });
  const { db } = context.database;
  const days = await daysOfCoverage(db, from, to);
  if (json) return console.log(JSON.stringify(days));
  console.log([renderDays(days), ...renderTexts(days, await wereTextsCompared(db))].join('\n'));
}

function renderDays(days: readonly DayOfCoverage[]): string {
  const head = ['day (UTC)', 'proven', 'reported', 'held', 'unannounced', ''];
  const rows = days.map((day) => [
    ...[day.date, `${day.provenHours} of ${day.hours} h`, day.reported ?? '?', day.held ?? '?', day.unannounced ?? ''],
    day.isComplete ? 'complete' : (day.difference ?? 'not compared yet'),
  ]);
  return renderColumns(head, rows);
}

/** Conversations cannot be listed (section 4.2), so of texts it can be shown that some are missing, hardly ever that none is. */
function renderTexts(days: readonly DayOfCoverage[], wereCompared: boolean): string[] {
  const missing = days.flatMap(({ missingTexts }) => missingTexts);
  const gaps = days.flatMap(({ openGaps }) => openGaps);
  const nothing = wereCompared
    ? 'No unread text of these days is known to be missing.'
    : 'Unread texts were not compared with the service yet.';
  return [
    ...(missing.length === 0 ? [nothing] : []),
    ...missing.map(
      ({ line, missing, since, state }) =>
        `Line ${line}: ${countOf(missing, 'unread text')} ${fatesOfTexts[state]}, since ${minuteOf(since)}.`,
    ),
    ...gaps.map(
      ({ stream, from, to }) =>
        `Webhooks may have been lost from ${minuteOf(from)} to ${minuteOf(to)}; the ${stream} of that time are looked for.`,
    ),
  ];
}

function minuteOf(moment: Date): string {
  return `${moment.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
