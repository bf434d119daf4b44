import { Command } from 'commander';
import type { QueueName } from '../../config/queues.ts';
import manifest from '../../package.json' with { type: 'json' };
import type { Context } from '../context.ts';
import { nearest } from '../rules/file/suggestion.ts';
import { exitCodes, reporting } from './exit.ts';
import { jsonFlag } from './menu/arguments.ts';
import { addAuth } from './menu/auth.ts';
import { addCompleteness } from './menu/completeness.ts';
import { addErase, addEvents, addLinks, addResync } from './menu/inbox.ts';
import { addProcesses } from './menu/processes.ts';
import { addReporting } from './menu/reporting.ts';
import { addRules } from './menu/rules.ts';
import { addSends } from './menu/sends.ts';
import { addSubscriptions } from './menu/subscriptions.ts';

/** What the entry hands to the commands, since nothing in `src` knows the workers. */
export interface Entry {
  startWorkers(
    context: Context,
    options?: { readonly queues?: readonly QueueName[] },
  ): Promise<{ close(deadlineMs: number): Promise<void> }>;
}

/** A command that suggests the nearest of its commands for one that it does not know. */
class Menu extends Command {
  override createCommand(name?: string): Menu {
    return new Menu(name);
  }

  /** Called by the library, which would count changed letters alone. */
  unknownCommand(): void {
    const [word = ''] = this.args;
    const near = nearest(
      word,
      this.commands.map((each) => each.name()),
    );
    const path = near ?? this.commands.find((each) => each.commands.some((inner) => inner.name() === word));
    const suggestion = typeof path === 'string' ? path : path && `${path.name()} ${word}`;
    const hint = suggestion === undefined ? '' : `\n(Did you mean ${suggestion}?)`;
    this.error(`error: unknown command '${word}'${hint}`, { code: 'commander.unknownCommand' });
  }
}

/**
 * The command line at a glance. What a command does is loaded when it is asked for. Exit code 0 when it did what was
 * asked, 1 when not, 2 for wrong use.
 */
export function createProgram(entry: Entry): Command {
  const program = new Menu('trunkline')
    .description('Mirrors a telephony account into a Postgres that its owner can query.')
    .version(manifest.version)
    .showHelpAfterError('With --help it says how it is used.')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse));

  addProcesses(program, entry);
  addUpkeep(program);
  addCompleteness(program);
  addEvents(program);
  addResync(program);
  addLinks(program);
  addErase(program);
  addSubscriptions(program);
  addRules(program);
  addSends(program);
  addReporting(program);
  addAuth(program);
  return program;
}

/** How the daemon stands, and what it stands on. */
function addUpkeep(program: Command): void {
  program
    .command('status')
    .description('How fresh the mirror is, what waits, and what fails.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('./commands/status.ts')).run(options)));
  program
    .command('doctor')
    .description('Examines settings, stores, API and webhooks, and says what to do about each fault.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('./commands/doctor.ts')).run(options)));
  program
    .command('migrate')
    .description('Brings the schemas of DATABASE_URL up to this release. Safe to repeat.')
    .option('--bi-role <name>', 'lets this role read the schema reporting and nothing else; creates it when it is new')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('./commands/migrate.ts')).run(options)));
  program
    .command('settings')
    .description('Prints the table of all environment variables, as it stands in the README.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('./commands/settings.ts')).run(options)));
}
