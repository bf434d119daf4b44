import { createDatabase, type Database, query } from './db/database.ts';
import { isMigrated, type MigrationOutcome, migrate, retryWhileLocked } from './db/migrate.ts';
import { migrateQueues } from './queues/postgres.ts';
import { grantReportsRole } from './reporting/bi-role.ts';
import { setSearchLanguage } from './reporting/search.ts';
import type { Log } from './shared/log.ts';

/**
 * Brings both schemas up to this release: the warehouse's, and the one that the queues use when there is no Redis.
 * Makes the role of `/reports`, and sets the language of the search, if one is given.
 */
export async function migrateAll(databaseUrl: string, log: Log, searchLanguage?: string): Promise<MigrationOutcome> {
  const outcome = await migrate(databaseUrl, log);
  await using database = createDatabase({ url: databaseUrl, log, maxConnections: 1, name: 'migrate' });
  await retryWhileLocked(database.db, log, () => migrateQueues(databaseUrl));
  if (outcome.ahead.length === 0) await grantReportsRole(database.db);
  if (searchLanguage !== undefined && outcome.ahead.length === 0) {
    const isChanged = await retryWhileLocked(database.db, log, () => setSearchLanguage(database.db, searchLanguage));
    if (isChanged) log.info({ searchLanguage }, 'All texts and transcripts are searched in a new language');
  }
  for (const name of outcome.applied) log.info({ migration: name }, 'Migration applied');
  return outcome;
}

/** Whether the database has what this release needs; the schema of the queues only where they live in Postgres. */
export async function areMigrated(db: Database, areQueuesHere: boolean): Promise<boolean> {
  if (!(await isMigrated(db))) return false;
  if (!areQueuesHere) return true;
  const [queues] = await query<{ found: boolean }>(
    db,
    `select to_regclass('bullmq.migration') is not null as found`,
    [],
  );
  return queues?.found === true;
}
