import { Command } from 'commander';
import { commandName } from '../shared/command-name.ts';
import { WrongUse } from '../shared/errors.ts';
import { readRelease } from '../shared/release.ts';
import { addCommands } from './commands.ts';
import { exitCodes, printFailureJson, runCommand } from './failures.ts';
import type { Entry } from './lifecycle.ts';
import type { Output } from './output.ts';

declare module 'commander' {
  interface Command {
    /** A command returns its result. */
    // biome-ignore lint/suspicious/noExplicitAny: the library does not know the types of arguments and options
    action(work: (...given: any[]) => Promise<Output>): this;
  }
}

/** What all commands share: `--json`, their output, and failures as a single message. */
class Menu extends Command {
  override createCommand(name?: string): Menu {
    return new Menu(name);
  }

  override action(work: (...given: unknown[]) => Promise<Output> | Promise<void> | void): this {
    if (!this.options.some(({ long }) => long === '--json')) this.option('--json', 'print it as JSON');
    return super.action((...given) => runCommand(() => work(...given), this.opts().json === true));
  }
}

/**
 * The command line, for the words after the name of the program. Each command imports its code when it runs, so help
 * and wrong usage don't load it. Exit codes: 0 for success, 1 for failure, 2 for wrong usage.
 */
export function createProgram(entry: Entry, args: readonly string[] = []): Command {
  const program = new Menu(commandName)
    .description('Mirrors a telephony account into a Postgres database that its owner can query.')
    .option('-V, --version', 'print the version, the commit and the schema')
    .option('--by <who>', 'who acts, as histories name it; default: the user of this machine')
    .on('option:version', () => {
      const { version, commit, schema } = readRelease();
      console.log(`${version} (commit ${commit}, schema ${schema})`);
      process.exit(exitCodes.done);
    })
    .showHelpAfterError('See --help for the usage.')
    .exitOverride((error) => {
      if (error.exitCode !== 0 && args.includes('--json')) printFailureJson(new WrongUse(error.message));
      process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse);
    });
  addCommands(program, entry);
  return program;
}
