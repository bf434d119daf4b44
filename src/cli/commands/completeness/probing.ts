import { setTimeout as sleep } from 'node:timers/promises';
import { createContext, readySettings } from '../../../context.ts';
import { countOf } from '../../../status/words.ts';
import { addCallers, addContacts, addNumbers, probe, probingOf } from '../../../sync/evidence/candidates.ts';
import { type LeftOut, leftOut, rereadListed, rereadsUnderWay } from '../../../sync/evidence/listed.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { rangeOf } from '../../moments.ts';
import { createProgress } from '../../progress.ts';
import { createRemarks } from '../../remarks.ts';
import { knownLines } from './known-lines.ts';
import { readNumberList, refuseStrangeLines } from './number-list.ts';
import { refusalOf } from './refusal.ts';

export interface ThreadFlags {
  readonly from?: Date;
  readonly to?: Date;
  readonly numbers?: string;
  readonly most: number;
  readonly json?: boolean;
}

/** The probing itself is the workers' work; this says how far it is. */
const lookEveryMs = 1_000;
/** Longer than the last of the spaced reads is waited for of a thread that is not found. */
const idleForMs = 90_000;

/**
 * Gathers the pairs that may have a conversation, has them asked for, has the threads read again that are held of listed
 * numbers, and waits for the answers.
 */
export async function runThreads({ numbers, most, json, ...given }: ThreadFlags): Promise<void> {
  const period = rangeOf({ ...given, from: given.from ?? new Date(0) }, 0);
  const list = numbers === undefined ? [] : await readNumberList(numbers);
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'backfill', maxConnections: 2 });
  const { db } = context.database;
  const { pauses } = context;
  refuseStrangeLines(numbers ?? '', list, await knownLines(db));
  const added = (await addNumbers(db, list)) + (await addCallers(db, period)) + (await addContacts(db));
  const omitted = await leftOut(db, list);
  const before = await probingOf(db);
  const { probed } = await probe(db, most, { pauses });
  const reread = await rereadListed(db, list, { most, pauses });
  const look = async () => {
    const probing = await probingOf(db);
    return { ...probing, underWay: probing.underWay + (await rereadsUnderWay(db, reread.owed)) };
  };
  const asked = probed + reread.owed.length;
  const progress = createProgress('pairs');
  let now = await look();
  let movedAt = performance.now();
  let refusal: string | undefined;
  while (now.underWay > 0 && performance.now() - movedAt < idleForMs) {
    refusal = await refusalOf(db, ['thread']);
    if (refusal !== undefined) break;
    await sleep(lookEveryMs);
    const next = await look();
    if (next.underWay !== now.underWay) movedAt = performance.now();
    now = next;
    progress.show(asked === 0 ? 1 : Math.max(0, 1 - now.underWay / asked), Math.max(0, asked - now.underWay));
  }
  progress.end();
  const done = { added, probed, ...now, found: now.found - before.found, reread: reread.owed.length };
  const left = { ...omitted, rereadLeft: reread.left };
  console.log(json ? JSON.stringify({ ...done, ...left }) : [sentenceOf(done), ...remarksOn(left)].join('\n'));
  if (now.underWay > 0) {
    const cure = refusal ? `${refusal}; the rest follows.` : 'does a worker run? The rest follows when one does.';
    throw new CommandFailed(`${now.underWay} answers are missing: ${cure}`);
  }
}

interface Done {
  readonly probed: number;
  readonly found: number;
  readonly open: number;
  readonly reread: number;
}

function sentenceOf({ probed, found, open, reread }: Done): string {
  const held = reread > 0 ? `, ${reread} held threads read again` : '';
  return `${probed} pairs asked for, ${found} conversations found${held}, ${open} pairs left for later.`;
}

/** Whoever listed numbers is told of those for which nothing was done. */
function remarksOn({ askedLately, erased, rereadLeft }: LeftOut & { readonly rereadLeft: number }): string[] {
  return [
    ...(rereadLeft > 0
      ? [`${rereadLeft} more held threads of these numbers: the same command goes on with them.`]
      : []),
    ...(askedLately > 0
      ? [
          `${countOf(askedLately, 'pair')} of the list left out: asked for within the last hour, and to be asked for again after it.`,
        ]
      : []),
    ...(erased > 0 ? [`${countOf(erased, 'number')} of the list left out: of people who were erased.`] : []),
  ];
}
