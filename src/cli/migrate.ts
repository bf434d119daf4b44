import { readySettings } from '../context.ts';
import { createDatabase } from '../db/database.ts';
import { migrateAll } from '../migrations.ts';
import { type BiRole, faultOfRoleName, grantBiRole } from '../reporting/bi-role.ts';
import { type CdcRole, grantCdcRole, publicationName } from '../reporting/cdc-role.ts';
import { applyRulesFile } from '../rules/versions.ts';
import { createLog } from '../shared/log.ts';
import { commandSettings } from './environment.ts';
import { WrongUse } from './failures.ts';
import type { Output } from './output.ts';

interface MigrateOptions {
  readonly biRole?: string;
  readonly cdcRole?: string;
  readonly showText?: boolean;
}

/**
 * Applies missing migrations, and RULES_FILE if it changed. With names, also lets a role read the schema `reporting` only, and
 * another one replicate the publication.
 */
export async function migrate({ biRole: biName, cdcRole: cdcName, showText }: MigrateOptions): Promise<Output> {
  const fault = [biName, cdcName].map((name) => (name === undefined ? undefined : faultOfRoleName(name))).find(Boolean);
  if (fault) throw new WrongUse(fault);
  if (showText && cdcName === undefined) throw new WrongUse('--show-text is for --cdc-role.');
  const settings = readySettings(await commandSettings({ needed: ['DATABASE_URL'] }));
  const log = createLog(settings.logLevel);
  const outcome = await migrateAll(settings.databaseUrl, log);
  const { ahead, applied, viewsBlocked } = outcome;
  await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 1, name: 'migrate' });
  // The file of an older release is not for the workers of a newer one.
  if (ahead.length === 0) await applyRulesFile(database.db, settings, log);
  const biRole = biName === undefined ? undefined : await grantBiRole(database.db, biName);
  const cdcRole =
    cdcName === undefined ? undefined : await grantCdcRole(database.db, cdcName, { isTextShown: showText });
  const done = applied.length === 0 ? 'The schemas are up to date.' : `Applied ${applied.join(', ')}.`;
  const lines = [
    ahead.length > 0 ? 'The database was migrated by a newer release; nothing to do.' : done,
    viewsBlocked && `The reports stay those of the earlier release. ${viewsBlocked}`,
    biRole && sentenceOf(biRole),
    cdcRole && sentenceOfCdc(cdcRole),
  ];
  return {
    json: { ...outcome, ...(biRole && { biRole }), ...(cdcRole && { cdcRole }) },
    text: lines.filter(Boolean).join('\n'),
  };
}

function sentenceOf({ name, isCreated, forAdministrator = [], isDatabaseShared }: BiRole): string {
  return [
    `The role ${name} reads the schema reporting, and nothing else.`,
    isCreated && noPassword(name),
    isDatabaseShared &&
      'It may create temporary tables, as everybody may, since other programs have tables in this database and may need that. If none does, grant `temporary` on the database to the role of DATABASE_URL, then run `revoke temporary on database … from public`.',
    forAdministrator.length > 0 &&
      `Only an administrator of Postgres can set its limits. Have one run:\n  ${forAdministrator.join(';\n  ')};`,
  ]
    .filter((each) => each !== false)
    .join('\n');
}

const noPassword = (name: string) => `It has no password yet: set one with \`alter role ${name} password '…'\`.`;

function sentenceOfCdc({ name, isCreated, isTextShown, tables, forAdministrator = [] }: CdcRole): string {
  const count = Object.keys(tables).length;
  const words = isTextShown ? 'with' : 'without';
  return [
    `The publication ${publicationName} has ${count} tables, ${words} texts and the words of transcripts. The role ${name} may replicate it.`,
    isCreated && noPassword(name),
    'Keep the password of this role like DATABASE_URL: a role that replicates can decode every change of the database.',
    forAdministrator.length > 0 &&
      `Replication starts once an administrator of Postgres has run this, and has restarted it if wal_level is in it:\n  ${forAdministrator.join(';\n  ')};`,
  ]
    .filter((each) => each !== false)
    .join('\n');
}
