import { createContext, readySettings } from '../../../context.ts';
import type { Service } from '../../../service/client.ts';
import { toTheSecond } from '../../../status/words.ts';
import { backfillCalls } from '../../../sync/coverage/backfill.ts';
import { createDriftLog } from '../../../warehouse/drift.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { rangeOf, secondsOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';
import { createRemarks } from '../../remarks.ts';

export interface CallFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly artefacts?: boolean;
  readonly json?: boolean;
}

const dayMs = 86_400_000;
/** The longest span that one search may have (section 8). */
const usualDays = 366;

/**
 * Fills in call history, of the last 366 days unless told otherwise. Ctrl-C ends it at the next page; the same command
 * goes on from there.
 */
export async function runCalls({ artefacts = false, json, ...given }: CallFlags): Promise<void> {
  const { from, to } = rangeOf({ ...given, from: given.from ?? usualFrom(given.to) }, 0);
  if (!given.from) console.error(`From ${toTheSecond(from)} to ${toTheSecond(to)}, since no --from was given.`);
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
      onWait: (error, ms) => console.error(`${error.message}. Waiting ${Math.ceil(ms / 1_000)} s.`),
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
    console.log(
      `${outcome.mirrored} calls mirrored, everything before ${toTheSecond(new Date(doneUntil))} is compared${resumed}.`,
    );
    for (const doubt of outcome.doubts) console.log(`Not proven: ${doubt}.`);
    if (artefacts)
      console.log('Legs, recordings and transcripts follow through the workers; `status` shows the backlog.');
  }
  if (!outcome.isFinished) {
    // Tomorrow the usual time begins a day later, which is another back-fill.
    const same = given.from ? 'The same command' : `The same command with --from ${from.toISOString().slice(0, 10)}`;
    throw new CommandFailed(`Stopped. ${same} goes on from here.`);
  }
}

/** A whole day, so that the command finds on the same day what it began. */
function usualFrom(to = new Date()): Date {
  return new Date(Math.floor(Math.min(to.getTime(), Date.now()) / dayMs - usualDays) * dayMs);
}
