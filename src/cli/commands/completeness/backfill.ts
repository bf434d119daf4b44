import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createContext, readySettings } from '../../../context.ts';
import { createLog } from '../../../log.ts';
import { normalizeNumber } from '../../../numbers.ts';
import type { Service } from '../../../service/client.ts';
import { backfillCalls } from '../../../sync/coverage/backfill.ts';
import { addCallers, addContacts, addNumbers, probe, probingOf } from '../../../sync/evidence/candidates.ts';
import { createDriftLog } from '../../../warehouse/drift.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { secondsOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';

export interface CallFlags {
  readonly from: Date;
  readonly to?: Date;
  readonly artefacts?: boolean;
  readonly json?: boolean;
}

/** Fills in call history. Ctrl-C ends it at the next page; the same command goes on from there. */
export async function runCalls({ from, to = new Date(), artefacts = false, json }: CallFlags): Promise<void> {
  if (to <= from) throw new CommandFailed('--to must be after --from.');
  const settings = await commandSettings({ needed: ['DATABASE_URL', 'API_BASE_URL', 'API_KEY'] });
  const log = createLog('warn');
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
export async function runThreads({
  from = new Date(0),
  to = new Date(),
  numbers,
  most,
  json,
}: ThreadFlags): Promise<void> {
  const pairs = numbers === undefined ? [] : await numbersOf(numbers);
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createLog('warn');
  await using context = await createContext(readySettings(settings), { log, name: 'backfill', maxConnections: 2 });
  const { db } = context.database;
  const added = (await addNumbers(db, pairs)) + (await addCallers(db, { from, to })) + (await addContacts(db));
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

/** One number a line; after a comma, the line of ours that it is asked with. */
async function numbersOf(file: string): Promise<{ number: string; line: string | undefined }[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`${file} cannot be read (${error.code}).`);
  });
  return text.split(/\r?\n/).flatMap((row, at) => {
    if (row.trim() === '' || row.startsWith('#')) return [];
    const [number = '', line] = row.split(/[,;\t]/).map(normalizeNumber);
    if (number.length < 7 || number.length > 15) {
      throw new CommandFailed(`${file}, line ${at + 1}: "${row.trim()}" does not begin with a phone number.`);
    }
    return [{ number, line: line === '' ? undefined : line }];
  });
}
