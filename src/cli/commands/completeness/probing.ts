import { setTimeout as sleep } from 'node:timers/promises';
import { createContext, readySettings } from '../../../context.ts';
import { addCallers, addContacts, addNumbers, probe, probingOf } from '../../../sync/evidence/candidates.ts';
import { ourLines } from '../../../warehouse/entities/directory/lines.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { rangeOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';
import { createRemarks } from '../../remarks.ts';
import { readNumberList, refuseStrangeLines } from './number-list.ts';

export interface ThreadFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly numbers?: string;
  readonly most: number;
  readonly json?: boolean;
}

/** The probing itself is the workers' work; this says how far it is. */
const lookEveryMs = 1_000;
const idleForMs = 60_000;

/** Gathers the pairs that may have a conversation, has them asked for, and waits for the answers. */
export async function runThreads({ numbers, most, json, ...given }: ThreadFlags): Promise<void> {
  const period = rangeOf({ ...given, from: given.from ?? new Date(0) }, 0);
  const list = numbers === undefined ? [] : await readNumberList(numbers);
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'backfill', maxConnections: 2 });
  const { db } = context.database;
  refuseStrangeLines(numbers ?? '', list, await ourLines(db));
  const added = (await addNumbers(db, list)) + (await addCallers(db, period)) + (await addContacts(db));
  const before = await probingOf(db);
  const { probed } = await probe(db, most, { pauses: context.pauses });
  const progress = createProgress('pairs');
  let now = await probingOf(db);
  let movedAt = performance.now();
  while (now.underWay > 0 && performance.now() - movedAt < idleForMs) {
    await sleep(lookEveryMs);
    const next = await probingOf(db);
    if (next.underWay !== now.underWay) movedAt = performance.now();
    now = next;
    progress.show(probed === 0 ? 1 : Math.max(0, 1 - now.underWay / probed), Math.max(0, probed - now.underWay));
  }
  progress.end();
  const found = now.found - before.found;
  console.log(
    json
      ? JSON.stringify({ added, probed, ...now, found })
      : `${probed} pairs asked for, ${found} conversations found, ${now.open} pairs left for later.`,
  );
  if (now.underWay > 0)
    throw new CommandFailed(`${now.underWay} answers are missing: does a worker run? The rest follows when one does.`);
}
