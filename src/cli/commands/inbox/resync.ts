import { createContext, readySettings } from '../../../context.ts';
import { bumpTargets } from '../../../inbox/bumps.ts';
import { shownTarget, type Target } from '../../../inbox/target.ts';
import { createLog } from '../../../log.ts';
import { normalizeNumber } from '../../../numbers.ts';
import { type Database, query } from '../../../warehouse/database.ts';
import { threadKey, threadOf } from '../../../warehouse/entities/texts/conversations.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';

/** Bumps one target, whether or not anything announced it. */
export async function run(kind: Target['kind'], key: string): Promise<void> {
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createLog('warn');
  await using context = await createContext(readySettings(settings), { log, name: 'resync', maxConnections: 2 });
  const target = { kind, key: keyOf(kind, key) };
  const { db } = context.database;
  if (kind === 'thread') await oweWholeThread(db, target.key);
  context.ringer.ring(await bumpTargets(db, [target], context.pauses));
  if (!(await isTarget(db, target))) {
    throw new CommandFailed(`${shownTarget(target)} is not read: somebody takes part who was erased.`);
  }
  await context.ringer.idle();
  console.log(`${target.kind} ${target.key} will be read.`);
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

function keyOf(kind: Target['kind'], key: string): string {
  if (kind === 'users' || kind === 'lines') return 'all';
  if (kind !== 'thread') {
    if (/^\d{9,11}\.\d{1,12}$/.test(key)) return key;
    throw new CommandFailed(`"${key}" is no call id: it looks like 1783385492.057900.`);
  }
  const thread = threadOf(key);
  const line = normalizeNumber(thread.line);
  const participants = [...new Set(thread.participants.map(normalizeNumber))].sort();
  const number = participants[0] ?? normalizeNumber(thread.number);
  if (line === '' || number === '') throw new CommandFailed(`"${key}" is no thread: write line/number.`);
  return threadKey({ line, number, participants });
}
