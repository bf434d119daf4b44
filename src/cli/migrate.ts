import { readySettings } from '../context.ts';
import { createDatabase } from '../db/database.ts';
import { migrateAll } from '../migrations.ts';
import { type BiRole, faultOfRoleName, grantBiRole } from '../reporting/bi-role.ts';
import { applyRulesFile } from '../rules/versions.ts';
import { WrongUse } from '../shared/errors.ts';
import { commandSettings } from './environment.ts';
import type { Output } from './output.ts';
import { createProcessLog } from './terminal.ts';

interface MigrateOptions {
  readonly biRole?: string;
}

/**
 * Applies missing migrations, and RULES_FILE if it changed. `biRole`: also lets this role read the schema `reporting`.
 */
export async function migrate({ biRole: biName }: MigrateOptions): Promise<Output> {
  const fault = biName === undefined ? undefined : faultOfRoleName(biName);
  if (fault) throw new WrongUse(fault);
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL'] }));
  const log = createProcessLog(settings.logLevel, settings.timeZone);
  const outcome = await migrateAll(settings.databaseUrl, log, settings.searchLanguage);
  const { ahead, applied, viewsBlocked } = outcome;
  await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'migrate' });
  // The file of an older release isn't for the workers of a newer one.
  const refused = ahead.length === 0 ? await applyRulesFile(database.db, settings, log) : undefined;
  const biRole = biName === undefined ? undefined : await grantBiRole(database.db, biName);
  const done = applied.length === 0 ? 'The schemas are up to date.' : `Applied ${applied.join(', ')}.`;
  const lines = [
    ahead.length > 0 ? 'The database was migrated by a newer release; nothing to do.' : done,
    viewsBlocked && `The reports stay those of the earlier release. ${viewsBlocked}`,
    biRole && sentenceOf(biRole),
  ];
  return {
    json: { ...outcome, ...(biRole && { biRole }) },
    text: lines.filter(Boolean).join('\n'),
    failed: refused,
  };
}

function sentenceOf({ name, isCreated }: BiRole): string {
  const password = `It has no password yet: set one with \`alter role ${name} password '…'\`.`;
  return `The role ${name} reads the schema reporting, and nothing else.${isCreated ? `\n${password}` : ''}`;
}
