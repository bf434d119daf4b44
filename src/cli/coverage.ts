import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../api-client/client.ts';
import { countHours, scheduleHours } from '../completeness/coverage/coverage.ts';
import { type DayOfCoverage, daysOfCoverage } from '../completeness/coverage/days.ts';
import { createReconciler } from '../completeness/coverage/reconcile.ts';
import { missingTextWords, wereTextsCompared } from '../completeness/gaps/unread-comparisons.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { countOf, toTheSecond } from '../shared/format.ts';
import { type RangeFlags, rangeOf, secondsOf } from './arguments.ts';
import { api, openContext, openDatabase } from './environment.ts';
import { type Column, type Output, tableOf } from './output.ts';
import { createProgress } from './terminal.ts';

const dueCheckMs = 250;

/**
 * Compares the hours of a range now (by default of the last day), and adds what the mirror lacks. For the current hour,
 * adds calls; it is compared after its end.
 */
export async function reconcile(given: RangeFlags): Promise<Output> {
  const { from, to } = rangeOf(given, dayMs);
  await using context = await openContext('reconcile', { needed: api });
  const { log, notifier } = context;
  const { db } = context.database;
  const reconciler = createReconciler({
    service: context.service as Service,
    db,
    log,
    notify: notifier.notify,
  });
  const range = { from: secondsOf(from), to: secondsOf(to) };
  const asked = await scheduleHours(db, range);
  const progress = createProgress('hours');
  let compared = 0;
  let failed = 0;
  let changed = 0;
  for (;;) {
    const round = await reconciler.round();
    compared += round.compared;
    failed += round.failed;
    changed += round.changed;
    progress(Math.min(1, asked === 0 ? 1 : (compared + failed) / asked), compared);
    if (round.compared + round.failed > 0) continue;
    // Workers may be comparing some of these hours.
    if ((await countHours(db, range)).due === 0) break;
    await sleep(dueCheckMs);
  }
  // Workers may have compared some of them.
  failed = Math.max(failed, (await countHours(db, range)).failed);
  compared = Math.max(compared, asked - failed);
  const now = secondsOf(new Date());
  const current = { from: Math.max(range.from, now - (now % 3_600)), to: range.to };
  if (failed === 0 && current.from < current.to) changed += await reconciler.mirror(current);
  await notifier.idle();
  const { unproven } = await countHours(db, range);
  const remarks = `${failed > 0 ? `, ${failed} could not be` : ''}${unproven > 0 ? `, ${unproven} not proven complete yet` : ''}`;
  return {
    json: { asked, compared, changed, failed, unproven },
    text: `${countOf(compared, 'hour')} compared, ${countOf(changed, 'call')} new or changed${remarks}. ${toType('coverage')} shows what is proven.`,
    failed: failed > 0 && new UserError('Some hours could not be compared; the workers retry them.'),
  };
}

const dayMs = 86_400_000;
const coverageDays = 14;

/**
 * For each day, prints whether every call that the service reports is mirrored, and which texts may be missing.
 * Default: the last two weeks.
 */
export async function showCoverage(given: RangeFlags): Promise<Output> {
  const { from, to } = rangeOf(given, (coverageDays - 1) * dayMs);
  await using database = await openDatabase('coverage');
  const { db, settings } = database;
  const days = await daysOfCoverage(db, from, to);
  return tableOf(days, columnsOfDays, { remarks: renderTexts(days, await wereTextsCompared(db), settings.timeZone) });
}

const columnsOfDays: readonly Column<DayOfCoverage>[] = [
  ['day (UTC)', ({ date }) => date],
  ['proven', ({ provenHours, hours }) => `${provenHours} of ${hours} h`],
  ['reported', ({ reported }) => reported ?? '?'],
  ['held', ({ held }) => held ?? '?'],
  ['unannounced', ({ unannounced }) => unannounced],
  ['', verdictOf],
];

function verdictOf({ hours, isComplete, difference }: DayOfCoverage): string {
  if (hours === 0) return 'no hour is over yet';
  return isComplete ? 'complete' : (difference ?? 'not compared yet');
}

/** The API can't list conversations (section 4.2), so missing texts can be found, but completeness can't be proven. */
function renderTexts(days: readonly DayOfCoverage[], wereCompared: boolean, timeZone: string): string[] {
  const missing = days.flatMap(({ missingTexts }) => missingTexts);
  const gaps = days.flatMap(({ openGaps }) => openGaps);
  const nothing = wereCompared
    ? 'No unread text of these days is known to be missing.'
    : 'Unread texts have not been compared with the service yet.';
  return [
    ...(missing.length === 0 ? [nothing] : []),
    ...missing.map(
      (each) =>
        `Line ${each.line}: ${countOf(each.missing, 'unread text')} ${missingTextWords(each)}, since ${toTheSecond(each.since, timeZone)}.`,
    ),
    ...gaps.map(
      ({ stream, from, to }) =>
        `Webhooks may have been lost from ${toTheSecond(from, timeZone)} to ${toTheSecond(to, timeZone)}; the ${stream} of that time are being searched for.`,
    ),
  ];
}
