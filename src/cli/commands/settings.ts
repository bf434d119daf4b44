import type { Command } from 'commander';
import { settingsTable } from '../../../config/settings.ts';

export function addSettings(program: Command): void {
  program
    .command('settings')
    .description('Prints the table of all environment variables, as it stands in the README.')
    .action(() => console.log(settingsTable()));
}
