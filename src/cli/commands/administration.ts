import { type Command, InvalidArgumentError } from 'commander';
import { zoneRemedy } from '../../shared/time-zone.ts';
import { addConsent, momentArgument, momentWords, wholeNumber } from '../arguments.ts';

export function addAdministration(program: Command): void {
  const reporting = program.command('reporting').description('The schema that BI reads.');
  reporting
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
    .action(async (options) => (await import('../reporting.ts')).rebuild(options));

  const notify = program
    .command('notify')
    .description('Alerts and targets of rules: send a test, list the newest alerts.');
  notify
    .command('test')
    .description('Sends a test message to each target of the settings, and says what became of it.')
    .action(async () => (await import('../notify.ts')).sendTest());
  notify
    .command('list')
    .description('Lists the newest alerts, the open ones first.')
    .option('--limit <count>', 'at most so many', wholeNumber(1, 1_000), 20)
    .action(async (options) => (await import('../notify.ts')).listAlerts(options));

  const account = program
    .command('account')
    .description('The mirrored account: while another one answers, nothing is read.');
  account
    .command('show')
    .description('Shows whether the account that answers is the mirrored one; exit code 1 if not.')
    .action(async () => (await import('../account.ts')).showAccount());
  addConsent(account.command('accept'))
    .description(
      'Takes the account that answers as the mirrored one, after its data was replaced. It asks first, unless --yes.',
    )
    .action(async (options) => (await import('../account.ts')).accept(options));

  const auth = program.command('auth').description('Login with OAuth, used when API_KEY is not set.');
  auth
    .command('login')
    .description('Logs in through a browser; the service redirects to the receiver at PUBLIC_URL.')
    .option('--scopes <names>', 'ask for these, separated by commas; default: what the mirror reads', words)
    .option('--wait <seconds>', 'how long to wait for the answer', wholeNumber(1, 86_400), 600)
    .option('--register', 'register this program with the service again, if it no longer knows it')
    .action(async (options) => (await import('../auth.ts')).login(options));
  auth
    .command('status')
    .description('Shows which credential is in use, its scopes, and whether a login is needed.')
    .action(async () => (await import('../auth.ts')).showLogin());
  addConsent(auth.command('logout'))
    .description('Deletes the tokens; every process stops using them within seconds. It asks first, unless --yes.')
    .action(async (options) => (await import('../auth.ts')).logout(options));
}

function timeZone(text: string): string {
  const remedy = zoneRemedy(text);
  if (remedy !== undefined)
    throw new InvalidArgumentError(`It must be an IANA time zone such as America/New_York. ${remedy}`);
  return text;
}

function words(text: string): string[] {
  const found = text.split(/[\s,]+/).filter(Boolean);
  if (found.length === 0) throw new InvalidArgumentError('It must name at least one scope.');
  return [...new Set(found)];
}
