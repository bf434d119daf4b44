import { Argument, type Command, InvalidArgumentError } from 'commander';
import { commandName } from '../../shared/command-name.ts';
import { addConsent, jsonFlag, momentArgument, momentWords, wholeNumber } from '../arguments.ts';
import { runCommand } from '../failures.ts';

const status = () => import('../status.ts');
const doctor = () => import('../doctor.ts');
const migrate = () => import('../migrate.ts');
const settings = () => import('../../../config/settings.ts');
const reporting = () => import('../reporting.ts');
const notify = () => import('../notify.ts');
const auth = () => import('../auth.ts');
const completion = () => import('../completion.ts');

export function addStatus(program: Command): void {
  program
    .command('status')
    .description('Shows how fresh the mirror is, what is pending, and what fails.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await status()).run(options)));
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Checks settings, stores, API and webhooks, and prints a remedy for each fault.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await doctor()).run(options)));
}

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('Applies the migrations of this release to DATABASE_URL. Safe to repeat.')
    .option('--bi-role <name>', 'let this role read the schema reporting and nothing else; creates the role if needed')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await migrate()).run(options)));
}

export function addSettings(program: Command): void {
  program
    .command('settings')
    .description('Prints the table of all environment variables, as it stands in docs/operations.md.')
    .option(...jsonFlag)
    .action((options) =>
      runCommand(async () => {
        const { settingsRows, settingsTable } = await settings();
        console.log(options.json ? JSON.stringify(settingsRows()) : settingsTable());
      }),
    );
}

/** Maintenance commands of the schema `reporting`. */
export function addReporting(program: Command): void {
  const group = program.command('reporting').description('The schema that BI reads.');
  group
    .command('rebuild')
    .description('Recomputes the rollups, needed after a change of definitions; workers may keep running.')
    .option('--from <moment>', `only days since ${momentWords}`, momentArgument)
    .option('--to <moment>', 'their end, exclusive', momentArgument)
    .option('--time-zone <zone>', 'first change the zone of local days, such as America/New_York', timeZone)
    .option(
      '--short-abandon <seconds>',
      'first change the longest wait of a call that counts as abandoned at once',
      wholeNumber(0, 9_999),
    )
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await reporting()).rebuild(options)));
}

function timeZone(text: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
  } catch {
    throw new InvalidArgumentError('It must be an IANA time zone such as America/New_York.');
  }
  return text;
}

/** Alerts, and the targets that they are sent to. */
export function addNotify(program: Command): void {
  const group = program.command('notify').description('Alerts: send a test, list the newest ones.');
  group
    .command('test')
    .description('Sends a test alert to each target of the settings, and says what became of it.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await notify()).runTest(options)));
  group
    .command('list')
    .description('Lists the newest alerts, the open ones first.')
    .option('--limit <count>', 'at most so many', wholeNumber(1, 1_000), 20)
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await notify()).runList(options)));
}

/** The `auth` commands: an OAuth login instead of an API key. */
export function addAuth(program: Command): void {
  const group = program.command('auth').description('Login with OAuth, used when API_KEY is not set.');
  group
    .command('login')
    .description('Logs in through a browser; the service redirects to the receiver at PUBLIC_URL.')
    .option('--scopes <names>', 'ask for these, separated by commas; default: what the mirror reads', words)
    .option('--wait <seconds>', 'how long to wait for the answer', wholeNumber(1, 86_400), 600)
    .option('--register', 'register this program with the service again, if it no longer knows it')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await auth()).login(options)));
  group
    .command('status')
    .description('Shows which credential is in use, its scopes, and whether a login is needed.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await auth()).showLogin(options)));
  addConsent(group.command('logout'))
    .description('Deletes the tokens; every process stops using them within seconds. It asks first, unless --yes.')
    .option(...jsonFlag)
    .action((options) => runCommand(async () => (await auth()).logout(options)));
}

function words(text: string): string[] {
  const found = text.split(/[\s,]+/).filter(Boolean);
  if (found.length === 0) throw new InvalidArgumentError('It must name at least one scope.');
  return [...new Set(found)];
}

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell to complete in').choices(['bash', 'zsh', 'fish']))
    .description('Prints a script that completes commands and options with the Tab key.')
    .option(...jsonFlag)
    .addHelpText(
      'after',
      `
The script asks this installation for what fits, so it stays valid after an upgrade. Install it once, in this folder:
  bash  ${commandName} completion bash >> ~/.bashrc
  zsh   ${commandName} completion zsh >> ~/.zshrc       behind the line that runs compinit
  fish  ${commandName} completion fish > ~/.config/fish/conf.d/trunkline.fish`,
    )
    .action((shell, options) => runCommand(async () => (await completion()).print(shell, options)));
}
