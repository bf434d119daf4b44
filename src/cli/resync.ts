import { Argument, type Command } from 'commander';
import { createContext, readySettings } from '../context.ts';
import { linkSealer, type Sealer, WrongEncryptionKey } from '../credentials/sealer.ts';
import { createDatabase, type Database, query } from '../db/database.ts';
import { markDirty, maskedTarget, type Target, targetKinds } from '../inbox/targets.ts';
import { UserError } from '../shared/errors.ts';
import { normalizeNumber } from '../shared/numbers.ts';
import { threadKey, threadOf } from '../shared/thread.ts';
import { mediaRow } from '../warehouse/messages.ts';
import { recordingRow } from '../warehouse/recordings.ts';
import { jsonFlag } from './arguments.ts';
import { commandSettings } from './environment.ts';
import { runCommand, WrongUse } from './failures.ts';
import { createCommandLog } from './terminal.ts';

/** The `resync` command. */
export function addResync(program: Command): void {
  program
    .command('resync')
    .description('Makes the workers read one target again, whether or not a delivery announced it.')
    .addArgument(new Argument('<kind>', 'what it is').choices(targetKinds))
    .argument(
      '[key]',
      'a call id, or line/number for a thread (line/number,number… for a group); none for users and lines',
    )
    .option(...jsonFlag)
    .action((kind, key, options) => runCommand(() => resync(kind, key, options)));
}

/** The command that prints stored links, which are sealed in the database. */
export function addLinks(program: Command): void {
  program
    .command('links')
    .description('Prints the links to a call’s recordings, or to the files of a thread. Whoever holds one can open it.')
    .addArgument(new Argument('<kind>', 'of what').choices(['recordings', 'thread']))
    .argument('<key>', 'a call id, or line/number for a thread (line/number,number… for a group)')
    .option(...jsonFlag)
    .action((kind, key, options) => runCommand(() => printLinks(kind, key, options)));
}

/** Marks one target dirty, whether or not a delivery announced it. */
export async function resync(
  kind: Target['kind'],
  given: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const target = { kind, key: keyOf(kind, given) };
  const settings = await commandSettings({ needed: ['DATABASE_URL'] });
  const log = createCommandLog();
  await using context = await createContext(readySettings(settings), { log, name: 'resync', maxConnections: 2 });
  const { db } = context.database;
  if (kind === 'thread') await oweWholeThread(db, target.key);
  context.notifier.notify(await markDirty(db, [target], context.pauses));
  if (!(await isTarget(db, target))) {
    throw new UserError(`${maskedTarget(target)} is not read: somebody takes part who was erased.`);
  }
  await context.notifier.idle();
  console.log(json ? JSON.stringify(target) : `${target.kind} ${target.key} will be read.`);
}

/** Makes the next read of a thread complete: a usual read stops at the held messages. */
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

/** The key of a target as typed. Throws `WrongUse`. */
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

// Accepts a group as `line/a,b`, and in the mirror's form: `line/a/a,b`.
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

interface Held {
  /** The recorded leg, or the message. */
  readonly id: string;
  readonly at: Date | null;
  readonly url: string;
  readonly row: string;
}

/** Prints the links to a call's recordings, or to the files attached to a thread's texts. */
export async function printLinks(
  kind: 'recordings' | 'thread',
  given: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const key = keyOf(kind, given);
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL'] }));
  const sealer = linkSealer(settings);
  if (!sealer) throw new UserError('Set ENCRYPTION_KEY, or without one API_KEY, as the workers have it.');
  const log = createCommandLog();
  await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'links' });
  const held = kind === 'recordings' ? await recordingsOf(database.db, key) : await filesOf(database.db, key);
  if (held.length === 0) throw new UserError(`No link is held of ${kind} ${key}.`);
  const links = held.map(({ row, ...each }) => ({ ...each, url: open(sealer, each.url, row, `${kind} ${key}`) }));
  if (json) console.log(JSON.stringify(links));
  else for (const { at, id, url } of links) console.log([at?.toISOString() ?? '', id, url].join('  '));
}

async function recordingsOf(db: Database, callId: string): Promise<Held[]> {
  const rows = await query<Omit<Held, 'row'>>(
    db,
    `select unique_id as id, started_at as at, url
     from secrets.recording_urls left join warehouse.recordings using (call_id, unique_id)
     where call_id = $1 order by started_at, unique_id`,
    [callId],
  );
  return rows.map((each) => ({ ...each, row: recordingRow(callId, each.id) }));
}

async function filesOf(db: Database, key: string): Promise<Held[]> {
  const { line, number, participants } = threadOf(key);
  const rows = await query<Omit<Held, 'row'> & { conversationId: string; ordinal: number }>(
    db,
    `select conversation_id as "conversationId", message_id as id, ordinal, sent_at as at, url
     from warehouse.sms_conversations c join secrets.message_media using (conversation_id)
       left join warehouse.sms_messages m using (conversation_id, message_id)
     where c.line = $1 and c.number = $2 and c.participants_key = $3 order by sent_at, message_id, ordinal`,
    [line, number, participants.join(',')],
  );
  return rows.map(({ conversationId, ordinal, ...each }) => ({
    ...each,
    row: mediaRow(conversationId, each.id, ordinal),
  }));
}

function open(sealer: Sealer, url: string, row: string, target: string): string {
  try {
    return sealer.openLink(url, row);
  } catch (error) {
    if (!(error instanceof WrongEncryptionKey)) throw error;
    throw new UserError(
      'The link was sealed with another key: set ENCRYPTION_KEY, or without one API_KEY, as the workers have it; ' +
        `what no key opens any more is read again by \`trunkline resync ${target}\`.`,
    );
  }
}
