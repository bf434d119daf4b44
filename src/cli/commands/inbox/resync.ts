import { createContext, readySettings } from '../../../context.ts';
import { bumpTargets } from '../../../inbox/bumps.ts';
import { shownTarget, type Target } from '../../../inbox/target.ts';
import { normalizeNumber } from '../../../numbers.ts';
import { type Database, query } from '../../../warehouse/database.ts';
import { threadKey, threadOf } from '../../../warehouse/entities/texts/conversations.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed, WrongUse } from '../../exit.ts';
import { createRemarks } from '../../remarks.ts';

/** Bumps one target, whether or not anything announced it. */
export async function run(
  kind: Target['kind'],
  given: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const target = { kind, key: keyOf(kind, given) };
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createRemarks();
  await using context = await createContext(readySettings(settings), { log, name: 'resync', maxConnections: 2 });
  const { db } = context.database;
  if (kind === 'thread') await oweWholeThread(db, target.key);
  context.ringer.ring(await bumpTargets(db, [target], context.pauses));
  if (!(await isTarget(db, target))) {
    throw new CommandFailed(`${shownTarget(target)} is not read: somebody takes part who was erased.`);
  }
  await context.ringer.idle();
  console.log(json ? JSON.stringify(target) : `${target.kind} ${target.key} will be read.`);
}

/** A usual read ends at what is held; whoever asks for a thread wants all of it. */
async function oweWholeThread(db: Database, key: string): Promise<void> {
  const { line, number, participants } = threadOf(key);
  await query(
    db,
    `update warehouse.sms_conversations set is_reread_owed = true
     where line = $1 and number = $2 and participants_key = $3`,
    [line, number, participants.join(',')],
  );
}

async function isTarget(db: Database, { kind, key }: Target): Promise<boolean> {
  const rows = await query(db, 'select from ops.sync_targets where kind = $1 and key = $2', [kind, key]);
  return rows.length > 0;
}

/** The key of a target as a person names it. Throws `WrongUse`. */
export function keyOf(kind: Target['kind'], given: string | undefined): string {
  switch (kind) {
    case 'users':
    case 'lines':
      if (given === undefined || given === 'all') return 'all';
      throw new WrongUse(`"${given}" is too much: all ${kind} are read together, with \`resync ${kind}\`.`);
    case 'thread':
      return threadKeyOf(given);
    default:
      if (given !== undefined && /^\d{9,11}\.\d{1,12}$/.test(given)) return given;
      if (!given) throw new WrongUse(`Name the call: \`resync ${kind} 1783385492.057900\`, with the id of the call.`);
      throw new WrongUse(`"${given}" is no call id: one looks like 1783385492.057900.`);
  }
}

const threadForm = 'write line/number, and line/number,number for a group, with country codes';

// A group may stand as `line/a,b`, or as the mirror keys it: `line/a/a,b`.
function threadKeyOf(given: string | undefined): string {
  if (!given) throw new WrongUse(`Name the thread: ${threadForm}.`);
  const [lineText = '', numbers = '', more = '', ...rest] = given.split('/');
  const line = normalizeNumber(lineText);
  const participants = [
    ...new Set([numbers, more].flatMap((each) => each.split(',')).filter((each) => each !== '')),
  ].map(normalizeNumber);
  const isNumber = (digits: string) => digits.length >= 3 && digits.length <= 15;
  if (!isNumber(line) || participants.length === 0 || !participants.every(isNumber) || rest.length > 0) {
    throw new WrongUse(`"${given}" is no thread: ${threadForm}.`);
  }
  const parties = [...new Set(participants)].filter((number) => number !== line).sort();
  const [number = line] = parties;
  return threadKey({ line, number, participants: parties.length > 1 ? parties : [] });
}
