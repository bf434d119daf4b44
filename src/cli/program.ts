import { Command } from 'commander';
import { commandName } from '../shared/command-name.ts';
import { describeRelease, readRelease } from '../shared/release.ts';
import { nearest } from '../shared/suggestions.ts';
import { addAdministration } from './commands/administration.ts';
import { addAutomation } from './commands/automation.ts';
import { addMirror } from './commands/mirror.ts';
import { addProcesses } from './commands/processes.ts';
import { exitCodes, printFailureJson, runCommand, WrongUse } from './failures.ts';
import type { Entry } from './lifecycle.ts';

/** What all commands share: `--json`, failures as one message, and the nearest command for one that is not known. */
class Menu extends Command {
  override createCommand(name?: string): Menu {
    return new Menu(name);
  }

  override action(work: Parameters<Command['action']>[0]): this {
    if (!this.options.some(({ long }) => long === '--json')) this.option('--json', 'print it as JSON');
    return super.action((...given) => runCommand(() => work.apply(this, given), this.opts().json === true));
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

/**
 * The command line, for the words that follow the name of the program. Each command imports what it runs when it runs, so
 * that help and wrong use need none of it. Exit codes: 0 for success, 1 for failure, 2 for wrong use.
 */
export function createProgram(entry: Entry, args: readonly string[] = []): Command {
  const program = new Menu(commandName)
    .description('Mirrors a telephony account into a Postgres database that its owner can query.')
    .option('-V, --version', 'print the version, the commit and the schema')
    .on('option:version', () => {
      console.log(describeRelease(readRelease()));
      process.exit(exitCodes.done);
    })
    .showHelpAfterError('See --help for the usage.')
    .exitOverride((error) => {
      if (error.exitCode !== 0 && args.includes('--json')) printFailureJson(new WrongUse(error.message));
      process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse);
    });
  // In the order of the help.
  addProcesses(program, entry);
  addMirror(program);
  addAutomation(program);
  addAdministration(program);
  return program;
}
