import { Argument, type Command } from 'commander';
import { triggerKinds } from '../../rules/triggers.ts';
import { reporting } from '../exit.ts';
import { momentArgument } from '../moments.ts';
import { jsonFlag, momentWords } from './arguments.ts';

/** What the daemon does by itself. */
export function addRules(program: Command): void {
  const load = () => import('../commands/rules.ts');
  const group = program.command('rules').description('What Trunkline does by itself: see RULES_FILE and RULES_MODE.');
  group
    .command('check [file]')
    .description(
      'Is the rules file good? Each mistake and warning is shown with its line and its cure; exit code 1 for either.',
    )
    .option(...jsonFlag)
    .action((file, options) => reporting(async () => (await load()).runCheck(file, options)));
  group
    .command('list')
    .description('The rules in their order, and what each has done.')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runList(options)));
  group
    .command('facts')
    .description('What conditions and texts can know: every fact with its type, meaning, values and an example.')
    .addArgument(new Argument('[trigger]', 'only those that rules on this trigger know').choices(triggerKinds))
    .option(...jsonFlag)
    .action((trigger, options) => reporting(async () => (await load()).runFacts(trigger, options)));
  group
    .command('explain <text>')
    .description(
      'Why did a rule act on a text, or why not: <line>/<number> for the newest that came in, or the id of a text.',
    )
    .option(...jsonFlag)
    .action((text, options) => reporting(async () => (await load()).runExplain(text, options)));
  group
    .command('simulate')
    .description('What the rules would have done and cost in a span of the past. Sends and writes nothing.')
    .option('--from <moment>', `${momentWords}; default: a week before the end`, momentArgument)
    .option('--to <moment>', 'its end, exclusive; default: now', momentArgument)
    .option('--file <path>', 'this rules file instead of RULES_FILE')
    .option(...jsonFlag)
    .action((options) => reporting(async () => (await load()).runSimulate(options)));
}
