import type { Settings } from '../../../../config/settings.ts';
import { readySettings } from '../../../context.ts';
import type { Log } from '../../../log.ts';
import { createDatabase, type OpenDatabase } from '../../../warehouse/database.ts';
import { isMigrated } from '../../../warehouse/migrate.ts';
import { CommandFailed } from '../../exit.ts';

/** The database that keeps log ins; whoever opens it disposes of it. */
export async function openLogins(settings: Settings, log: Log): Promise<OpenDatabase> {
  const { databaseUrl } = readySettings(settings);
  const database = createDatabase({ url: databaseUrl, log, maxConnections: 2, name: 'auth' });
  if (await isMigrated(database.db)) return database;
  await database[Symbol.asyncDispose]();
  throw new CommandFailed('The database lacks migrations of this release: run `trunkline migrate` first.');
}
