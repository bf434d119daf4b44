import { linkSealer, type Sealer, WrongEncryptionKey } from '../credentials/sealer.ts';
import { type Database, query, sql } from '../db/database.ts';
import { maskedTarget, type TargetKind, targetKinds } from '../inbox/targets.ts';
import { toTheSecond } from '../ops/format.ts';
import { toType } from '../shared/command-name.ts';
import { UserError } from '../shared/errors.ts';
import { isCallId, threadOf, typedThreadKey } from '../shared/thread.ts';
import { readAgain } from '../sync/read-again.ts';
import { type DirectoryKind, wholeList } from '../warehouse/directory.ts';
import { linkRow } from '../warehouse/links.ts';
import { openContext, openDatabase } from './environment.ts';
import { WrongUse } from './failures.ts';
import type { Output } from './output.ts';

/** Marks one target as dirty, whether or not a delivery announced it. */
export async function resync(name: string, given: string | undefined): Promise<Output> {
  const kind = targetKinds.find((each) => each === name);
  if (kind === undefined) throw new WrongUse(`"${name}" is not one of ${targetKinds.join(', ')}.`);
  const target = { kind, key: keyOf(kind, given) };
  await using context = await openContext('resync');
  const { database, pauses, notifier } = context;
  if (!(await readAgain({ db: database.db, pauses, notify: notifier.notify }, target))) {
    throw new UserError(`${maskedTarget(target)} is not read: one of its participants was erased.`);
  }
  await notifier.idle();
  return { json: target, text: `${target.kind} ${target.key} will be read.` };
}

/** The key of a target as typed. Throws `WrongUse`. */
export function keyOf(kind: TargetKind, given: string | undefined): string {
  switch (kind) {
    case 'thread': {
      const form = 'write line/number, and line/number,number for a group, with country codes';
      if (!given) throw new WrongUse(`Name the thread: ${form}.`);
      const key = typedThreadKey(given);
      if (key === undefined) throw new WrongUse(`"${given}" is not a thread: ${form}.`);
      return key;
    }
    case 'call':
    case 'recordings':
    case 'transcripts':
      if (given !== undefined && isCallId(given)) return given;
      if (!given)
        throw new WrongUse(`Name the call: ${toType(`resync ${kind} 1783385492.057900`)}, with the id of the call.`);
      throw new WrongUse(`"${given}" is not a call id, such as 1783385492.057900.`);
    default:
      kind satisfies DirectoryKind;
      if (given === undefined || given === wholeList) return wholeList;
      throw new WrongUse(`"${given}" is not allowed here: ${toType(`resync ${kind}`)} reads all ${kind} together.`);
  }
}

interface Held {
  /** The recorded leg, or the message. */
  readonly id: string;
  readonly at: Date | null;
  readonly url: string;
  readonly row: string;
}

/** The links to a call's recordings, or to the files attached to a thread's texts. */
export async function listLinks(kind: 'recordings' | 'thread', given: string | undefined): Promise<Output> {
  const key = keyOf(kind, given);
  await using database = await openDatabase('links');
  const { settings } = database;
  const sealer = linkSealer(settings);
  if (!sealer) throw new UserError('Set ENCRYPTION_KEY (or API_KEY, if the workers have none) to the workers’ value.');
  const held = kind === 'recordings' ? await recordingsOf(database.db, key) : await filesOf(database.db, key);
  if (held.length === 0) throw new UserError(`No link is stored for ${kind} ${key}.`);
  const links = held.map(({ row, ...each }) => ({ ...each, url: open(sealer, each.url, row, `${kind} ${key}`) }));
  const lines = links.map(({ at, id, url }) => [at ? toTheSecond(at, settings.timeZone) : '', id, url].join('  '));
  return { json: links, text: lines.join('\n') };
}

async function recordingsOf(db: Database, callId: string): Promise<Held[]> {
  const rows = await query<Omit<Held, 'row'>>(
    db,
    sql`select unique_id as id, started_at as at, url
     from secrets.recording_urls left join warehouse.recordings using (call_id, unique_id)
     where call_id = ${callId} order by started_at, unique_id`,
  );
  return rows.map((each) => ({ ...each, row: linkRow('recording_urls', callId, each.id) }));
}

async function filesOf(db: Database, key: string): Promise<Held[]> {
  const { line, number, participants } = threadOf(key);
  const rows = await query<Omit<Held, 'row'> & { conversationId: string; ordinal: number }>(
    db,
    sql`select conversation_id as "conversationId", message_id as id, ordinal, sent_at as at, url
     from warehouse.sms_conversations c join secrets.message_media using (conversation_id)
       left join warehouse.sms_messages m using (conversation_id, message_id)
     where c.line = ${line} and c.number = ${number} and c.participants_key = ${participants.join(',')}
     order by sent_at, message_id, ordinal`,
  );
  return rows.map(({ conversationId, ordinal, ...each }) => ({
    ...each,
    row: linkRow('message_media', conversationId, each.id, ordinal),
  }));
}

function open(sealer: Sealer, url: string, row: string, target: string): string {
  try {
    return sealer.openLink(url, row);
  } catch (error) {
    if (!(error instanceof WrongEncryptionKey)) throw error;
    throw new UserError(
      'The link was sealed with another key: set ENCRYPTION_KEY (or API_KEY, if the workers have none) to the workers’ value. ' +
        `If that key is lost, ${toType(`resync ${target}`)} reads the link again.`,
    );
  }
}
