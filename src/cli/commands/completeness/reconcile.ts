import { createContext, readySettings } from '../../../context.ts';
import { createLog } from '../../../log.ts';
import type { Service } from '../../../service/client.ts';
import { askForHours } from '../../../sync/coverage/coverage.ts';
import { createReconciler } from '../../../sync/coverage/reconcile.ts';
import { createDriftLog } from '../../../warehouse/drift.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { secondsOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';

export interface ReconcileFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly json?: boolean;
}

const dayMs = 86_400_000;

/** Compares the hours of a range now, the last day unless told otherwise, and mends what the mirror lacks. */
export async function run({ from, to = new Date(), json }: ReconcileFlags): Promise<void> {
  const begin = from ?? new Date(to.getTime() - dayMs);
  if (to <= begin) throw new CommandFailed('--to must be after --from.');
  const settings = await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
  const log = createLog('warn');
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
  const asked = await askForHours(db, { from: secondsOf(begin), to: secondsOf(to) });
  const progress = createProgress('hours');
  let compared = 0;
  let failed = 0;
  for (;;) {
    const round = await reconciler.round();
    compared += round.compared;
    failed += round.failed;
    progress.show(Math.min(1, asked === 0 ? 1 : (compared + failed) / asked), compared);
    if (round.compared + round.failed === 0) break;
  }
  progress.end();
  await drift.flush();
  await context.ringer.idle();
  console.log(
    json
      ? JSON.stringify({ asked, compared, failed })
      : `${compared} hours compared${failed > 0 ? `, ${failed} could not be` : ''}. \`coverage\` shows what is proven.`,
  );
  if (failed > 0) throw new CommandFailed('Some hours could not be compared; the workers try them again.');
}
