import { readySettings } from '../context.ts';
import { createDatabase } from '../db/database.ts';
import { migrateAll } from '../migrations.ts';
import { type BiRole, faultOfRoleName, grantBiRole } from '../reporting/bi-role.ts';
import { createLog } from '../shared/log.ts';
import { commandSettings } from './environment.ts';
import { WrongUse } from './failures.ts';

/** Applies missing migrations. With a name, grants a role read access to the schema `reporting` only. */
export async function run(options: { biRole?: string; json?: boolean }): Promise<void> {
  const fault = options.biRole === undefined ? undefined : faultOfRoleName(options.biRole);
  if (fault !== undefined) throw new WrongUse(fault);
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL'] }));
  const log = createLog(settings.logLevel);
  const outcome = await migrateAll(settings.databaseUrl, log);
  const biRole = options.biRole === undefined ? undefined : await grant(options.biRole);
  if (options.json) console.log(JSON.stringify({ ...outcome, ...(biRole && { biRole }) }));
  else {
    if (outcome.ahead.length > 0) console.log('The database was migrated by a newer release; nothing to do.');
    else if (outcome.applied.length === 0) console.log('The schemas are up to date.');
    else console.log(`Applied ${outcome.applied.join(', ')}.`);
    if (outcome.viewsBlocked) console.log(`The reports stay those of the earlier release. ${outcome.viewsBlocked}`);
    if (biRole) console.log(sentenceOf(biRole));
  }

  async function grant(name: string): Promise<BiRole> {
    await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'migrate' });
    return await grantBiRole(database.db, name);
  }
}

function sentenceOf({ name, isCreated, forAdministrator = [], isDatabaseShared }: BiRole): string {
  return [
    `The role ${name} reads the schema reporting, and nothing else.`,
    isCreated && `It has no password yet: set one with \`alter role ${name} password '…'\`.`,
    isDatabaseShared &&
      'It may create temporary tables, as everybody may, since other programs have tables in this database and may need that. If none does, grant `temporary` on the database to the role of DATABASE_URL, then run `revoke temporary on database … from public`.',
    forAdministrator.length > 0 &&
      `Only an administrator of Postgres can set its limits. Have one run:\n  ${forAdministrator.join(';\n  ')};`,
  ]
    .filter((each) => each !== false)
    .join('\n');
}
