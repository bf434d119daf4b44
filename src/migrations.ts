import type { Log } from './log.ts';
import { migrateQueues } from './queues/postgres.ts';
import { type MigrationOutcome, migrate } from './warehouse/migrate.ts';

/** Brings both schemas up to this release: the warehouse's, and the one that the queues use when there is no Redis. */
export async function migrateAll(databaseUrl: string, log: Log): Promise<MigrationOutcome> {
  const outcome = await migrate(databaseUrl, log);
  await migrateQueues(databaseUrl);
  for (const name of outcome.applied) log.info({ migration: name }, 'Migration applied');
  return outcome;
}
