import { Argument, type Command, InvalidArgumentError } from 'commander';
import { targetKinds } from '../../inbox/target-kinds.ts';
import { commandName, toType } from '../../shared/command-name.ts';
import { type EventType, eventTypeOf, eventTypes } from '../../shared/event-types.ts';
import { addConsent, jsonFlag, momentArgument, momentWords, wholeNumber } from '../arguments.ts';
import { exitCodes, runCommand } from '../failures.ts';

const backfill = () => import('../backfill.ts');
const coverage = () => import('../coverage.ts');
const events = () => import('../events.ts');
const resync = () => import('../resync.ts');
const trace = () => import('../trace.ts');
const erase = () => import('../erase.ts');
const subscriptions = () => import('../subscriptions.ts');

/** The end of a range. */
const to = ['--to <moment>', 'its end, exclusive; default: now', momentArgument] as const;

export function addBackfill(program: Command): void {
  const fill = program.command('backfill').description('Mirrors history from before the webhooks were registered.');
  fill
    .command('calls')
    .description('Mirrors call history, oldest first. Resumes where it was interrupted; live work has priority.')
    .option('--from <moment>', `${momentWords}; default: 366 days before the end`, momentArgument)
    .option(...to)
    .option('--artefacts', 'legs, recordings and transcripts too')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await backfill()).backfillCallHistory(options)));
  fill
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
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await backfill()).backfillThreads(options)));
}

export function addReconcile(program: Command): void {
  program
    .command('reconcile')
    .description('Compares call history with the service now, hour by hour, and mirrors what is missing.')
    .option('--from <moment>', `${momentWords}; default: a day before the end`, momentArgument)
    .option(...to)
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await coverage()).reconcile(options)));
}

export function addCoverage(program: Command): void {
  program
    .command('coverage')
    .description('Shows for each day whether everything that the service reports is mirrored.')
    .option('--from <moment>', `${momentWords}; default: two weeks before the end`, momentArgument)
    .option(...to)
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await coverage()).showCoverage(options)));
}

/** Commands for stored deliveries. */
export function addEvents(program: Command): void {
  const group = program.command('events').description('Webhook deliveries kept in the inbox.');
  group
    .command('list')
    .description('Lists the newest deliveries; numbers are masked.')
    .option('--unrecognized', 'only those that were not recognized')
    .option('--type <type>', 'only those of an event type, such as AccountSMS', eventType)
    .option('--since <moment>', `only those since ${momentWords}`, momentArgument)
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await events()).runList(options)));
  group
    .command('show')
    .argument('<id>', `its id, as ${toType('events list')} shows it`, deliveryId)
    .description('Shows one delivery in full, with its stored body: secrets and addresses are redacted.')
    .option(...jsonFlag)
    .action((id, options) => runCommand(async () => (await events()).runShow(id, options)));
  group
    .command('replay')
    .argument('[id]', 'one delivery', deliveryId)
    .description('Reads again, through the API, what deliveries referred to.')
    .option('--since <moment>', `all since ${momentWords}`, momentArgument)
    .option(...jsonFlag)
    .action((id, options, command: Command) => {
      needsOne(command, id, options.since, '--since');
      return runCommand(async () => (await events()).runReplay(id, options));
    });
  group
    .command('reparse')
    .description('Parses again the deliveries that were not recognized, and reads what they refer to.')
    .option('--all', 'also deliveries that were recognized')
    .option('--unlimited', 'take all references of a delivery, also beyond 500')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await events()).runReparse(options)));
  addConsent(group.command('discard'))
    .argument('[id]', 'one delivery', deliveryId)
    .description('Removes deliveries from the inbox. What was mirrored stays. It asks first, unless --yes.')
    .option('--before <moment>', `all before ${momentWords}`, momentArgument)
    .option('--unrecognized', 'with --before: only those that were not recognized')
    .option(...jsonFlag)
    .action((id, options, command: Command) => {
      needsOne(command, id, options.before, '--before');
      if (options.unrecognized && options.before === undefined) {
        command.error('error: --unrecognized needs --before', { exitCode: exitCodes.wrongUse });
      }
      return runCommand(async () => (await events()).runDiscard(id, options));
    });
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

function eventType(text: string): EventType {
  const type = eventTypeOf(text);
  if (type === undefined) throw new InvalidArgumentError(`It must be one of ${eventTypes.join(', ')}.`);
  return type;
}

/** The `resync` command. */
export function addResync(program: Command): void {
  program
    .command('resync')
    .description('Makes the workers read one target again, whether or not a delivery announced it.')
    .addArgument(new Argument('<kind>', 'what it is').choices(targetKinds))
    .argument(
      '[key]',
      'a call id, or line/number for a thread (line/number,number… for a group); none for users and lines',
    )
    .option(...jsonFlag)
    .action((kind, key, options) => runCommand(async () => (await resync()).resync(kind, key, options)));
}

/** The command that prints stored links, which are sealed in the database. */
export function addLinks(program: Command): void {
  program
    .command('links')
    .description('Prints the links to a call’s recordings or a thread’s files. Anybody who has a link can open it.')
    .addArgument(new Argument('<kind>', 'of what').choices(['recordings', 'thread']))
    .argument('<key>', 'a call id, or line/number for a thread (line/number,number… for a group)')
    .option(...jsonFlag)
    .action((kind, key, options) => runCommand(async () => (await resync()).printLinks(kind, key, options)));
}

export function addTrace(program: Command): void {
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
    .option(...jsonFlag)
    .addHelpText(
      'after',
      `
Examples:
  ${commandName} trace 42                         delivery 42, which the answer to the webhook named
  ${commandName} trace 1783385492.057900          a call
  ${commandName} trace 18455550100/12125550123    a thread
  ${commandName} trace message 42                 the text 42, if there is also a delivery 42`,
    )
    .action((what, id, options) => runCommand(async () => (await trace()).run(what, id, options)));
}

/** The `erase` command. */
export function addErase(program: Command): void {
  addConsent(program.command('erase'))
    .argument('<number>', 'the phone number of the person, with its country code')
    .description(
      'Permanently deletes a person’s texts, names, numbers, links to recordings, transcripts and deliveries. It asks first, unless --yes.',
    )
    .option('--at-service', 'first delete the person’s texts at the service, and list what it refuses')
    .option(...jsonFlag)
    .action((number, options) => runCommand(async () => (await erase()).erase(number, options)));
}

/** The `subscriptions` commands. */
export function addSubscriptions(program: Command): void {
  const group = program.command('subscriptions').description('The webhook subscriptions of the account.');
  group
    .command('list')
    .description('Lists all subscriptions, ours and others; their addresses are secret and not shown.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await subscriptions()).runList(options)));
  group
    .command('ensure')
    .description('Creates, enables or corrects ours; prints those that you have to create in the portal.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await subscriptions()).runEnsure(options)));
  group
    .command('disable')
    .addArgument(subscriptionId())
    .description('Disables one. A running receiver enables ours again.')
    .option(...jsonFlag)
    .action((id, options) => runCommand(async () => (await subscriptions()).runSwitch('disable', id, options)));
  group
    .command('enable')
    .addArgument(subscriptionId())
    .description('Enables one.')
    .option(...jsonFlag)
    .action((id, options) => runCommand(async () => (await subscriptions()).runSwitch('enable', id, options)));
  group
    .command('remove')
    .addArgument(subscriptionId())
    .description('Deletes one at the service. A running receiver creates ours again; stop it first.')
    .option('--yes', 'also one that is not ours')
    .option(...jsonFlag)
    .action((id, options) => runCommand(async () => (await subscriptions()).runRemove(id, options)));
}

function subscriptionId(): Argument {
  return new Argument('<id>', `its id, as ${toType('subscriptions list')} shows it`).argParser(wholeNumber(1));
}
