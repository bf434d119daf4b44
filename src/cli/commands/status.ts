import type { Command } from 'commander';
import { readSettings } from '../../../config/settings.ts';
import { createContext, readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { reporting } from '../exit.ts';

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('How fresh the mirror is, what waits, and what fails.')
    .option('--json', 'print it as JSON')
    .action(() =>
      reporting(async () => {
        const settings = readSettings(process.env, { needed: ['DATABASE_URL'] });
        await using _context = await createContext(readySettings(settings), {
          log: createLog('warn'),
          name: 'status',
          maxConnections: 2,
        });
      }),
    );
}
