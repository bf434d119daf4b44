import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { states } from '../../ledger/states.ts';
import { exitCodes, reporting } from '../exit.ts';
import { addConsent, jsonFlag, wholeNumber } from './arguments.ts';

/** The ledger of what rules send, and its kill switch. */
export function addSends(program: Command): void {
  const load = () => import('../commands/sends.ts');
  const group = program.command('sends').description('What rules sent, or wanted to, and the switch that stops them.');
  group
    .command('list')
    .description('The newest sends; numbers are masked.')
    .addOption(new Option('--state <state>', 'only those in a state').choices(states))
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runList(options)));
  group
    .command('show')
    .addArgument(sendArgument())
    .description('One send in full: its text, its cost and its history.')
    .option(...jsonFlag)
    .action((id, options) => reporting(async () => (await load()).runShow(id, options)));
  addConsent(group.command('settle'))
    .addArgument(sendArgument())
    .description(
      'Your word on a send that needs a person: look into the thread first. Nothing is sent again. On a terminal it asks first.',
    )
    .addOption(new Option('--sent', 'it went out, and was charged').conflicts('notSent'))
    .option('--not-sent', 'it did not')
    .option('--force', 'also while its thread is still looked through (UNKNOWN)')
    .option(...jsonFlag)
    .action((id, options, command: Command) => {
      if (!options.sent && !options.notSent) {
        command.error('error: say which: --sent or --not-sent', { exitCode: exitCodes.wrongUse });
      }
      return reporting(async () => (await load()).runSettle(id, options));
    });
  group
    .command('pause')
    .argument('[reason...]', 'why, for those who look at the status page')
    .description(
      'The kill switch: nothing leaves any more, in any process. What is planned waits, until it is too old.',
    )
    .option(...jsonFlag)
    .action((words, options) => reporting(async () => (await load()).runPause(words, options)));
  group
    .command('resume')
    .description('Lets sends out again.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runResume(options)));
}

function sendArgument(): Argument {
  return new Argument('<id>', 'its id, as `sends list` shows it').argParser((text) => {
    if (!/^[0-9a-f]{8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,12})?$/i.test(text)) {
      throw new InvalidArgumentError('It must be the id of a send, or its first eight characters.');
    }
    return text.toLowerCase();
  });
}
