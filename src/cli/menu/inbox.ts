import { Argument, type Command, InvalidArgumentError } from 'commander';
import { type EventType, eventTypeOf, eventTypes } from '../../event-types.ts';
import { targetKinds } from '../../inbox/target.ts';
import { exitCodes, reporting } from '../exit.ts';
import { momentArgument } from '../moments.ts';
import { addConsent, jsonFlag, momentWords, wholeNumber } from './arguments.ts';

/** The deliveries that are kept, and what can be done with them. */
export function addEvents(program: Command): void {
  const load = () => import('../commands/inbox/events.ts');
  const group = program.command('events').description('The webhook deliveries that are kept in the inbox.');
  group
    .command('list')
    .description('The newest deliveries; numbers are masked.')
    .option('--unrecognized', 'only those that could not be understood')
    .option('--type <type>', 'only those of an event type, such as AccountSMS', eventType)
    .option('--since <moment>', `only those since ${momentWords}`, momentArgument)
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runList(options)));
  group
    .command('show')
    .argument('<id>', 'its id, as `events list` shows it', deliveryId)
    .description('One delivery in full, with its body as it is kept: secrets and addresses redacted.')
    .option(...jsonFlag)
    .action((id, options) => reporting(async () => (await load()).runShow(id, options)));
  group
    .command('replay')
    .argument('[id]', 'one delivery', deliveryId)
    .description('Reads again what deliveries pointed at, through the API.')
    .option('--since <moment>', `all since ${momentWords}`, momentArgument)
    .option(...jsonFlag)
    .action((id, options, command: Command) => {
      needsOne(command, id, options.since, '--since');
      return reporting(async () => (await load()).runReplay(id, options));
    });
  group
    .command('reparse')
    .description('Tries again to understand what could not be understood, and reads what that points at.')
    .option('--all', 'also deliveries that were understood')
    .option('--unlimited', 'take all that a delivery names, also beyond 500 things')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runReparse(options)));
  addConsent(group.command('discard'))
    .argument('[id]', 'one delivery', deliveryId)
    .description('Removes deliveries from the inbox. What was mirrored stays. On a terminal it asks first.')
    .option('--before <moment>', `all before ${momentWords}`, momentArgument)
    .option('--unrecognized', 'with --before: only those that could not be understood')
    .option(...jsonFlag)
    .action((id, options, command: Command) => {
      needsOne(command, id, options.before, '--before');
      if (options.unrecognized && options.before === undefined) {
        command.error('error: --unrecognized goes with --before', { exitCode: exitCodes.wrongUse });
      }
      return reporting(async () => (await load()).runDiscard(id, options));
    });
}

/** One thing, read again. */
export function addResync(program: Command): void {
  program
    .command('resync')
    .description('Makes the workers read one thing again, whether or not anything announced it.')
    .addArgument(new Argument('<kind>', 'what it is').choices(targetKinds))
    .argument(
      '[key]',
      'a call id, or line/number for a thread (line/number,number… for a group); none for users and lines',
    )
    .option(...jsonFlag)
    .action((kind, key, options) =>
      reporting(async () => (await import('../commands/inbox/resync.ts')).run(kind, key, options)),
    );
}

/** The bearer addresses, which are stored sealed. */
export function addLinks(program: Command): void {
  program
    .command('links')
    .description('Prints the links to a call’s recordings, or to the files of a thread. Whoever holds one can open it.')
    .addArgument(new Argument('<kind>', 'of what').choices(['recordings', 'thread']))
    .argument('<key>', 'a call id, or line/number for a thread (line/number,number… for a group)')
    .option(...jsonFlag)
    .action((kind, key, options) =>
      reporting(async () => (await import('../commands/inbox/links.ts')).run(kind, key, options)),
    );
}

/** The way out for a person. */
export function addErase(program: Command): void {
  addConsent(program.command('erase'))
    .argument('<number>', 'the phone number of the person, with its country code')
    .description(
      'Removes a person for good: texts, names, numbers, recordings’ links, transcripts, deliveries. On a terminal it asks first.',
    )
    .option('--at-service', 'first delete the person’s texts at the service, too, and name what it refuses')
    .option(...jsonFlag)
    .action((number, options) =>
      reporting(async () => (await import('../commands/inbox/erase.ts')).run(number, options)),
    );
}

function needsOne(command: Command, id: unknown, other: unknown, flag: string): void {
  if ((id === undefined) === (other === undefined)) {
    command.error(`error: say which: an id, or ${flag}`, { exitCode: exitCodes.wrongUse });
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
