import type { Command } from 'commander';
import { readSettings } from '../../../config/settings.ts';
import { readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { migrateAll } from '../../migrations.ts';
import { reporting } from '../exit.ts';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('Brings the schemas of DATABASE_URL up to this release. Safe to repeat.')
    .option('--json', 'print what was applied as JSON')
    .action((options: { json?: boolean }) =>
      reporting(async () => {
        const settings = readySettings(readSettings(process.env, { needed: ['DATABASE_URL'] }));
        const outcome = await migrateAll(settings.databaseUrl, createLog(settings.logLevel));
        if (options.json) console.log(JSON.stringify(outcome));
        else if (outcome.ahead.length > 0) console.log('The database was migrated by a newer release; nothing to do.');
        else if (outcome.applied.length === 0) console.log('The schemas are up to date.');
        else console.log(`Applied ${outcome.applied.join(', ')}.`);
      }),
    );
}
