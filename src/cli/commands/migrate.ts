import { readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { migrateAll } from '../../migrations.ts';
import { commandSettings } from '../environment.ts';

/** Applies what migrations are missing. */
export async function run(options: { json?: boolean }): Promise<void> {
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL'] }));
  const outcome = await migrateAll(settings.databaseUrl, createLog(settings.logLevel));
  if (options.json) console.log(JSON.stringify(outcome));
  else if (outcome.ahead.length > 0) console.log('The database was migrated by a newer release; nothing to do.');
  else if (outcome.applied.length === 0) console.log('The schemas are up to date.');
  else console.log(`Applied ${outcome.applied.join(', ')}.`);
}
