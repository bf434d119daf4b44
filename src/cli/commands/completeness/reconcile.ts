import { setTimeout as sleep } from 'node:timers/promises';
import { createContext, readySettings } from '../../../context.ts';
import type { Service } from '../../../service/client.ts';
import { askForHours, countDue, countFailed, countUnproven } from '../../../sync/coverage/coverage.ts';
import { createReconciler } from '../../../sync/coverage/reconcile.ts';
import { createDriftLog } from '../../../warehouse/drift.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { rangeOf, secondsOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';
import { createRemarks } from '../../remarks.ts';

export interface ReconcileFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly json?: boolean;
}

const dayMs = 86_400_000;
const lookAgainMs = 250;

/** Compares the hours of a range now, the last day unless told otherwise, and mends what the mirror lacks. */
export async function run({ json, ...given }: ReconcileFlags): Promise<void> {
  const { from, to } = rangeOf(given, dayMs);
  const settings = await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'reconcile', maxConnections: 4 });
  const { db } = context.database;
  const drift = createDriftLog(db);
  const reconciler = createReconciler({
    service: context.service as Service,
    db,
    log,
    pauses: context.pauses,
    onAnswer: (operation, answer) => drift.note(operation, answer.drift),
    onRings: context.ringer.ring,
  });
  const span = { from: secondsOf(from), to: secondsOf(to) };
  const asked = await askForHours(db, span);
  const progress = createProgress('hours');
  let compared = 0;
  let failed = 0;
  for (;;) {
    const round = await reconciler.round();
    compared += round.compared;
    failed += round.failed;
    progress.show(Math.min(1, asked === 0 ? 1 : (compared + failed) / asked), compared);
    if (round.compared + round.failed > 0) continue;
    // Workers compare hours too, and may be at some of these.
    if ((await countDue(db, span)) === 0) break;
    await sleep(lookAgainMs);
  }
  // Workers may have been through with some.
  failed = Math.max(failed, await countFailed(db, span));
  compared = Math.max(compared, asked - failed);
  progress.end();
  await drift.flush();
  await context.ringer.idle();
  const unproven = await countUnproven(db, span);
  const doubts = `${failed > 0 ? `, ${failed} could not be` : ''}${unproven > 0 ? `, ${unproven} not proven complete yet` : ''}`;
  console.log(
    json
      ? JSON.stringify({ asked, compared, failed, unproven })
      : `${compared} hours compared${doubts}. \`coverage\` shows what is proven.`,
  );
  if (failed > 0) throw new CommandFailed('Some hours could not be compared; the workers try them again.');
}
