import { type Command, Option } from 'commander';
import * as z from 'zod';
import type { Action } from '../actions/action.ts';
import { actions } from '../actions/actions.ts';
import { listNames } from '../server/list-names.ts';
import { commandName } from '../shared/command-name.ts';
import { addConsent, momentArgument, momentWords, wholeNumber } from './arguments.ts';
import type { Entry } from './lifecycle.ts';

/** What the commands of a group are about. */
const groups: Readonly<Record<string, string>> = {
  account: 'The mirrored account: while another one answers, nothing is read.',
  backfill: 'History from before the webhooks were registered.',
  contacts: 'Your list of customers.',
  events: 'Webhook deliveries: `list deliveries` shows them.',
  notify: 'The targets of alerts and of rules.',
  'opt-outs': 'Numbers that may have opted out: no automatic text goes to them until somebody decides.',
  reporting: 'The schema that BI reads.',
  rules: 'Rules, which act on texts and calls: see RULES_FILE and RULES_MODE.',
  sends: 'Texts of rules, and the kill switch that stops them.',
  subscriptions: 'The webhook subscriptions of the account.',
};

const to = ['--to <moment>', 'its end, exclusive; default: now', momentArgument] as const;
const whenReady = ['--json', 'once ready, print the address as JSON'] as const;

/** Adds every command, in the order of the help. Each loads its code when it runs, except for actions. */
export function addCommands(program: Command, entry: Entry): void {
  /** `rules check [file]` is a command of the group `rules`. */
  function add(path: string, help: string): Command {
    const [, name, rest = path] = /^([a-z-]+) ([a-z].*)$/.exec(path) ?? [];
    const group = name === undefined ? program : groupOf(program, name);
    return group.command(rest).description(help);
  }

  add(
    'start',
    'Runs everything in one process, with an embedded Postgres and the sandbox unless others are set.',
  ).action(async () => (await import('./start.ts')).runAll(entry));
  add('web', 'Receives webhooks and serves the pages. Registers the webhooks if PUBLIC_URL is set.')
    .option(...whenReady)
    .action(async () => (await import('./web.ts')).runWeb());
  add('worker', 'Reads what is due through the API, mirrors it, and runs rules. Any number may run.')
    .option(...whenReady)
    .action(async () => (await import('./worker.ts')).runWorker(entry));
  add('sandbox', 'Runs an implementation of the telephony service, with its own account and live traffic.')
    .option('--port <port>', 'port to listen on; 0 takes a free one', wholeNumber(0, 65_535), 4010)
    .option('--seed <number>', 'seed of all generated data', wholeNumber(), 1)
    .option('--calls <count>', 'calls in the history of fourteen days; from 14,000 of more days', wholeNumber(), 400)
    .option('--threads <count>', 'text conversations at the start', wholeNumber(), 60)
    .option('--no-traffic', 'generate no live traffic')
    .action(async (options) => (await import('./sandbox.ts')).runSandbox(options));
  add('status', 'Shows how fresh the mirror is, what is pending, and what fails.').action(async () =>
    (await import('./status.ts')).showStatus(),
  );
  add('doctor', 'Checks settings, stores, API and webhooks, and prints a remedy for each fault.').action(
    async (options) => (await import('./doctor.ts')).run(options),
  );
  add('migrate', 'Applies the migrations of this release to DATABASE_URL. Safe to repeat.')
    .option('--bi-role <name>', 'let this role read the schema reporting and nothing else; creates it if needed')
    .action(async (options) => (await import('./migrate.ts')).migrate(options));
  add(
    'restored',
    'After a restored back-up: pauses sends until all that it lacks is read again. Run it before workers start.',
  ).action(async () => (await import('./restored.ts')).restored());
  add('settings', 'Prints all environment variables: their defaults and what they mean.').action(async () => {
    const { settingsRows, settingsText } = await import('../../config/settings.ts');
    return { json: settingsRows(), text: settingsText() };
  });

  add('backfill calls', 'Mirrors call history, oldest first. Resumes where it stopped; live work has priority.')
    .option('--from <moment>', `${momentWords}; default: 366 days before the end`, momentArgument)
    .option(...to)
    .option('--without-legs', 'leave out legs, and with them recordings, transcripts and who took part')
    .action(async (options) => (await import('./backfill.ts')).backfillCallHistory(options));
  add('backfill threads', 'Finds text conversations, which the API can’t list: probes callers, contacts and a list.')
    .option('--from <moment>', `callers since ${momentWords}; default: all`, momentArgument)
    .option(...to)
    .option('--numbers <file>', 'also probe these numbers, one a row, optionally with a comma and our line')
    .option('--most <count>', 'probe at most so many pairs of line and number', wholeNumber(1), 10_000)
    .action(async (options) => (await import('./backfill.ts')).backfillThreads(options));
  add(
    'reconcile',
    'Compares call history with the service now, hour by hour, and mirrors what is missing. Exit code 1 unless every hour is proven.',
  )
    .option('--from <moment>', `${momentWords}; default: a day before the end`, momentArgument)
    .option(...to)
    .action(async (options) => (await import('./reconcile.ts')).reconcile(options));
  add('coverage', 'Shows for each day (UTC) whether every call that the service reports is mirrored.')
    .option('--from <moment>', `${momentWords}; default: two weeks before the end`, momentArgument)
    .option(...to)
    .action(async (options) => (await import('./list.ts')).printCoverage(options));
  add(
    'list [name] [filters...]',
    `Prints the rows of a page, such as \`list deliveries recognized=no span=day\`. The pages: ${listNames.join(', ')}.`,
  ).action(async (name, filters) => (await import('./list.ts')).printList(name, filters));
  add('trace <what> [id]', 'Tells what happened to a delivery, call, thread or text: received, read, rules, sends.')
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
    .action(async (what, id, options) => (await import('./trace.ts')).traceOne(what, id, options));
  addConsent(
    add(
      'contacts import <file>',
      'Stores customers of a CSV file whose first line names its columns: number, name, company, owner, language, tags. Lists the rows that it refuses, with exit code 1.',
    ),
  )
    .option('--replace', 'also remove the customers that the file lacks; it asks first, unless --yes')
    .option('--remove <count>', 'how many --replace removes, where it is more than ten and a tenth', wholeNumber())
    .action(async (file, options) => (await import('./contacts.ts')).importContacts(file, options));
  addConsent(
    add(
      'erase <number>',
      'Permanently deletes what is held of the person with this number. It asks first, unless --yes.',
    ),
  )
    .option('--at-service', 'first delete the person’s texts at the service, and list what it refuses')
    .action(async (number, options) => (await import('./erase.ts')).erase(number, options));
  add(
    'subscriptions list',
    'Lists all subscriptions, ours and others; their addresses are secret and not shown.',
  ).action(async () => (await import('./subscriptions.ts')).listSubscriptions());
  add('subscriptions ensure', 'Creates, enables or corrects ours; prints those to create in the portal.').action(
    async () => (await import('./subscriptions.ts')).ensureOurs(),
  );

  add(
    'rules check [file]',
    'Checks a rules file: each error and warning with its line. Exit code 1 for either.',
  ).action(async (file) => (await import('./rules.ts')).checkRules(file));
  add('rules simulate', 'Shows what the rules would have done and cost in the past. Sends and writes nothing.')
    .option('--from <moment>', `${momentWords}; default: a week before the end`, momentArgument)
    .option(...to)
    .option('--file <path>', 'this rules file instead of the version in force, or of RULES_FILE while none is')
    .action(async (options) => (await import('./rules.ts')).simulateRules(options));
  add('rules apply <file>', 'Checks a rules file and makes it the version in force, for all workers at once.')
    .option('--why <text>', 'the reason, for the history')
    .action(async (file, _, command: Command) =>
      (await import('./rules.ts')).applyFile(file, command.optsWithGlobals()),
    );
  add('rules show [version]', 'Prints the rules in force, or of a version, as YAML.').action(async (version) =>
    (await import('./rules.ts')).showRules(version),
  );
  add('rules facts [trigger]', 'Lists what conditions and texts can use: type, meaning, values and an example.').action(
    async (trigger) => (await import('./rules.ts')).listFacts(trigger),
  );
  add(
    'rules explain <text-or-call>',
    'Explains why rules act on a text or call, or not: line/number for the newest of a thread, or the id of a text or call.',
  ).action(async (which) => (await import('./explain.ts')).explainRules(which));

  for (const action of actions) addAction(add(`${action.name} ${action.words ?? ''}`.trim(), action.help), action);

  add('reporting rebuild', 'Recomputes the roll-ups, needed after a change of definitions; workers may keep running.')
    .option('--from <moment>', `only days since ${momentWords}`, momentArgument)
    .option('--to <moment>', 'their end, exclusive', momentArgument)
    .action(async (options) => (await import('./reporting.ts')).rebuild(options));
  add('notify test', 'Sends a test message to each target of the settings, and says what became of it.').action(
    async () => (await import('./notify.ts')).sendTest(),
  );
}

function groupOf(program: Command, name: string): Command {
  const known = program.commands.find((each) => each.name() === name);
  return known ?? program.command(name).description(groups[name] ?? '');
}

/** Completes the command of an action: flags of its described arguments, who asks, and the question. */
function addAction(command: Command, action: Action): void {
  const taken = command.registeredArguments.map((each) => each.name());
  for (const [name, schema] of Object.entries(action.args.shape)) {
    const { description } = schema;
    if (taken.includes(name) || description === undefined) continue;
    const isFlag = schema instanceof z.ZodDefault;
    const isTime = schema instanceof z.ZodOptional && schema.unwrap() instanceof z.ZodDate;
    const option = new Option(isFlag ? `--${name}` : `--${name} <${isTime ? 'moment' : 'text'}>`, description);
    command.addOption(isTime ? option.argParser(momentArgument) : option);
  }
  if (action.question) addConsent(command);
  command.action(async (...given) => {
    const words = given
      .slice(0, taken.length)
      .map((word) => (Array.isArray(word) ? word.join(' ') || undefined : word));
    const named = Object.fromEntries(taken.map((name, at) => [name, words[at]]));
    return (await import('./act.ts')).act(action, { ...(given.at(-1) as Command).optsWithGlobals(), ...named });
  });
}
