import { type Database, inTransaction, limitLockWait, query, sql } from '../db/database.ts';
import { UserError } from '../shared/errors.ts';

/**
 * The full name of a text search configuration, with its schema: `pg_catalog.english`. Rejects where Postgres has no
 * such configuration.
 */
async function fullName(db: Database, name: string): Promise<string> {
  const rows = await query(
    db,
    sql<{ name: string; language: string }>`
      select cfgname as name, format('%I.%I', nspname, cfgname) as language
      from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace order by nspname = 'pg_catalog' desc, cfgname`,
  );
  const found = rows.find((row) => row.name === name);
  if (found) return found.language;
  const names = [...new Set(rows.map((row) => row.name))].join(', ');
  throw new UserError(`SEARCH_LANGUAGE is ${name}, for which Postgres has no text search configuration.`, {
    remedy: `Set it to one of ${names}; simple fits every language, and finds words only as they were written.`,
  });
}

/**
 * Has `reporting.search` find words in the language SEARCH_LANGUAGE, and returns whether that changed. Meanwhile, texts
 * and transcripts are read, and those that are to be stored wait. Rejects where Postgres has no such configuration.
 */
export async function setSearchLanguage(db: Database, name: string): Promise<boolean> {
  const language = await fullName(db, name);
  return inTransaction(db, async (tx) => {
    await limitLockWait(tx);
    const [held] = await query<{ language: string }>(tx, sql`select language from ops.search_state for update`);
    if (held?.language === language) return false;
    await query(tx, sql`update ops.search_state set language = ${language}`);
    await query(tx, sql`lock table warehouse.sms_messages, warehouse.transcript_bodies in share mode`);
    await query(
      tx,
      sql`create index sms_messages_words_new on warehouse.sms_messages
        using gin (to_tsvector(${sql.lit(language)}::regconfig, left(coalesce(body, ''), 10000)))`,
    );
    await query(tx, sql`update warehouse.transcript_bodies set words_language = ${language}`);
    await query(tx, sql`drop index warehouse.sms_messages_words`);
    await query(tx, sql`alter index warehouse.sms_messages_words_new rename to sms_messages_words`);
    await query(tx, sql`analyze warehouse.sms_messages`);
    return true;
  });
}
