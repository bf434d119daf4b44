import { linkSealer } from '../credentials/sealer.ts';
import { type Database, query, sql } from '../db/database.ts';
import { maskedTarget, type TargetKind, targetKinds } from '../inbox/targets.ts';
import { toType } from '../shared/command-name.ts';
import { UserError, WrongUse } from '../shared/errors.ts';
import { toTheSecond } from '../shared/format.ts';
import { isCallId, threadOf, typedThreadKey } from '../shared/thread.ts';
import { readAgain } from '../sync/read-again.ts';
import { type DirectoryKind, wholeList } from '../warehouse/directory.ts';
import { belongingOf } from '../warehouse/links.ts';
import { openContext, openDatabase } from './environment.ts';
import type { Output } from './output.ts';

/** Marks one target as dirty, whether or not a delivery announced it. */
export async function resync(name: string, given: string | undefined): Promise<Output> {
  const kind = targetKinds.find((each) => each === name);
  if (kind === undefined) throw new WrongUse(`"${name}" is not one of ${targetKinds.join(', ')}.`);
  const target = { kind, key: keyOf(kind, given) };
  await using context = await openContext('resync');
  const { database, notifier } = context;
  if (!(await readAgain({ db: database.db, notify: notifier.notify }, target))) {
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
  readonly at: Date | null;
  /** The recorded leg, or the message. */
  readonly id: string;
  readonly owner: string;
  readonly part: string;
  readonly link: string;
}

/** The links to a call's recordings, or to the files attached to a thread's texts. */
export async function listLinks(kind: 'recordings' | 'thread', given: string | undefined): Promise<Output> {
  const key = keyOf(kind, given);
  await using database = await openDatabase('links');
  const { settings } = database;
  const sealer = linkSealer(settings);
  if (!sealer) throw new UserError('Set ENCRYPTION_KEY (or API_KEY, if the workers have none) to the workers’ value.');
  const [held, one] =
    kind === 'recordings'
      ? ([await recordingsOf(database.db, key), 'recording'] as const)
      : ([await filesOf(database.db, key), 'file'] as const);
  const links = held.flatMap(({ at, id, ...place }) => {
    const url = sealer.open(place.link, belongingOf(one, place));
    return url === undefined ? [] : [{ id, at, url }];
  });
  if (held.length === 0) throw new UserError(`No link is stored for ${kind} ${key}.`);
  if (links.length === 0) {
    throw new UserError(
      'The links were sealed with another key: set ENCRYPTION_KEY (or API_KEY, if the workers have none) to the workers’ value. ' +
        `If that key is lost, ${toType(`resync ${kind} ${key}`)} reads the links again.`,
    );
  }
  const lines = links.map(({ at, id, url }) => [at ? toTheSecond(at, settings.timeZone) : '', id, url].join('  '));
  return { json: links, text: lines.join('\n') };
}

function recordingsOf(db: Database, callId: string): Promise<Held[]> {
  return query<Held>(
    db,
    sql`select r.started_at as at, l.part as id, l.owner, l.part, l.link
     from secrets.links l left join warehouse.recordings r on r.call_id = l.owner and r.unique_id = l.part
     where l.kind = 'recording' and l.owner = ${callId} order by r.started_at, l.part`,
  );
}

function filesOf(db: Database, key: string): Promise<Held[]> {
  const { line, number, participants } = threadOf(key);
  return query<Held>(
    db,
    sql`select m.sent_at as at, m.message_id as id, l.owner, l.part, l.link
     from warehouse.sms_conversations c join warehouse.sms_messages m using (conversation_id)
       join secrets.links l on l.kind = 'file' and l.owner = m.conversation_id || '/' || m.message_id
     where c.line = ${line} and c.number = ${number} and c.participants_key = ${participants.join(',')}
     order by m.sent_at, m.message_id, l.part::integer`,
  );
}
