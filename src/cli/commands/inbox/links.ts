import { readySettings } from '../../../context.ts';
import { linkSealer, type Sealer, WrongEncryptionKey } from '../../../credentials/sealer.ts';
import { createDatabase, type Database, query } from '../../../warehouse/database.ts';
import { recordingRow } from '../../../warehouse/entities/calls/recordings.ts';
import { threadOf } from '../../../warehouse/entities/texts/conversations.ts';
import { mediaRow } from '../../../warehouse/entities/texts/messages.ts';
import { commandSettings } from '../../environment.ts';
import { CommandFailed } from '../../exit.ts';
import { createRemarks } from '../../remarks.ts';
import { keyOf } from './resync.ts';

interface Held {
  /** The recorded leg, or the message. */
  readonly id: string;
  readonly at: Date | null;
  readonly url: string;
  readonly row: string;
}

/** Prints the links to a call's recordings, or to the files attached to a thread's texts. */
export async function run(
  kind: 'recordings' | 'thread',
  given: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const key = keyOf(kind, given);
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL'] }));
  const sealer = linkSealer(settings);
  if (!sealer) throw new CommandFailed('Set ENCRYPTION_KEY, or without one API_KEY, as the workers have it.');
  const log = createRemarks();
  await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'links' });
  const held = kind === 'recordings' ? await recordingsOf(database.db, key) : await filesOf(database.db, key);
  if (held.length === 0) throw new CommandFailed(`No link is held of ${kind} ${key}.`);
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
    throw new CommandFailed(
      'The link was sealed with another key: set ENCRYPTION_KEY, or without one API_KEY, as the workers have it; ' +
        `what no key opens any more is read again by \`trunkline resync ${target}\`.`,
    );
  }
}
