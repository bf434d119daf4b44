import type { Command } from 'commander';
import { reporting } from '../exit.ts';
import { momentArgument } from '../moments.ts';
import { jsonFlag, momentWords, wholeNumber } from './arguments.ts';

/** History, and the proof that it is whole. */
export function addCompleteness(program: Command): void {
  const to = ['--to <moment>', 'its end, exclusive; default: now', momentArgument] as const;
  const fill = program.command('backfill').description('Fills in history from before the webhooks.');
  fill
    .command('calls')
    .description('Call history, oldest first. Goes on where it was cut off; live work goes before it.')
    .option('--from <moment>', `${momentWords}; default: 366 days before the end`, momentArgument)
    .option(...to)
    .option('--artefacts', 'legs, recordings and transcripts too')
    .option(...jsonFlag)
    .action((options) =>
      reporting(async () => (await import('../commands/completeness/backfill.ts')).runCalls(options)),
    );
  fill
    .command('threads')
    .description('Text conversations: the API cannot list them, so callers, contacts and a list are asked for.')
    .option('--from <moment>', `callers since ${momentWords}; default: all`, momentArgument)
    .option(...to)
    .option(
      '--numbers <file>',
      'also these, and their held threads again: one number a line, and after a comma the line of ours',
    )
    .option('--most <count>', 'ask for at most so many pairs', wholeNumber(1), 10_000)
    .option(...jsonFlag)
    .action((options) =>
      reporting(async () => (await import('../commands/completeness/probing.ts')).runThreads(options)),
    );
  program
    .command('reconcile')
    .description('Compares call history with the service now, hour by hour, and mends what is missing.')
    .option('--from <moment>', `${momentWords}; default: a day before the end`, momentArgument)
    .option(...to)
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('../commands/completeness/reconcile.ts')).run(options)));
  program
    .command('coverage')
    .description('For each day: is everything that the service reports held?')
    .option('--from <moment>', `${momentWords}; default: two weeks before the end`, momentArgument)
    .option(...to)
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('../commands/completeness/coverage.ts')).run(options)));
}
