import { createDatabase, type Database, query } from './db/database.ts';
import { isMigrated, type MigrationOutcome, migrate, retryWhileLocked } from './db/migrate.ts';
import { migrateQueues } from './queues/postgres.ts';
import type { Log } from './shared/log.ts';

/** Brings both schemas up to this release: the warehouse's, and the one that the queues use when there is no Redis. */
export async function migrateAll(databaseUrl: string, log: Log): Promise<MigrationOutcome> {
  const outcome = await migrate(databaseUrl, log);
  await using database = createDatabase({ url: databaseUrl, log, maxConnections: 1, name: 'migrate' });
  await retryWhileLocked(database.db, log, () => migrateQueues(databaseUrl));
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
