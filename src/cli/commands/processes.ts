import type { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { Entry } from '../lifecycle.ts';

const whenReady = ['--json', 'once ready, print the address as JSON'] as const;

/** The processes, and the commands that operators need first. */
export function addProcesses(program: Command, entry: Entry): void {
  program
    .command('start')
    .description(
      'Runs everything in one process, with an embedded Postgres and the sandbox unless real ones are configured.',
    )
    .action(async () => (await import('../start.ts')).runAll(entry));
  program
    .command('web')
    .description('Receives webhooks and serves the status page. Registers the webhooks when PUBLIC_URL is set.')
    .option(...whenReady)
    .action(async () => (await import('../web.ts')).runWeb());
  program
    .command('worker')
    .description('Processes the queues: reads due targets through the API and mirrors them. Any number may run.')
    .option(...whenReady)
    .action(async () => (await import('../worker.ts')).runWorker(entry));
  program
    .command('sandbox')
    .description('Runs an implementation of the telephony service, with its own account and live traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), 4010)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--seed <number>', 'seed of all generated data', wholeNumber(), 1)
    .option(
      '--calls <count>',
      'calls in the history, spread over fourteen days; over more days from 14,000 calls',
      wholeNumber(),
      400,
    )
    .option('--threads <count>', 'text conversations at the start', wholeNumber(), 60)
    .option('--no-traffic', 'generate no live traffic')
    .action(async (options) => (await import('../sandbox.ts')).runSandbox(options));
  program
    .command('status')
    .description('Shows how fresh the mirror is, what is pending, and what fails.')
    .action(async () => (await import('../status.ts')).showStatus());
  program
    .command('doctor')
    .description('Checks settings, stores, API and webhooks, and prints a remedy for each fault.')
    .action(async (options) => (await import('../doctor.ts')).run(options));
  program
    .command('migrate')
    .description('Applies the migrations of this release to DATABASE_URL. Safe to repeat.')
    .option('--bi-role <name>', 'let this role read the schema reporting and nothing else; creates the role if needed')
    .action(async (options) => (await import('../migrate.ts')).migrate(options));
  program
    .command('restored')
    .description(
      'After a restored back-up: pauses sends until all that it lacks is read again. Run it before workers start.',
    )
    .action(async () => (await import('../restored.ts')).restored());
  program
    .command('settings')
    .description('Prints the table of all environment variables, as it stands in docs/operations.md.')
    .action(async () => {
      const { settingsRows, settingsTable } = await import('../../../config/settings.ts');
      return { json: settingsRows(), text: settingsTable() };
    });
}
