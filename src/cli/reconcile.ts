import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../api-client/client.ts';
import { countHours, scheduleHours } from '../completeness/coverage/coverage.ts';
import { createReconciler } from '../completeness/coverage/reconcile.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { countOf } from '../shared/format.ts';
import { dayMs } from '../shared/time-range.ts';
import { type RangeFlags, rangeOf, secondsOf } from './arguments.ts';
import { api, openContext } from './environment.ts';
import type { Output } from './output.ts';
import { createProgress } from './terminal.ts';

const dueCheckMs = 250;

/**
 * Compares the hours of a range now (by default of the last day), and adds what the mirror lacks. For the current hour,
 * adds calls; it is compared after its end. Exit code 1 unless every hour that is over is proven.
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
  let changed = 0;
  let counted = await countHours(db, range);
  while (counted.due > 0) {
    const round = await reconciler.round();
    changed += round.changed;
    // Workers may be comparing the rest.
    if (round.compared + round.failed === 0) await sleep(dueCheckMs);
    counted = await countHours(db, range);
    progress(1 - counted.due / asked, asked - counted.due);
  }
  const { failed } = counted;
  const compared = asked - failed;
  const now = secondsOf(new Date());
  const current = { from: Math.max(range.from, now - (now % 3_600)), to: range.to };
  if (failed === 0 && current.from < current.to) changed += await reconciler.mirror(current);
  await notifier.idle();
  const { unproven } = await countHours(db, range);
  const remarks = `${failed > 0 ? `, ${failed} could not be` : ''}${unproven > 0 ? `, ${unproven} not proven complete yet` : ''}`;
  return {
    json: { asked, compared, changed, failed, unproven },
    text: `${countOf(compared, 'hour')} compared, ${countOf(changed, 'call')} new or changed${remarks}. ${toType('coverage')} shows what is proven.`,
    failed: failed + unproven > 0 && new UserError('Not every hour is proven; the workers compare the rest again.'),
  };
}
