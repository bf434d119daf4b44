import { Argument, type Command } from 'commander';
import { reporting } from '../exit.ts';
import { jsonFlag, wholeNumber } from './arguments.ts';

/** The webhooks at the service. */
export function addSubscriptions(program: Command): void {
  const load = () => import('../commands/subscriptions.ts');
  const group = program.command('subscriptions').description('The webhook subscriptions of the account.');
  group
    .command('list')
    .description('Lists all of them, ours and other people’s; addresses are secrets and are not shown.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runList(options)));
  group
    .command('ensure')
    .description('Creates, enables or retypes ours; prints what the service lets nobody create but you.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runEnsure(options)));
  group
    .command('disable')
    .addArgument(subscriptionId())
    .description('Stops the delivery of events; the subscription is kept. A running receiver enables ours again.')
    .option(...jsonFlag)
    .action((id, options) => reporting(async () => (await load()).runSwitch('disable', id, options)));
  group
    .command('enable')
    .addArgument(subscriptionId())
    .description('Delivers again.')
    .option(...jsonFlag)
    .action((id, options) => reporting(async () => (await load()).runSwitch('enable', id, options)));
  group
    .command('remove')
    .addArgument(subscriptionId())
    .description('Deletes it at the service. A running receiver creates ours anew; stop it first.')
    .option('--yes', 'also one that is not ours')
    .option(...jsonFlag)
    .action((id, options) => reporting(async () => (await load()).runRemove(id, options)));
}

function subscriptionId(): Argument {
  return new Argument('<id>', 'its id, as `subscriptions list` shows it').argParser(wholeNumber(1));
}
