import { Command } from 'commander';
import type { QueueName } from '../../config/queues.ts';
import manifest from '../../package.json' with { type: 'json' };
import type { Context } from '../context.ts';
import { addDoctor } from './commands/doctor.ts';
import { addMigrate } from './commands/migrate.ts';
import { addResync } from './commands/resync.ts';
import { addSandbox } from './commands/sandbox.ts';
import { addSettings } from './commands/settings.ts';
import { addStart } from './commands/start.ts';
import { addStatus } from './commands/status.ts';
import { addSubscriptions } from './commands/subscriptions.ts';
import { addWeb } from './commands/web.ts';
import { addWorker } from './commands/worker.ts';
import { exitCodes } from './exit.ts';

/** What the entry hands to the commands, since nothing in `src` knows the workers. */
export interface Entry {
  startWorkers(
    context: Context,
    options?: { readonly queues?: readonly QueueName[] },
  ): Promise<{ close(deadlineMs: number): Promise<void> }>;
}

/** The command line: one file per command. Exit code 0 when it did what was asked, 1 when not, 2 for wrong use. */
export function createProgram(entry: Entry): Command {
  const program = new Command('trunkline')
    .description('Mirrors a telephony account into a Postgres that its owner can query.')
    .version(manifest.version)
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse));
  addStart(program, entry);
  addWeb(program);
  addWorker(program, entry);
  addMigrate(program);
  addSandbox(program);
  addStatus(program);
  addDoctor(program);
  addSubscriptions(program);
  addResync(program);
  addSettings(program);
  return program;
}
