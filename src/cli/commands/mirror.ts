import { Argument, type Command, InvalidArgumentError } from 'commander';
import { commandName, toType } from '../../shared/command-name.ts';
import { addConsent, momentArgument, momentWords, wholeNumber } from '../arguments.ts';
import { exitCodes } from '../failures.ts';

/** The end of a range. */
const to = ['--to <moment>', 'its end, exclusive; default: now', momentArgument] as const;

export function addMirror(program: Command): void {
  const backfill = program.command('backfill').description('Mirrors history from before the webhooks were registered.');
  backfill
    .command('calls')
    .description('Mirrors call history, oldest first. Resumes where it was interrupted; live work has priority.')
    .option('--from <moment>', `${momentWords}; default: 366 days before the end`, momentArgument)
    .option(...to)
    .option('--without-legs', 'leave out legs, and with them recordings, transcripts and who took part')
    .action(async (options) => (await import('../backfill.ts')).backfillCallHistory(options));
  backfill
    .command('threads')
    .description(
      'Finds text conversations. The API cannot list them, so this probes callers, contacts and a list of numbers.',
    )
    .option('--from <moment>', `callers since ${momentWords}; default: all`, momentArgument)
    .option(...to)
    .option(
      '--numbers <file>',
      'also probe these numbers and read their known threads again; one number a row, optionally with a comma and our line',
    )
    .option('--most <count>', 'probe at most so many pairs of line and number', wholeNumber(1), 10_000)
    .action(async (options) => (await import('../backfill.ts')).backfillThreads(options));
  program
    .command('reconcile')
    .description('Compares call history with the service now, hour by hour, and mirrors what is missing.')
    .option('--from <moment>', `${momentWords}; default: a day before the end`, momentArgument)
    .option(...to)
    .action(async (options) => (await import('../coverage.ts')).reconcile(options));
  program
    .command('coverage')
    .description('Shows for each day whether everything that the service reports is mirrored.')
    .option('--from <moment>', `${momentWords}; default: two weeks before the end`, momentArgument)
    .option(...to)
    .action(async (options) => (await import('../coverage.ts')).showCoverage(options));
  addEvents(program);
  program
    .command('resync')
    .description('Makes the workers read one target again, whether or not a delivery announced it.')
    .argument('<kind>', 'thread, call, recordings, transcripts, or a list of the account: users, lines and so on')
    .argument('[key]', 'a call id, or line/number for a thread (line/number,number… for a group); none for a list')
    .action(async (kind, key) => (await import('../resync.ts')).resync(kind, key));
  program
    .command('trace')
    .description('Tells what happened to a delivery, call, thread or text: received, read, mirrored, rules, sends.')
    .argument('<what>', 'a delivery id, a call id, line/number of a thread, or the id of a text; or one of these words')
    .argument('[id]', 'after delivery, call, thread or message: its id')
    .option(
      '--since <moment>',
      `begin at ${momentWords}; default: for a thread, the day before its newest read`,
      momentArgument,
    )
    .addHelpText(
      'after',
      `
Examples:
  ${commandName} trace 42                         delivery 42, which the answer to the webhook named
  ${commandName} trace 1783385492.057900          a call
  ${commandName} trace 18455550100/12125550123    a thread
  ${commandName} trace message 42                 the text 42, if there is also a delivery 42`,
    )
    .action(async (what, id, options) => (await import('../trace.ts')).traceOne(what, id, options));
  program
    .command('links')
    .description('Prints the links to a call’s recordings or a thread’s files. Anybody who has a link can open it.')
    .addArgument(new Argument('<kind>', 'of what').choices(['recordings', 'thread']))
    .argument('<key>', 'a call id, or line/number for a thread (line/number,number… for a group)')
    .action(async (kind, key) => (await import('../resync.ts')).listLinks(kind, key));
  addConsent(program.command('contacts').description('Your list of customers.').command('import'))
    .argument('<file>', 'CSV in UTF-8 whose first line names its columns: number, name, company, owner, language, tags')
    .description(
      'Stores customers for rules, pages and reports. A number that is stored already gets the values of the file. Lists the rows that it refuses, with exit code 1.',
    )
    .option('--replace', 'also remove the customers that the file lacks; it asks first, unless --yes')
    .option('--remove <count>', 'how many --replace removes, where it is more than ten and a tenth', wholeNumber())
    .action(async (file, options) => (await import('../contacts.ts')).importContacts(file, options));
  addConsent(program.command('erase'))
    .argument('<number>', 'the phone number of the person, with its country code')
    .description(
      'Permanently deletes a person’s texts, names, numbers, links to recordings, transcripts and deliveries. It asks first, unless --yes.',
    )
    .option('--at-service', 'first delete the person’s texts at the service, and list what it refuses')
    .action(async (number, options) => (await import('../erase.ts')).erase(number, options));
  addSubscriptions(program);
}

function addEvents(program: Command): void {
  const group = program.command('events').description('Webhook deliveries kept in the inbox.');
  group
    .command('list')
    .description('Lists the newest deliveries, at most 1,000; numbers are masked.')
    .option('--unrecognized', 'only those that were not recognized')
    .option('--since <moment>', `only those since ${momentWords}`, momentArgument)
    .action(async (options) => (await import('../events.ts')).listEvents(options));
  group
    .command('show')
    .argument('<id>', `its id, as ${toType('events list')} shows it`, deliveryId)
    .description(
      'Shows one delivery in full. A body that was recognized has lost secrets and addresses; another is shown as it came.',
    )
    .action(async (id) => (await import('../events.ts')).showEvent(id));
  group
    .command('replay')
    .argument('[id]', 'one delivery', deliveryId)
    .description('Reads again, through the API, what deliveries referred to.')
    .option('--since <moment>', `all since ${momentWords}`, momentArgument)
    .action(async (id, options, command: Command) => {
      needsOne(command, id, options.since, '--since');
      return (await import('../events.ts')).replayEvents(id, options);
    });
  group
    .command('reparse')
    .description('Parses again the deliveries that were not recognized, and reads what they refer to.')
    .action(async () => (await import('../events.ts')).reparseEvents());
}

function needsOne(command: Command, id: unknown, other: unknown, flag: string): void {
  if ((id === undefined) === (other === undefined)) {
    command.error(`error: give an id, or ${flag}`, { exitCode: exitCodes.wrongUse });
  }
}

function deliveryId(text: string): string {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('It must be the id of a delivery, a whole number.');
  return text;
}

function addSubscriptions(program: Command): void {
  const group = program.command('subscriptions').description('The webhook subscriptions of the account.');
  group
    .command('list')
    .description('Lists all subscriptions, ours and others; their addresses are secret and not shown.')
    .action(async () => (await import('../subscriptions.ts')).listSubscriptions());
  group
    .command('ensure')
    .description('Creates, enables or corrects ours; prints those that you have to create in the portal.')
    .action(async () => (await import('../subscriptions.ts')).ensureOurs());
  group
    .command('remove')
    .addArgument(subscriptionId())
    .description('Deletes one at the service. A running receiver creates ours again; stop it first.')
    .option('--yes', 'also one that is not ours')
    .action(async (id, options) => (await import('../subscriptions.ts')).removeSubscription(id, options));
}

function subscriptionId(): Argument {
  return new Argument('<id>', `its id, as ${toType('subscriptions list')} shows it`).argParser(wholeNumber(1));
}
