import { Command } from 'commander';
import { commandName } from '../shared/command-name.ts';
import { describeRelease, readRelease } from '../shared/release.ts';
import { nearest } from '../shared/suggestions.ts';
import {
  addAuth,
  addCompletion,
  addDoctor,
  addMigrate,
  addNotify,
  addReporting,
  addSettings,
  addStatus,
} from './commands/administration.ts';
import { addRules, addSends } from './commands/automation.ts';
import {
  addBackfill,
  addCoverage,
  addErase,
  addEvents,
  addLinks,
  addReconcile,
  addResync,
  addSubscriptions,
  addTrace,
} from './commands/mirror.ts';
import { addSandbox, addStart, addWeb, addWorker } from './commands/processes.ts';
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

/** The command that the scripts of `completion` run. The library fixes its name. */
const suggestionsName = 'complete';

/**
 * The command line, for the words that follow the name of the program. Each command imports what it runs when it runs, so
 * that help, completions and wrong use need none of it. Exit codes: 0 for success, 1 for failure, 2 for wrong use.
 */
export function createProgram(entry: Entry, [first = '']: readonly string[] = []): Command {
  const program = new Menu(commandName)
    .description('Mirrors a telephony account into a Postgres database that its owner can query.')
    .option('-V, --version', 'print the version, the commit and the schema')
    .on('option:version', () => {
      console.log(describeRelease(readRelease()));
      process.exit(exitCodes.done);
    })
    .showHelpAfterError('See --help for the usage.')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse));
  if (first === suggestionsName) {
    addSuggestions(program, () => createProgram(entry));
    return program;
  }
  // In the order of the help.
  addStart(program, entry);
  addWeb(program);
  addWorker(program, entry);
  addSandbox(program);
  addStatus(program);
  addDoctor(program);
  addMigrate(program);
  addSettings(program);
  addBackfill(program);
  addReconcile(program);
  addCoverage(program);
  addEvents(program);
  addResync(program);
  addTrace(program);
  addLinks(program);
  addErase(program);
  addSubscriptions(program);
  addRules(program);
  addSends(program);
  addReporting(program);
  addNotify(program);
  addAuth(program);
  addCompletion(program);
  return program;
}

/** Adds the hidden command that the scripts run: prints what can follow the words after `--`. */
function addSuggestions(program: Command, load: () => Command): void {
  program
    .command(suggestionsName, { hidden: true })
    .argument('[words...]')
    .action((words: string[]) => runCommand(async () => (await import('./completion.ts')).suggest(load(), words)));
}
