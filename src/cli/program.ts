import { Argument, Command, InvalidArgumentError } from 'commander';
import { type QueueName, queueNames } from '../../config/queues.ts';
import manifest from '../../package.json' with { type: 'json' };
import type { Context } from '../context.ts';
import { exitCodes, reporting } from './exit.ts';
import { addErase, addEvents } from './inbox.ts';
import { momentArgument } from './moments.ts';
import { addReporting } from './reporting.ts';
import { addSends } from './sends.ts';

/** What the entry hands to the commands, since nothing in `src` knows the workers. */
export interface Entry {
  startWorkers(
    context: Context,
    options?: { readonly queues?: readonly QueueName[] },
  ): Promise<{ close(deadlineMs: number): Promise<void> }>;
}

const json = ['--json', 'print it as JSON'] as const;

/**
 * The command line at a glance. What a command does is loaded when it is asked for. Exit code 0 when it did what was
 * asked, 1 when not, 2 for wrong use.
 */
export function createProgram(entry: Entry): Command {
  const program = new Command('trunkline')
    .description('Mirrors a telephony account into a Postgres that its owner can query.')
    .version(manifest.version)
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse));

  program
    .command('start')
    .description('Everything in one process: Postgres and the sandbox unless the environment names real ones.')
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/start.ts')).run(entry, options)));
  program
    .command('web')
    .description('The receiver of webhooks, with the status page. Registers the webhooks when PUBLIC_URL is set.')
    .action(() => reporting(async () => (await import('./commands/web.ts')).run()));
  program
    .command('worker')
    .description('Works the queues: reads what is due through the API and mirrors it. Any number may run.')
    .option('--queues <names>', `only these queues, separated by commas: ${queueNames.join(', ')}`, queueList)
    .action((options) => reporting(async () => (await import('./commands/worker.ts')).run(entry, options)));
  program
    .command('migrate')
    .description('Brings the schemas of DATABASE_URL up to this release. Safe to repeat.')
    .option('--bi-role <name>', 'lets this role read the schema reporting and nothing else; creates it when it is new')
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/migrate.ts')).run(options)));
  program
    .command('sandbox')
    .description('A runnable imitation of the telephony service, with an account of its own and living traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber, 4010)
    .option('--seed <number>', 'decides everything that is invented', wholeNumber, 1)
    .option('--calls <count>', 'calls of the history: fourteen days, more from 14,000 calls on', wholeNumber, 400)
    .option('--threads <count>', 'text conversations at the start', wholeNumber, 60)
    .option('--no-traffic', 'nothing happens by itself')
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/sandbox.ts')).run(options)));
  program
    .command('status')
    .description('How fresh the mirror is, what waits, and what fails.')
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/status.ts')).run(options)));
  program
    .command('doctor')
    .description('Examines settings, stores, API and webhooks, and says what to do about each fault.')
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/doctor.ts')).run(options)));
  program
    .command('resync')
    .description('Makes the workers read one thing again, whether or not anything announced it.')
    .addArgument(new Argument('<kind>').choices(['thread', 'call', 'recordings', 'transcripts', 'users', 'lines']))
    .argument('<key>', 'a call id, line/number[/participants,…] for a thread, or "all" for users and lines')
    .action((kind, key) => reporting(async () => (await import('./commands/inbox/resync.ts')).run(kind, key)));
  addCompleteness(program);
  addReporting(program);
  program
    .command('settings')
    .description('Prints the table of all environment variables, as it stands in the README.')
    .action(() => reporting(async () => (await import('./commands/settings.ts')).run()));
  addEvents(program);
  addErase(program);
  addSends(program);
  addSubscriptions(program);
  addRules(program);
  addAuth(program);
  return program;
}

function addCompleteness(program: Command): void {
  const from = ['--from <moment>', 'a day such as 2026-11-01 (UTC), or an instant', momentArgument] as const;
  const to = ['--to <moment>', 'its end, exclusive; default: now', momentArgument] as const;
  const fill = program.command('backfill').description('Fills in history from before the webhooks.');
  fill
    .command('calls')
    .description('Call history, oldest first. Goes on where it was cut off; live work goes before it.')
    .requiredOption(...from)
    .option(...to)
    .option('--artefacts', 'legs, recordings and transcripts too')
    .option(...json)
    .action((options) =>
      reporting(async () => (await import('./commands/completeness/backfill.ts')).runCalls(options)),
    );
  fill
    .command('threads')
    .description('Text conversations: the API cannot list them, so callers, contacts and a list are asked for.')
    .option('--from <moment>', `callers since ${from[1]}; default: all`, momentArgument)
    .option(...to)
    .option('--numbers <file>', 'also these: one number a line, and after a comma the line of ours')
    .option('--most <count>', 'ask for at most so many pairs', wholeNumber, 10_000)
    .option(...json)
    .action((options) =>
      reporting(async () => (await import('./commands/completeness/backfill.ts')).runThreads(options)),
    );
  program
    .command('reconcile')
    .description('Compares call history with the service now, hour by hour, and mends what is missing.')
    .option('--from <moment>', `${from[1]}; default: a day before the end`, momentArgument)
    .option(...to)
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/completeness/reconcile.ts')).run(options)));
  program
    .command('coverage')
    .description('For each day: is everything that the service reports held?')
    .option('--from <moment>', `${from[1]}; default: two weeks before the end`, momentArgument)
    .option(...to)
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/completeness/coverage.ts')).run(options)));
}

function addRules(program: Command): void {
  const load = () => import('./commands/rules.ts');
  const group = program.command('rules').description('What Trunkline does by itself: see RULES_FILE and RULES_MODE.');
  group
    .command('check [file]')
    .description('Is the rules file good? Each mistake is shown with its line and its cure.')
    .option(...json)
    .action((file, options) => reporting(async () => (await load()).runCheck(file, options)));
  group
    .command('list')
    .description('The rules in their order, and what each has done.')
    .option(...json)
    .action((options) => reporting(async () => (await load()).runList(options)));
  group
    .command('simulate')
    .description('What the rules would have done and cost in a span of the past. Sends and writes nothing.')
    .requiredOption('--from <moment>', 'a day such as 2026-11-01 (UTC), or an instant', momentArgument)
    .option('--to <moment>', 'its end, exclusive; default: now', momentArgument)
    .option('--file <path>', 'this rules file instead of RULES_FILE')
    .option(...json)
    .action((options) => reporting(async () => (await load()).runSimulate(options)));
}

function addSubscriptions(program: Command): void {
  const load = () => import('./commands/subscriptions.ts');
  const group = program.command('subscriptions').description('The webhook subscriptions of the account.');
  group
    .command('list')
    .description('Lists all of them, ours and other people’s; addresses are secrets and are not shown.')
    .option(...json)
    .action((options) => reporting(async () => (await load()).runList(options)));
  group
    .command('ensure')
    .description('Creates, enables or retypes ours; prints what the service lets nobody create but you.')
    .option(...json)
    .action((options) => reporting(async () => (await load()).runEnsure(options)));
  group
    .command('disable <id>')
    .description('Stops the delivery of events; the subscription is kept.')
    .action((id) => reporting(async () => (await load()).runSwitch('disable', id)));
  group
    .command('enable <id>')
    .description('Delivers again.')
    .action((id) => reporting(async () => (await load()).runSwitch('enable', id)));
}

function addAuth(program: Command): void {
  const standing = () => import('./commands/auth/standing.ts');
  const group = program.command('auth').description('Whom the daemon acts for where it has no API key.');
  group
    .command('login')
    .description('Lets a user allow it in a browser; the answer comes to the receiver at PUBLIC_URL.')
    .option('--scopes <names>', 'ask for these, separated by commas; default: what the mirror reads', words)
    .option('--wait <seconds>', 'how long to wait for the answer', wholeNumber, 600)
    .option('--register', 'make the daemon known to the service anew, if that has forgotten it')
    .option(...json)
    .action((options) => reporting(async () => (await import('./commands/auth/login.ts')).runLogin(options)));
  group
    .command('status')
    .description('Which credential is in use, what it may do, and whether somebody has to log in.')
    .option(...json)
    .action((options) => reporting(async () => (await standing()).runStatus(options)));
  group
    .command('logout')
    .description('Forgets the tokens; every process stops using them within seconds.')
    .option('--yes', 'do it; without this, only say what would be forgotten')
    .option(...json)
    .action((options) => reporting(async () => (await standing()).runLogout(options)));
}

function words(text: string): string[] {
  const found = text.split(/[\s,]+/).filter(Boolean);
  if (found.length === 0) throw new InvalidArgumentError('It must name at least one scope.');
  return [...new Set(found)];
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function queueList(text: string): QueueName[] {
  return text.split(',').map((word) => {
    const name = queueNames.find((each) => each === word.trim());
    if (name === undefined) throw new InvalidArgumentError(`There is no queue "${word.trim()}".`);
    return name;
  });
}
