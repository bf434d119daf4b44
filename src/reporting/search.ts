import { type Database, inTransaction, query } from '../db/database.ts';
import { tryLock } from '../db/locks.ts';
import { UserError } from '../shared/errors.ts';

/** Postgres has no text search configuration with the name in SEARCH_LANGUAGE. */
export class NoSearchLanguage extends UserError {
  readonly code = 'no_search_language';
}

/**
 * The full name of a text search configuration, with its schema: `pg_catalog.english`. Rejects with {@link
 * NoSearchLanguage}.
 */
export async function searchLanguage(db: Database, name: string): Promise<string> {
  const rows = await query<{ name: string; language: string }>(
    db,
    `select c.cfgname as name, quote_ident(n.nspname) || '.' || quote_ident(c.cfgname) as language
     from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace
     order by n.nspname = 'pg_catalog' desc, c.cfgname`,
    [],
  );
  const found = rows.find((row) => row.name === name);
  if (found) return found.language;
  throw new NoSearchLanguage(`SEARCH_LANGUAGE is ${name}, for which Postgres has no text search configuration.`, {
    remedy: `Set it to one of ${[...new Set(rows.map((row) => row.name))].join(', ')}; simple fits every language, and finds words only as they were written.`,
  });
}

interface SearchState {
  readonly language: string;
  readonly previous: string | null;
}

/** Number of transcripts analyzed again in one transaction. */
const transcriptsAtOnce = 200;

/**
 * Changes `reporting.search` to a language (see {@link searchLanguage}), and completes an interrupted change. Undefined
 * keeps the language. Reads and writes continue: texts get a second index next to the old one, and transcripts are
 * analyzed again in small transactions, found in either language until then. One process at a time; the others return
 * at once.
 */
export async function followSearchLanguage(
  db: Database,
  language: string | undefined,
  signal: AbortSignal,
): Promise<'same' | 'changed' | 'left to another'> {
  return db.connection().execute(async (connection) => {
    const read = async () => {
      const [state] = await query<SearchState>(connection, 'select language, previous from ops.search_state', []);
      if (!state) throw new Error('ops.search_state has no row');
      return state;
    };
    const isDone = ({ language: held, previous }: SearchState) =>
      previous === null && (language === undefined || held === language);
    if (isDone(await read())) return 'same';
    return inTransaction(db, async (tx) => {
      if (!(await tryLock(tx, 'search'))) return 'left to another';
      // On the other connection: an index can't be built concurrently within a transaction.
      for (let state = await read(); !signal.aborted && !isDone(state); state = await read()) {
        if (state.previous === null && language !== undefined) await indexTexts(connection, language);
        else await analyseTranscripts(connection, state.language, signal);
      }
      return 'changed';
    });
  });
}

/** Builds the index of texts, and switches both texts and new transcripts to the language. */
async function indexTexts(db: Database, language: string): Promise<void> {
  const drop = (name: string) =>
    query(db, `drop index concurrently if exists warehouse.sms_messages_words_${name}`, []);
  // Left by an interrupted change. An index whose build was interrupted is invalid.
  await drop('new');
  await drop('old');
  const [create] = await query<{ text: string }>(
    db,
    `select format('create index concurrently sms_messages_words_new on warehouse.sms_messages
       using gin (to_tsvector(%L::regconfig, left(coalesce(body, ''''), 10000)))', $1::text) as text`,
    [language],
  );
  await query(db, create?.text ?? '', []);
  await inTransaction(db, async (tx) => {
    await query(tx, `set local lock_timeout = '5s'`, []);
    // Rows being inserted now have the old language. Rows inserted after this have the new one.
    await query(tx, 'lock table warehouse.transcript_bodies in share mode', []);
    await query(tx, 'alter index warehouse.sms_messages_words rename to sms_messages_words_old', []);
    await query(tx, 'alter index warehouse.sms_messages_words_new rename to sms_messages_words', []);
    await query(tx, 'update ops.search_state set previous = language, language = $1', [language]);
  });
  await drop('old');
  await query(db, 'analyze warehouse.sms_messages', []);
}

async function analyseTranscripts(db: Database, language: string, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  do {
    const rows: { last: string | null }[] = await query(
      db,
      `with part as (
         select transcript_id from warehouse.transcript_bodies
         where $1::bigint is null or transcript_id > $1 order by transcript_id limit ${transcriptsAtOnce}
       ),
       analysed as (
         update warehouse.transcript_bodies b set words_language = $2
         from part where b.transcript_id = part.transcript_id and b.words_language <> $2
       )
       select max(transcript_id) as last from part`,
      [last, language],
    );
    last = rows[0]?.last ?? null;
  } while (last !== null && !signal.aborted);
  if (last === null) await query(db, 'update ops.search_state set previous = null', []);
}
