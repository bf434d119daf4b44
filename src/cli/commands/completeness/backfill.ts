import { createContext, readySettings } from '../../../context.ts';
import type { Service } from '../../../service/client.ts';
import { backfillCalls } from '../../../sync/coverage/backfill.ts';
import { createDriftLog } from '../../../warehouse/drift.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { rangeOf, secondsOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';
import { createRemarks } from '../../remarks.ts';

export interface CallFlags {
  readonly from: Date;
  readonly to?: Date;
  readonly artefacts?: boolean;
  readonly json?: boolean;
}

/** Fills in call history. Ctrl-C ends it at the next page; the same command goes on from there. */
export async function runCalls({ artefacts = false, json, ...given }: CallFlags): Promise<void> {
  const { from, to } = rangeOf(given, 0);
  const settings = await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'backfill', maxConnections: 4 });
  const { db } = context.database;
  const drift = createDriftLog(db);
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort()).once('SIGTERM', () => stopping.abort());
  const progress = createProgress('calls');
  const outcome = await backfillCalls(
    {
      service: context.service as Service,
      db,
      pauses: context.pauses,
      onAnswer: (operation, answer) => drift.note(operation, answer.drift),
    },
    { span: { from: secondsOf(from), to: secondsOf(to) }, withArtefacts: artefacts },
    ({ share, mirrored }) => progress.show(share, mirrored),
    stopping.signal,
  ).finally(async () => {
    progress.end();
    await drift.flush();
  });

  const doneUntil = new Date(outcome.doneUntil * 1_000).toISOString();
  if (json) console.log(JSON.stringify({ ...outcome, doneUntil }));
  else {
    const resumed = outcome.resumedFrom === undefined ? '' : ' (it went on where it was cut off)';
    console.log(`${outcome.mirrored} calls mirrored, everything before ${doneUntil} is compared${resumed}.`);
    for (const doubt of outcome.doubts) console.log(`Not proven: ${doubt}.`);
    if (artefacts)
      console.log('Legs, recordings and transcripts follow through the workers; `status` shows the backlog.');
  }
  if (!outcome.isFinished) throw new CommandFailed('Stopped. The same command goes on from here.');
}
