import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { triggerKinds } from '../../rules/triggers.ts';
import { toType } from '../../shared/command-name.ts';
import { addConsent, momentArgument, momentWords, numberArguments, wholeNumber } from '../arguments.ts';
import { exitCodes } from '../failures.ts';

export function addAutomation(program: Command): void {
  addRules(program);
  addSends(program);
  addOptOuts(program);
}

function addRules(program: Command): void {
  const group = program
    .command('rules')
    .description('Rules, which act on texts and calls: see RULES_FILE and RULES_MODE.');
  group
    .command('check [file]')
    .description(
      'Check the rules file. Prints each error and warning with its line and a remedy; exit code 1 for either.',
    )
    .action(async (file) => (await import('../rules.ts')).checkRules(file));
  group
    .command('list')
    .description('List the rules in force in order, and what each has done.')
    .action(async () => (await import('../rules.ts')).listRules());
  addRuleVersions(group);
  group
    .command('facts')
    .description('List the facts of conditions and texts, with type, meaning, values and an example.')
    .addArgument(new Argument('[trigger]', 'only the facts of this trigger').choices(triggerKinds))
    .action(async (trigger) => (await import('../rules.ts')).listFacts(trigger));
  group
    .command('explain <text-or-call>')
    .description(
      'Explain why rules act on a text or call, or not: <line>/<number> for the newest inbound text, the idle time of its thread and the newest call; or the id of a text or call.',
    )
    .action(async (which) => (await import('../rules.ts')).explainRules(which));
  group
    .command('simulate')
    .description('Show what the rules would have done and cost in a past period. Sends and writes nothing.')
    .option('--from <moment>', `${momentWords}; default: a week before the end`, momentArgument)
    .option('--to <moment>', 'its end, exclusive; default: now', momentArgument)
    .option('--file <path>', 'this rules file instead of the version in force, or of RULES_FILE while none is')
    .action(async (options) => (await import('../rules.ts')).simulateRules(options));
  group
    .command('retry [runs...]')
    .description(
      'Perform failed notify and webhook steps again: those of some runs, or all that were to tell a target. Their messages keep their ids.',
    )
    .option('--to <target>', 'all failed steps that were to tell this target')
    .action(async (runs, options, command: Command) => {
      if ((runs.length === 0) === (options.to === undefined)) {
        command.error('error: name runs, or a target with --to', { exitCode: exitCodes.wrongUse });
      }
      return (await import('../rules.ts')).retrySteps(runs, options);
    });
}

/** The versions of the rules in Postgres. */
function addRuleVersions(group: Command): void {
  const why = new Option('--why <text>', 'the reason, for the history');
  group
    .command('apply <file>')
    .description('Check a rules file and make it the version in force, for all workers at once.')
    .addOption(why)
    .action(async (file, options) => (await import('../rule-versions.ts')).apply(file, options));
  group
    .command('show')
    .addArgument(new Argument('[version]', 'default: the one in force').argParser(wholeNumber(1)))
    .description('Print the rules of a version as YAML.')
    .action(async (version) => (await import('../rule-versions.ts')).show(version));
}

/** The send ledger, and its kill switch. */
function addSends(program: Command): void {
  const group = program.command('sends').description('Sends of rules, and the kill switch that stops them.');
  addConsent(group.command('settle'))
    .addArgument(sendArgument())
    .description(
      'Records the outcome of a send that needs manual review; read its thread first. Nothing is sent again. It asks first, unless --yes.',
    )
    .addOption(new Option('--sent', 'it went out, and was charged').conflicts('notSent'))
    .option('--not-sent', 'it did not')
    .option('--force', 'also while it is still being reconciled (UNKNOWN)')
    .action(async (id, options, command: Command) => {
      if (!options.sent && !options.notSent) {
        command.error('error: give --sent or --not-sent', { exitCode: exitCodes.wrongUse });
      }
      return (await import('../sends.ts')).settleSend(id, options);
    });
  const who = new Option('--by <who>', 'who decides; default: the user of this machine');
  addConsent(group.command('approve'))
    .addArgument(sendArgument())
    .description(
      'Approves the text of a reply that waits for approval; every gate is asked again before it leaves. It shows the text and asks first, unless --yes.',
    )
    .addOption(who)
    .action(async (id, options) => (await import('../sends.ts')).approve(id, options));
  group
    .command('reject')
    .addArgument(sendArgument())
    .description('Rejects the text of a reply that waits for approval: it is never sent.')
    .addOption(who)
    .option('--why <text>', 'the reason, for the history')
    .action(async (id, options) => (await import('../sends.ts')).reject(id, options));
  group
    .command('cancel')
    .argument('<id...>', `their ids, as the page /sends shows them`, (text, before?: readonly string[]) => [
      ...(before ?? []),
      sendId(text),
    ])
    .description(
      'Cancels sends that wait: PLANNED, HELD, AWAITING_APPROVAL or RESERVED, of which no request has left. Exit code 1 if one of them cannot be cancelled.',
    )
    .action(async (ids) => (await import('../sends.ts')).cancelSends(ids));
  group
    .command('pause')
    .argument('[reason...]', 'why, shown on the status page')
    .description(
      `The kill switch: no process sends anything until ${toType('sends resume')}. Planned sends wait until they expire.`,
    )
    .action(async (words) => (await import('../sends.ts')).pause(words));
  group
    .command('resume')
    .description('Ends the pause.')
    .action(async () => (await import('../sends.ts')).resume());
}

/** Manual decisions about texts that may opt out. */
function addOptOuts(program: Command): void {
  const group = program
    .command('opt-outs')
    .description('Numbers that may have opted out. No automatic text goes to them until somebody decides.');
  for (const [decision, description] of [
    [
      'confirm',
      'Records that numbers opted out, also such as told you otherwise. It ends with a START, or with clear.',
    ],
    ['clear', 'Records that the texts of numbers are no opt-out, or ends what was confirmed. It does not end a STOP.'],
  ] as const) {
    group
      .command(decision)
      .argument('<numbers...>', 'with country codes', numberArguments)
      .description(description)
      .action(async (numbers) => (await import('../opt-outs.ts')).decide(decision, numbers));
  }
}

function sendArgument(): Argument {
  return new Argument('<id>', `its id, as the page /sends shows it`).argParser(sendId);
}

function sendId(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,12})?$/i.test(text)) {
    throw new InvalidArgumentError('It must be the id of a send, or its first eight characters.');
  }
  return text.toLowerCase();
}
