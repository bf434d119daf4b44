import { Command } from 'commander';
import { settingsRows, settingsTable } from '../../config/settings.ts';
import { commandName } from '../shared/command-name.ts';
import { describeRelease, readRelease } from '../shared/release.ts';
import { nearest } from '../shared/suggestions.ts';
import { jsonFlag } from './arguments.ts';
import { exitCodes, runCommand } from './failures.ts';
import type { Entry } from './lifecycle.ts';

/** A command that suggests the nearest of its commands for one that it does not know. */
class Menu extends Command {
  override createCommand(name?: string): Menu {
    return new Menu(name);
  }

  /** Overrides a method of the library, which compares letters only. */
  unknownCommand(): void {
    const [word = ''] = this.args;
    const near = nearest(
      word,
      this.commands.map((each) => each.name()),
    );
    const path = near ?? this.commands.find((each) => each.commands.some((inner) => inner.name() === word));
    const suggestion = typeof path === 'string' ? path : path && `${path.name()} ${word}`;
    const correction = suggestion === undefined ? '' : `\n(Did you mean ${suggestion}?)`;
    this.error(`error: unknown command '${word}'${correction}`, { code: 'commander.unknownCommand' });
  }
}

type Group = (program: Command, entry: Entry) => void;

/** Commands are imported when they run, so that a receiver does not load the sandbox or the workers. */
const groups: Readonly<Record<string, () => Promise<Group>>> = {
  start: async () => (await import('./start.ts')).addStart,
  web: async () => (await import('./web.ts')).addWeb,
  worker: async () => (await import('./worker.ts')).addWorker,
  sandbox: async () => (await import('./sandbox.ts')).addSandbox,
  status: async () => (await import('./status.ts')).addStatus,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  migrate: async () => (await import('./migrate.ts')).addMigrate,
  settings: () => Promise.resolve(addSettings),
  backfill: async () => (await import('./backfill.ts')).addBackfill,
  reconcile: async () => (await import('./coverage.ts')).addReconcile,
  coverage: async () => (await import('./coverage.ts')).addCoverage,
  events: async () => (await import('./events.ts')).addEvents,
  resync: async () => (await import('./resync.ts')).addResync,
  trace: async () => (await import('./trace.ts')).addTrace,
  links: async () => (await import('./resync.ts')).addLinks,
  erase: async () => (await import('./erase.ts')).addErase,
  subscriptions: async () => (await import('./subscriptions.ts')).addSubscriptions,
  rules: async () => (await import('./rules.ts')).addRules,
  sends: async () => (await import('./sends.ts')).addSends,
  reporting: async () => (await import('./reporting.ts')).addReporting,
  notify: async () => (await import('./notify.ts')).addNotify,
  auth: async () => (await import('./auth.ts')).addAuth,
  completion: async () => (await import('./completion.ts')).addCompletion,
};

/** The command that the scripts of `completion` run. The library fixes its name. */
const suggestionsName = 'complete';

/**
 * The command line with the command group of its first word, or with all groups if there is none of that name, for help and
 * suggestions. Exit codes: 0 for success, 1 for failure, 2 for wrong use.
 */
export async function createProgram(entry: Entry, [name = '']: readonly string[] = []): Promise<Command> {
  const program = new Menu(commandName)
    .description('Mirrors a telephony account into a Postgres database that its owner can query.')
    .option('-V, --version', 'print the version, the commit and the schema')
    .on('option:version', () => {
      console.log(describeRelease(readRelease()));
      process.exit(exitCodes.done);
    })
    .showHelpAfterError('See --help for the usage.')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse));
  if (name === suggestionsName) {
    (await import('./completion.ts')).addSuggestions(program, (words) => createProgram(entry, words));
    return program;
  }
  const named = Object.hasOwn(groups, name) ? groups[name] : undefined;
  for (const load of named ? [named] : Object.values(groups)) (await load())(program, entry);
  return program;
}

function addSettings(program: Command): void {
  program
    .command('settings')
    .description('Prints the table of all environment variables, as it stands in the README.')
    .option(...jsonFlag)
    .action((options) =>
      runCommand(() => console.log(options.json ? JSON.stringify(settingsRows()) : settingsTable())),
    );
}
