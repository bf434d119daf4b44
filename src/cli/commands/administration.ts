import type { Command } from 'commander';
import { addConsent, momentArgument, momentWords } from '../arguments.ts';

export function addAdministration(program: Command): void {
  program
    .command('list <name> [filters...]')
    .description(
      'Lists what a page lists: threads, calls, sends, opt-outs, rules, rules/history, deliveries, targets or coverage. Filters are those of the page, such as state=NEEDS_HUMAN or span=day.',
    )
    .action(async (name, filters) => (await import('../list.ts')).printList(name, filters));

  const reporting = program.command('reporting').description('The schema that BI reads.');
  reporting
    .command('rebuild')
    .description('Recomputes the rollups, needed after a change of definitions; workers may keep running.')
    .option('--from <moment>', `only days since ${momentWords}`, momentArgument)
    .option('--to <moment>', 'their end, exclusive', momentArgument)
    .action(async (options) => (await import('../reporting.ts')).rebuild(options));

  program
    .command('notify')
    .description('The targets of alerts and of rules.')
    .command('test')
    .description('Sends a test message to each target of the settings, and says what became of it.')
    .action(async () => (await import('../notify.ts')).sendTest());

  const account = program
    .command('account')
    .description('The mirrored account: while another one answers, nothing is read.');
  addConsent(account.command('accept'))
    .description(
      'Takes the account that answers as the mirrored one, after its data was replaced. It asks first, unless --yes.',
    )
    .action(async (options) => (await import('../account.ts')).accept(options));
}
