import { type Command, InvalidArgumentError } from 'commander';
import { reporting } from '../exit.ts';
import { momentArgument } from '../moments.ts';
import { jsonFlag, momentWords, wholeNumber } from './arguments.ts';

/** What the schema `reporting` needs done by hand. */
export function addReporting(program: Command): void {
  const group = program.command('reporting').description('The schema that BI reads.');
  group
    .command('rebuild')
    .description('Computes its rollups anew, needed after a change of definitions; workers may go on meanwhile.')
    .option('--from <moment>', `only days since ${momentWords}`, momentArgument)
    .option('--to <moment>', 'their end, exclusive', momentArgument)
    .option('--time-zone <zone>', 'first change the zone of local days, such as America/New_York', timeZone)
    .option(
      '--short-abandon <seconds>',
      'first change how long an abandoned call may have waited to be short',
      wholeNumber(0, 9_999),
    )
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await import('../commands/reporting/rebuild.ts')).run(options)));
}

function timeZone(text: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
  } catch {
    throw new InvalidArgumentError('It must be an IANA time zone such as America/New_York.');
  }
  return text;
}
