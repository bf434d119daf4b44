import type { Command } from 'commander';
import { readSettings } from '../../../config/settings.ts';
import { createContext, readySettings } from '../../context.ts';
import { createLog } from '../../log.ts';
import { statusOf } from '../../status/concerns.ts';
import { DatabaseUnavailable, takeSnapshot } from '../../status/snapshot.ts';
import { renderTable } from '../../status/table.ts';
import { CommandFailed, reporting } from '../exit.ts';

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('How fresh the mirror is, what waits, and what fails.')
    .option('--json', 'print it as JSON')
    .action((options: { json?: boolean }) =>
      reporting(async () => {
        const settings = readSettings(process.env, { needed: ['DATABASE_URL'] });
        await using context = await createContext(readySettings(settings), {
          log: createLog('error'),
          name: 'status',
          maxConnections: 2,
        });
        const snapshot = await takeSnapshot(context).catch((error: unknown) => {
          throw error instanceof DatabaseUnavailable ? new CommandFailed(error.message) : error;
        });
        console.log(options.json ? JSON.stringify(statusOf(snapshot)) : renderTable(snapshot));
      }),
    );
}
